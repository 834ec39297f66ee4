// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"
	"sync/atomic"
)

// launch has the facts that the starter of a run knows: the errors that its consumer was told, and
// the tool call around it. The run finds it in its context.
type launch struct {
	rec           *Recorder
	user, session string
	// nested says that the run is one of an agent run as a tool, parent which call
	// of it; nil when that call is not on record.
	nested bool
	parent *parentCall

	run atomic.Pointer[Run]

	mu      sync.Mutex
	err     error
	stopped bool
	// told says that the consumer was told anything.
	told bool
}

type launchKey struct{}

// launchOf returns the launch in ctx if it belongs to r, and ties the two. A run inside of another
// one finds the launch of the outer run, which is taken.
func launchOf(ctx context.Context, rec *Recorder, r *Run) *launch {
	l, _ := ctx.Value(launchKey{}).(*launch)
	if l == nil || l.rec != rec || l.user != r.Session.User || l.session != r.Session.ID || !l.run.CompareAndSwap(nil, r) {
		return nil
	}
	return l
}

// last returns the error that was the last thing the consumer was told, and whether
// the consumer stopped there.
func (l *launch) last() (err error, stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err, l.stopped
}

func (l *launch) tell(err error, stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err, l.stopped, l.told = err, stopped, true
}

// answered reports whether the consumer got an event and no error.
func (l *launch) answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told && l.err == nil
}
