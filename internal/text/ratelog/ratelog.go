// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package ratelog keeps a failure that repeats thousands of times a second from
// filling the log: of each kind one record passes per interval, and it says how many
// were held back since the one before. It also contains the panics of the host's
// handlers.
package ratelog

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// DefaultInterval is the least time between two records of one kind.
const DefaultInterval = time.Minute

// SuppressedKey is the attribute that holds how many records of its kind were held
// back before a record. A record that stands for itself alone does not have it.
const SuppressedKey = "suppressed"

// maxKinds bounds what a program that formats values into its messages can make the
// handler remember. All kinds beyond it share one allowance.
const maxKinds = 256

// kind is what records have in common that count as the same: their level and their
// message. Messages are therefore constant, and what varies is in the attributes.
type kind struct {
	level   slog.Level
	message string
}

// window is the state of one kind.
type window struct {
	until      time.Time // no record passes before
	suppressed uint64
}

// limiter is shared by a handler and all that WithAttrs and WithGroup derive from it.
type limiter struct {
	every time.Duration
	now   func() time.Time

	mu    sync.Mutex
	kinds map[kind]*window
}

// Handler is a slog.Handler that passes at most one record per kind and interval to
// the next handler. The kind of a record is its level and its message. All methods
// may be called concurrently.
type Handler struct {
	next  slog.Handler
	limit *limiter
}

// NewHandler returns a handler in front of next, whose panics it contains as [Contain]
// does. every is the interval, 0 means DefaultInterval. now is the clock, nil means
// time.Now.
func NewHandler(next slog.Handler, every time.Duration, now func() time.Time) *Handler {
	if every == 0 {
		every = DefaultInterval
	}
	if now == nil {
		now = time.Now
	}
	return &Handler{next: Contain(next), limit: &limiter{every: every, now: now, kinds: make(map[kind]*window)}}
}

// Enabled reports whether the next handler takes records of the level.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle passes r on, or counts it when a record of its kind passed less than an
// interval ago.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	suppressed, pass := h.limit.take(kind{r.Level, r.Message})
	if !pass {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Uint64(SuppressedKey, suppressed))
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs returns a handler that shares the intervals of h.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(attrs), limit: h.limit}
}

// WithGroup returns a handler that shares the intervals of h.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), limit: h.limit}
}

// take reports whether a record of kind k may pass now, and how many were held back
// since the last one that did.
func (l *limiter) take(k kind) (suppressed uint64, pass bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.kinds[k]
	if !ok && len(l.kinds) >= maxKinds {
		k = kind{}
		w, ok = l.kinds[k]
	}
	if !ok {
		w = new(window)
		l.kinds[k] = w
	}
	// A clock that was set back must not silence a kind for longer than an interval.
	if now.Before(w.until) && !now.Before(w.until.Add(-l.every)) {
		w.suppressed++
		return 0, false
	}
	suppressed, w.suppressed = w.suppressed, 0
	w.until = now.Add(l.every)
	return suppressed, true
}
