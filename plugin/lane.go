// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// lanes let the approved calls of a session run one after the other. ADK runs those that
// one message approves side by side, and each would be checked in a world that the others
// are about to change.
type lanes struct {
	mu   sync.Mutex
	busy map[schema.Session]chan struct{} // closed when the call ahead has ended
}

// enter waits until no other call of the session is in its lane, or ctx ends. waits is
// called once if there is one. The lane is free again after leave, which may be repeated.
func (l *lanes) enter(ctx context.Context, s schema.Session, waits func()) (leave func(), err error) {
	for {
		l.mu.Lock()
		ahead := l.busy[s]
		if ahead == nil {
			break
		}
		l.mu.Unlock()
		if waits != nil {
			waits()
			waits = nil
		}
		select {
		case <-ahead:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer l.mu.Unlock()
	if l.busy == nil {
		l.busy = make(map[schema.Session]chan struct{})
	}
	done := make(chan struct{})
	l.busy[s] = done
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.busy, s)
		close(done)
	}), nil
}

// queue has an approved call wait for its turn in the session. It returns why the call
// does not run; nil gives it the lane, until depart.
func (rec *Recorder) queue(ctx context.Context, r *run, c *call) (denial map[string]any) {
	wctx, cancel := context.WithTimeout(ctx, laneTimeout)
	defer cancel()
	leave, err := rec.lanes.enter(wctx, r.session, func() {
		rec.log.Info("contextgraph: an approved call waits until another one of its session has ended, to be checked after it", "tool", c.name, "session", r.session.ID)
	})
	switch {
	case err == nil:
		r.mu.Lock()
		over := r.over.Load()
		c.leave = leave
		r.mu.Unlock()
		if over { // which looked for calls in their lane before
			c.depart()
			return rec.deny(c, c.name, safety.CodeCanceled, "the run has ended")
		}
		return nil
	case ctx.Err() != nil:
		return rec.deny(c, c.name, safety.CodeCanceled, "the run has ended: "+ctx.Err().Error())
	default:
		return rec.deny(c, c.name, safety.CodeCheckFailed, fmt.Sprintf("another approved call of this session has not ended within %v, and what it changes cannot be checked before; approve this one again when it has", laneTimeout))
	}
}

// depart frees the lane, if the call has it.
func (c *call) depart() {
	if c.leave != nil {
		c.leave()
	}
}

// laneTimeout is how long an approved call waits for another one.
const laneTimeout = 2 * time.Minute
