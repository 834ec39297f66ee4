// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"
)

// OpenImpatient opens a journal that waits for locks only as long as busy.
func OpenImpatient(ctx context.Context, cfg Config, busy time.Duration) (*Journal, error) {
	return open(ctx, cfg, busy)
}

// NewWithoutWriter returns a journal that only queues.
func NewWithoutWriter() *Journal {
	return &Journal{queue: newQueue(DefaultQueueRows, DefaultQueueBytes)}
}

// Drain takes everything out of the queue, as the writer does.
func (j *Journal) Drain() {
	j.queue.release(j.queue.take(nil), nil)
}

// Write runs fn on the write connection.
func (j *Journal) Write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return j.w.do(ctx, fn)
}
