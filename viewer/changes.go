// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// maxStreams bounds the pages that are told of changes at the same time.
const maxStreams = 64

// heartbeat is how often a stream without news shows that it is alive.
const heartbeat = 15 * time.Second

// changes asks a source for its number while somebody wants to know it, once for all.
type changes struct {
	read     func(context.Context) (int64, error)
	interval time.Duration

	mu      sync.Mutex
	streams int
	readAt  time.Time
	last    int64
}

func newChanges(read func(context.Context) (int64, error), interval time.Duration) *changes {
	return &changes{read: read, interval: interval}
}

// enter reports whether one more stream may begin; leave ends it.
func (c *changes) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil || c.streams >= maxStreams {
		return false
	}
	c.streams++
	return true
}

func (c *changes) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams--
}

// number returns the number of the source, at most one interval old.
func (c *changes) number(ctx context.Context) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.readAt.IsZero() || now.Sub(c.readAt) >= c.interval {
		n, err := c.read(ctx)
		if err != nil {
			return 0, err
		}
		c.last, c.readAt = n, now
	}
	return c.last, nil
}

// stream tells one page of changes, as server-sent events:
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	if !h.changes.enter() {
		// A browser that is told 204 does not ask again.
		w.WriteHeader(http.StatusNoContent)
		return
	}
	defer h.changes.leave()
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	ticker := time.NewTicker(h.Interval)
	defer ticker.Stop()
	ctx := r.Context()
	last, told := int64(-1), time.Now()
	for {
		n, err := h.changes.number(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			h.Logger.Warn("the source could not be asked for changes", "error", err)
		case err == nil && n != last:
			last, told = n, time.Now()
			if _, err := fmt.Fprintf(w, "event: changed\ndata: {\"seq\":%d}\n\n", n); err != nil {
				return
			}
		case time.Since(told) >= heartbeat:
			told = time.Now()
			if _, err := fmt.Fprint(w, ": alive\n\n"); err != nil {
				return
			}
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
