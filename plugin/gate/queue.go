// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// sessionLocks let the approved calls of a session run one after the other. ADK runs those that
// one message approves side by side, and each would be checked in a world that the others
// are about to change.
type sessionLocks struct {
	mu   sync.Mutex
	busy map[record.Session]chan struct{} // closed when the call ahead has ended
}

// lock waits until no other call of the session has its turn, or ctx ends. waits is
// called once if one has. release, which may be repeated, ends the turn.
func (l *sessionLocks) lock(ctx context.Context, s record.Session, waits func()) (release func(), err error) {
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
		l.busy = make(map[record.Session]chan struct{})
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
// does not run; nil gives it the turn, until unlock.
func (g *Gate) queue(ctx context.Context, r *run, c *call) (denial map[string]any) {
	wctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	release, err := g.locks.lock(wctx, r.Session, func() {
		g.log.Info("contextgraph: an approved call waits until another one of its session has ended, to be checked after it", "tool", c.Name, "session", r.Session.ID)
	})
	switch {
	case err == nil:
		r.mu.Lock()
		c.release = release
		r.mu.Unlock()
		if r.Over() { // which may have looked for calls with a turn before
			c.unlock()
			return g.deny(c, c.Name, safety.CodeCanceled, "the run has ended")
		}
		return nil
	case ctx.Err() != nil:
		return g.deny(c, c.Name, safety.CodeCanceled, "the run has ended: "+ctx.Err().Error())
	default:
		return g.deny(c, c.Name, safety.CodeCheckFailed, fmt.Sprintf("another approved call of this session has not ended within %v, and what it changes cannot be checked before; approve this one again when it has", lockTimeout))
	}
}

// lockTimeout is how long an approved call waits for another one.
const lockTimeout = 2 * time.Minute
