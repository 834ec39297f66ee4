// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"time"
)

// counters returns the writer's part of the statistics.
func (w *writer) counters() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// failed notes that a commit failed and chooses the pause before the next one. The
// log hears of an outage once, not of every attempt.
func (w *writer) failed(err error) {
	w.mu.Lock()
	w.stats.LastError = err
	first := w.stats.FailingSince.IsZero()
	if first {
		w.stats.FailingSince = time.Now()
	}
	w.mu.Unlock()
	if first {
		w.log.Error("contextgraph: journal: rows cannot be stored; they are kept and tried again", "error", err)
	}
	w.backoff = min(max(minBackoff, 2*w.backoff), maxBackoff)
}

// succeeded notes that a group was stored.
func (w *writer) succeeded(res insertResult) {
	w.mu.Lock()
	since := w.stats.FailingSince
	w.stats.LastError, w.stats.FailingSince = nil, time.Time{}
	w.stats.Stored += res.stored
	w.stats.Duplicates += res.duplicates
	w.stats.Commits++
	w.mu.Unlock()
	w.backoff = 0
	if !since.IsZero() {
		w.log.Info("contextgraph: journal: rows are stored again", "after", time.Since(since))
	}
	for _, err := range res.errors {
		w.log.Error("contextgraph: journal: a row was refused and is lost", "error", err)
	}
}

// reportDrops tells the log about drops, here rather than in Append, which must not
// wait for a log. It speaks up once per period of overload.
func (w *writer) reportDrops() {
	w.queue.mu.Lock()
	full, invalid := w.queue.lost[LostQueueFull], w.queue.lost[LostInvalid]
	w.queue.mu.Unlock()
	total := full + invalid
	if total > w.dropped && !w.dropping {
		w.log.Warn("contextgraph: journal: rows were dropped", "queue_full", full, "invalid", invalid)
	}
	w.dropping = total > w.dropped
	w.dropped = total
}
