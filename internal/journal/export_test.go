// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// OpenImpatient opens a journal that waits for locks only as long as busy.
func OpenImpatient(ctx context.Context, cfg Config, busy time.Duration) (*Journal, error) {
	return open(ctx, cfg, busy)
}

// SetCloseGrace is called before Close.
func (j *Journal) SetCloseGrace(d time.Duration) { j.grace = d }

// NewWithoutWriter returns a journal that only queues.
func NewWithoutWriter(cfg Config) *Journal {
	cfg.setDefaults()
	return &Journal{queue: newQueue(cfg)}
}

// QueueStats returns the numbers of the queue alone.
func (j *Journal) QueueStats() (s store.Stats) {
	j.queue.Count(&s)
	return s
}

// Blocked returns how many calls of Append wait for room.
func (j *Journal) Blocked() int { return j.queue.Blocked() }

// Drain takes everything out of the queue, as the writer does.
func (j *Journal) Drain() {
	for held := j.queue.Take(nil); len(held) > 0; held = j.queue.Take(held[:0]) {
		j.queue.Release(held, queue.Result{})
	}
}

// Take takes out of the queue what the writer takes at a time and returns how much
// that is.
func (j *Journal) Take() (rows int, bytes int64) {
	for _, s := range j.queue.Take(nil) {
		rows += s.Len()
		bytes += s.Bytes()
	}
	return rows, bytes
}

// Write runs fn on the write connection.
func (j *Journal) Write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return j.w.doAt(ctx, syncFull, fn)
}

// IntervalOf returns the commit interval that cfg leads to.
func IntervalOf(cfg Config) time.Duration {
	cfg.setDefaults()
	return cfg.CommitInterval
}

// LimitWAL runs the pragmas and makes the WAL file start anew beyond the size.
func (j *Journal) LimitWAL(ctx context.Context, size int64, pragmas ...string) error {
	return j.w.doAt(ctx, syncFull, func(conn *sqlite.Conn) error {
		j.w.maxWAL = size
		return execAll(conn, pragmas...)
	})
}

// OutboxSQL returns the statements by which a sender looks at the journal, by their
// names with a mark for each parameter.
func OutboxSQL() map[string]string {
	return map[string]string{
		"rows ??": selectRowsSQL, "dead rows ???": selectDeadRowsSQL, "dead letters ??": selectDeadLettersSQL,
		"backlog ???": selectBacklogSQL, "triggers ???": selectTriggersSQL, "last seq": selectLastSeqSQL,
	}
}
