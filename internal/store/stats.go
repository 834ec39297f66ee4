// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// LossReason says why a row is not in the store. The set may grow.
type LossReason string

// The reasons for which rows are lost. The first four are reasons to refuse a row: Append returns
// false. The others concern rows that were accepted.
const (
	// LostQueueFull: the queue had no room, and dropping older rows or waiting did
	// not make any.
	LostQueueFull LossReason = "queue_full"
	// LostApprovalsFull: an approval row came when the queue held twice what its
	// bounds say.
	LostApprovalsFull LossReason = "approvals_full"
	// LostClosed: the row came after Close.
	LostClosed LossReason = "closed"
	// LostInvalid: the row had no event id, event type or status.
	LostInvalid LossReason = "invalid"

	// LostDroppedOldest: the row waited longest when the queue was full, and was no
	// approval row.
	LostDroppedOldest LossReason = "dropped_oldest"
	// LostRejected: the store refused this one row, whatever its own state.
	LostRejected LossReason = "rejected"
	// LostUnwritten: the row still waited when the time of Close was up.
	LostUnwritten LossReason = "unwritten"
)

// Refused reports whether rows lost for reason r were refused by Append, as opposed
// to accepted first.
func (r LossReason) Refused() bool {
	switch r {
	case LostQueueFull, LostApprovalsFull, LostClosed, LostInvalid:
		return true
	}
	return false
}

// Stats is a snapshot of the counters of a store since this process opened it. At any time Accepted is the
// sum of Stored, Duplicates, QueuedRows and the rows lost for reasons that are not
// [LossReason.Refused]; see [Stats.Unaccounted].
type Stats struct {
	// Accepted counts the rows for which Append returned true.
	Accepted uint64
	// Stored counts the rows committed.
	Stored uint64
	// Duplicates counts the accepted rows whose event id was stored already.
	Duplicates uint64
	// Lost counts rows that were not stored, by reason.
	Lost map[LossReason]uint64
	// QueuedRows and QueuedBytes wait to be committed.
	QueuedRows  int
	QueuedBytes int64
	// Commits counts the transactions that stored rows. Transactions counts all, and Synced those
	// of them that waited for the disk.
	Commits, Transactions, Synced uint64
	// Panics counts the transactions that ended in a panic, which was recovered.
	Panics uint64
	// LastError says why the last commit failed, with the remedy; nil if the last one succeeded.
	LastError error
	// FailingSince is when commits began to fail; zero when the last one succeeded.
	FailingSince time.Time
	// RemovedSessions and RemovedRows count what this process removed by retention.
	RemovedSessions, RemovedRows uint64
	// HeldSessions is how many sessions were due for removal at the last look, by age or
	// by size, and stayed because they are not replicated: a destination has not
	// acknowledged all their rows, or has a dead letter of them. It counts up to 1,000.
	HeldSessions int
	// RetentionError is why the last look for sessions to remove failed; nil when it
	// succeeded. It says which destination is how far,
	// when the file is larger than it may become because of the held sessions.
	RetentionError error
}

// Refused returns how many rows Append did not take.
func (s Stats) Refused() uint64 {
	var n uint64
	for r, lost := range s.Lost {
		if r.Refused() {
			n += lost
		}
	}
	return n
}

// Unaccounted returns the number of accepted rows that are not stored, duplicates, queued or
// counted as lost. It is 0 unless there is a bug in this package; tests check it at their end.
func (s Stats) Unaccounted() int64 {
	n := int64(s.Accepted) - int64(s.Stored) - int64(s.Duplicates) - int64(s.QueuedRows)
	for r, lost := range s.Lost {
		if !r.Refused() {
			n -= int64(lost)
		}
	}
	return n
}
