// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
)

// launch is what the one who starts a run knows of it: what its consumer was told,
// and the tool call it runs in. The run finds it in its context.
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

// launchOf returns the launch that ctx carries if it is that of r, and ties the two.
// A run inside of another finds the launch of the outer one, which is taken.
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

// Run runs the agent exactly as r.Run does and tells the recorder what only the
// consumer of a run learns: its errors, and whether the consumer stopped before the
// end. Without it a run that fails by anything but its model, as by an agent of its
// own kind or a workflow node, is recorded as unfinished. The runner must have the
// recorder's plugins. A live run has no such wrapper.
func (rec *Recorder) Run(ctx context.Context, r *runner.Runner, userID, sessionID string, msg *genai.Content, cfg agent.RunConfig, opts ...runner.RunOption) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		l := &launch{rec: rec, user: userID, session: sessionID}
		rec.run(ctx, l, r, msg, cfg, opts)(yield)
	}
}

func (rec *Recorder) run(ctx context.Context, l *launch, r *runner.Runner, msg *genai.Content, cfg agent.RunConfig, opts []runner.RunOption) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		defer rec.landed(ctx, l)
		for ev, err := range r.Run(context.WithValue(ctx, launchKey{}, l), l.user, l.session, msg, cfg, opts...) {
			l.tell(err, true)
			if !yield(ev, err) {
				return
			}
			l.tell(err, false)
		}
	}
}

// landed closes the record of a run that ended without AfterRun, as one whose user
// message another plugin refused.
func (rec *Recorder) landed(ctx context.Context, l *launch) {
	r := l.run.Load()
	defer rec.Rescue("Run", &r)
	if r != nil {
		rec.finish(ctx, r)
	}
}
