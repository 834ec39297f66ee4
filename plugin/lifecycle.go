// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

func (rec *Recorder) onUserMessage(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
	r, err := rec.UserMessage(ctx, msg)
	if err != nil {
		rec.Miss(r)
	}
	if r == nil {
		return nil, nil
	}
	for _, fr := range Responses(msg) {
		rec.Response(ctx, r, fr)
	}
	rec.Rest(r)
	return nil, nil
}

// UserMessage begins the record of a run with the message of its user. It is the first
// callback of a run and the only one that sees who answers a request, and when. The run does
// not count as given up until Rest is called. On an error the record of the message is not
// whole, and the caller must call [Recorder.Miss] or [Recorder.TurnAway]. The run is nil where
// the error came before the run was known.
func (rec *Recorder) UserMessage(ctx agent.InvocationContext, msg *genai.Content) (r *Run, err error) {
	defer func() {
		if p := recover(); p != nil {
			rec.panicked("OnUserMessage", p)
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	rec.open(ctx, &r)
	rec.emit(ctx, r, row{
		typ: record.UserMessageReceived, agent: r.RootAgent, span: r.RootSpan, at: r.started,
	}, body{
		adk: r.rewound,
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Key("text_summary")
			summary(d, msg)
			d.Close('}')
		},
		parts: func(d jsonenc.Doc) { rec.parts(d, r, r.RootSpan, msg, everything) },
	})
	r.turns = turnsOf(ctx, r)
	r.fresh = isFresh(ctx)
	return r, nil
}

// Rest notes that the work on the user message of the run is over.
func (rec *Recorder) Rest(r *Run) { r.rest(rec.now()) }

// TurnAway ends the record of a run whose message was refused with err. ADK starts nothing then,
// and no callback follows.
func (rec *Recorder) TurnAway(ctx context.Context, r *Run, err error) {
	defer rec.Rescue("OnUserMessage", &r)
	r.mu.Lock()
	over := r.over.Swap(true)
	r.mu.Unlock()
	if over {
		return
	}
	r.tellEnd(ctx, err, false)
	rec.emit(ctx, r, row{typ: record.InvocationStarting, agent: r.RootAgent, span: r.RootSpan}, body{adk: r.rewound}) // what ends has begun
	rec.endRun(ctx, r, ending{err: err})
	rec.runs.end(r)
}

// open starts the record of a run, stores it in r as soon as it is known, and closes those
// that were abandoned.
func (rec *Recorder) open(ctx agent.InvocationContext, r **Run) {
	opened := rec.newRun(ctx, rec.now())
	opened.RootAgent = rec.rootName(ctx, opened)
	opened.common = rec.commonAttributes(opened, nil)
	rec.introduce(ctx, opened)
	abandoned := rec.runs.add(opened, opened.started)
	*r = opened
	for _, old := range abandoned {
		rec.giveUp(old, opened.started)
	}
}

// giveUp closes the record of a run that was abandoned, while another one begins.
func (rec *Recorder) giveUp(r *Run, now time.Time) {
	defer rec.runs.end(r)
	defer rec.Rescue("OnUserMessage", &r)
	// Nobody knows any more which span of OpenTelemetry was current there.
	ctx := context.Background()
	r.tellEnd(ctx, errAbandoned, false)
	rec.endRun(ctx, r, ending{err: errAbandoned})
}

func (rec *Recorder) beforeRun(ctx agent.InvocationContext) (*genai.Content, error) {
	var r *Run
	defer rec.Rescue("BeforeRun", &r)
	r = rec.runs.get(keyOf(ctx))
	if r == nil {
		// A live run has no user message, and another one need not have one.
		rec.open(ctx, &r)
		r.turns = turnsOf(ctx, r)
		r.fresh = isFresh(ctx)
	} else {
		// The caller's changes of the state come with the message, after the callback that saw it.
		rec.introduce(ctx, r)
	}
	if s := ctx.Session(); s != nil && !r.Live {
		r.past = rec.newPast(r, s.Events())
	}
	if r.Live {
		// It may still fail to start, and no callback would tell.
		r.rest(rec.now())
	} else {
		r.begun.Store(true)
	}
	rec.emit(ctx, r, row{typ: record.InvocationStarting, agent: r.RootAgent, span: r.RootSpan}, body{adk: func(d jsonenc.Doc) {
		r.rewound(d)
		if r.fresh {
			d.Bool("fresh", true)
		}
	}})
	return nil, nil
}

func (rec *Recorder) afterRun(ctx agent.InvocationContext) {
	var r *Run
	defer rec.Rescue("AfterRun", &r)
	if r = rec.runs.get(keyOf(ctx)); r != nil {
		rec.finish(ctx, r)
		if rec.options.RunEnded != nil && !r.Nested {
			rec.options.RunEnded(ctx)
		}
	}
}

// finish closes the run and every span that is still open, because ADK skips the
// callbacks that would close them when the caller stops early or anything fails.
func (rec *Recorder) finish(ctx context.Context, r *Run) {
	r.mu.Lock()
	if r.over.Swap(true) {
		r.mu.Unlock()
		return
	}
	calls := make([]*Call, 0, len(r.calls))
	for _, c := range r.calls {
		if !c.done {
			calls = append(calls, c)
		}
	}
	agents := r.agents
	r.agents = nil
	clear(r.calls)
	r.mu.Unlock()
	defer r.tellEnd(ctx, errUnfinished, true) // of a panic, which keeps it from being told below

	for _, c := range calls {
		rec.endTool(ctx, r, c, nil, nil, errUnfinished, End{})
	}
	err, unfinished := r.outcome(ctx, r.stopsHere(agents))
	for i := len(agents) - 1; i >= 0; i-- {
		a, e := agents[i], ending{err: err, unfinished: unfinished}
		if f := r.faultOf(a); f != nil {
			e = ending{err: f.err}
		}
		rec.endAgent(ctx, r, a, e)
	}
	if r.Admitted() || err != nil {
		r.tellEnd(ctx, err, unfinished)
	} else {
		r.tellEnd(ctx, errRefused, false) // whoever answered in the place of the agents
	}
	rec.endRun(ctx, r, ending{err: err, unfinished: unfinished})
	rec.runs.end(r)
}

// endRun writes the last row of the run.
func (rec *Recorder) endRun(ctx context.Context, r *Run, e ending) {
	now := rec.now()
	rec.write(ctx, r, row{
		typ: record.InvocationCompleted, agent: r.RootAgent, span: r.RootSpan, at: now,
		timed: true, total: now.Sub(r.started),
	}, record.InvocationError, e)
}

func (rec *Recorder) newRun(ctx agent.InvocationContext, now time.Time) *Run {
	r := &Run{
		key:        keyOf(ctx),
		Invocation: ctx.InvocationID(),
		ID:         newID(),
		RootSpan:   newSpanID(),
		Live:       ctx.RunConfig() == nil,
		started:    now,
		calls:      make(map[*session.EventActions]*Call),
		closed:     make(map[agentKey]*agentSpan),
		asked:      make(map[string]*Call),
	}
	if s := ctx.Session(); s != nil {
		r.Session = record.Session{App: s.AppName(), User: s.UserID(), ID: s.ID()}
		r.goesBy(s)
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		r.TraceID = sc.TraceID().String()
	} else {
		r.TraceID = newID()
	}
	if a := ctx.Agent(); a != nil {
		r.Agent = a
		r.RootAgent = a.Name()
	}
	r.parts = partsOf(r.Agent)
	if r.launch = launchOf(ctx, rec, r); r.launch != nil {
		r.Nested = r.launch.nested
		if r.launch.parent != nil {
			r.nest(r.launch.parent)
		}
	}
	return r
}

// NoRun returns a Run for rows that are written outside of any run of a runner: it has a
// trace of its own, and no end.
func (rec *Recorder) NoRun(s record.Session) *Run {
	r := &Run{Session: s, TraceID: newID()}
	r.common = rec.commonAttributes(r, nil)
	return r
}
