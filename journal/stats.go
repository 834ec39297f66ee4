// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"maps"
	"time"
)

// LossReason says why a row is not in the journal. The set may grow.
type LossReason string

// The reasons for which rows are lost.
const (
	// LostQueueFull: the writer was behind by QueueRows rows or QueueBytes bytes.
	LostQueueFull LossReason = "queue_full"
	// LostClosed: the row came after Close.
	LostClosed LossReason = "closed"
	// LostInvalid: the row had no event id, event type or status.
	LostInvalid LossReason = "invalid"
	// LostRejected: SQLite refused this one row, whatever the state of the file.
	LostRejected LossReason = "rejected"
	// LostUnwritten: the row still waited when the time of Close was up.
	LostUnwritten LossReason = "unwritten"
)

// Stats is a snapshot of the counters of a Journal since it was opened. When
// nothing waits, Accepted is the sum of Stored, Duplicates, Lost[LostRejected] and
// Lost[LostUnwritten].
type Stats struct {
	// Accepted counts the rows for which Append returned true.
	Accepted uint64
	// Stored counts the rows committed.
	Stored uint64
	// Duplicates counts the accepted rows whose event id was stored already.
	Duplicates uint64
	// Lost counts rows that were not stored, by reason.
	Lost map[LossReason]uint64
	// QueuedRows and QueuedBytes are what waits to be committed.
	QueuedRows  int
	QueuedBytes int64
	// Commits counts the transactions that stored rows.
	Commits uint64
	// LastError is why the last commit failed; nil when the last one succeeded.
	LastError error
	// FailingSince is when commits began to fail; zero when the last one succeeded.
	FailingSince time.Time
}

// Stats returns the counters. It may be called at any time, also after Close.
func (j *Journal) Stats() Stats {
	s := j.w.counters()
	q := j.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	s.Accepted = q.accepted
	s.Lost = maps.Clone(q.lost)
	s.QueuedRows = q.waitRows + q.heldRows
	s.QueuedBytes = q.waitBytes + q.heldBytes
	return s
}
