// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// counters returns the writer's part of the statistics.
func (w *writer) counters() store.Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// note changes the writer's part of the statistics.
func (w *writer) note(change func(*store.Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.stats)
}

// rescue, deferred, makes an error of a panic: nothing here may end the host.
func (w *writer) rescue(err *error) {
	if p := recover(); p != nil {
		w.note(func(s *store.Stats) { s.Panics++ })
		w.log.Error("contextgraph: journal: panic in a transaction; it is rolled back", "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic: %v", p)
	}
}

// failed notes that a commit failed and chooses the pause before the next one. The
// log hears of an outage when it begins and when it ends, not of every attempt.
func (w *writer) failed(err error) {
	first := false
	w.note(func(s *store.Stats) {
		s.LastError, first = err, s.FailingSince.IsZero()
		if first {
			s.FailingSince = w.now()
		}
	})
	if first {
		w.log.Error("contextgraph: journal: rows cannot be stored; they are kept and tried again", "error", err)
	}
	w.backoff = min(max(minBackoff, 2*w.backoff), maxBackoff)
}

// succeeded notes that a group was stored, before its rows leave the queue.
func (w *writer) succeeded(res queue.Result) {
	var since time.Time
	w.note(func(s *store.Stats) {
		since = s.FailingSince
		s.LastError, s.FailingSince = nil, time.Time{}
	})
	w.backoff = 0
	if !since.IsZero() {
		w.log.Info("contextgraph: journal: rows are stored again", "after", w.now().Sub(since))
	}
	for _, err := range res.Errors {
		w.log.Error("contextgraph: journal: a row was refused and is lost", "error", err)
	}
}

// reportDrops tells the log about drops, here rather than in Append, which must not
// wait for a log.
func (w *writer) reportDrops() {
	var s store.Stats
	w.queue.Count(&s)
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
