// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxStreams bounds the pages that are told of changes at the same time.
const maxStreams = 64

const (
	// heartbeat is how often a stream without news shows that it is alive.
	heartbeat = 15 * time.Second
	// readWithin bounds the question for the number, and writeWithin how long a page that
	// does not read keeps its stream.
	readWithin  = 10 * time.Second
	writeWithin = 10 * time.Second
)

// changes asks a source for its number while somebody wants to know it, once for all.
type changes struct {
	read     func(context.Context) (int64, error)
	interval time.Duration

	streams atomic.Int64

	mu     sync.Mutex
	readAt time.Time
	last   int64
	err    error
}

// enter reports whether one more stream may begin; then leave ends it.
func (c *changes) enter() bool {
	if c.read == nil {
		return false
	}
	if c.streams.Add(1) > maxStreams {
		c.leave()
		return false
	}
	return true
}

func (c *changes) leave() { c.streams.Add(-1) }

// number returns the number of the source, at most one interval old. An error is reported once in
// an interval: fresh says that nobody was told before. The first caller asks for all, so the
// question does not end with the request of that caller.
func (c *changes) number(ctx context.Context) (n int64, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.readAt.IsZero() || now.Sub(c.readAt) >= c.interval {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
		defer cancel()
		fresh = true
		c.readAt = now
		if n, c.err = c.read(ctx); c.err == nil {
			c.last = n
		}
	}
	return c.last, fresh, c.err
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
		n, fresh, err := h.changes.number(ctx)
		if err != nil && fresh {
			h.Logger.Warn("the source could not be asked for changes", "error", err)
		}
		// A writer that has no deadlines waits for the page.
		_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
		switch {
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
		_ = out.SetWriteDeadline(time.Time{}) // the server does not end a stream for its length
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
