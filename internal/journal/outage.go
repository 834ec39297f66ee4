// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// counters returns the writer's part of the statistics.
func (w *writer) counters() store.Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// committed counts a transaction.
func (w *writer) committed(level synchronous) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Transactions++
	if level == syncFull {
		w.stats.Synced++
	}
}

// failed notes that a commit failed and chooses the pause before the next one. The
// log hears of an outage when it begins and when it ends, not of every attempt.
func (w *writer) failed(err error) {
	w.mu.Lock()
	w.stats.LastError = err
	first := w.stats.FailingSince.IsZero()
	if first {
		w.stats.FailingSince = w.now()
	}
	w.mu.Unlock()
	if first {
		w.log.Error("contextgraph: journal: rows cannot be stored; they are kept and tried again", "error", err)
	}
	w.backoff = min(max(minBackoff, 2*w.backoff), maxBackoff)
}

// succeeded notes that a group was stored, before its rows leave the queue.
func (w *writer) succeeded(res insertResult) {
	w.mu.Lock()
	since := w.stats.FailingSince
	w.stats.LastError, w.stats.FailingSince = nil, time.Time{}
	w.mu.Unlock()
	w.backoff = 0
	if !since.IsZero() {
		w.log.Info("contextgraph: journal: rows are stored again", "after", w.now().Sub(since))
	}
	for _, err := range res.errors {
		w.log.Error("contextgraph: journal: a row was refused and is lost", "error", err)
	}
}

// reportDrops tells the log about drops, here rather than in Append, which must not
// wait for a log.
func (w *writer) reportDrops() {
	var s store.Stats
	w.queue.count(&s)
	var total uint64
	var attrs []any
	for _, r := range []store.LossReason{store.LostDroppedOldest, store.LostQueueFull, store.LostApprovalsFull, store.LostInvalid} {
		if n := s.Lost[r]; n > 0 {
			total += n
			attrs = append(attrs, string(r), n)
		}
	}
	if total > w.dropped {
		w.log.Warn("contextgraph: journal: rows were dropped", attrs...)
	}
	w.dropped = total
}
