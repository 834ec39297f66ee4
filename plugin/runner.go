// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"iter"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

// Run runs the agent exactly as r.Run does. It also records what only the consumer of a
// run learns: its errors, and whether the consumer stopped before the end. Without it a
// run counts as unfinished if anything but its model fails, for instance a workflow node
// or an agent of the host's own kind. The runner must have the plugin of
// [Recorder.Observer]. A live run has no such wrapper.
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

// landed closes the record of a run that ended without AfterRun. An example is a run whose user
// message another plugin refused.
func (rec *Recorder) landed(ctx context.Context, l *launch) {
	r := l.run.Load()
	defer rec.Rescue("Run", &r)
	if r != nil {
		rec.finish(ctx, r)
	}
}
