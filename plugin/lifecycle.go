// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// onUserMessage opens the run. It is the first callback of a run and the only
// one that sees who answers an approval, and when. An error starts no run: it refuses
// the answer to a guarded input, behind which there is no other gate.
func (rec *Recorder) onUserMessage(ctx agent.InvocationContext, msg *genai.Content) (_ *genai.Content, err error) {
	var r *run
	looked := false // whether the gate of inputs came to an end
	defer rec.rescue("OnUserMessage", &r)
	defer func() {
		if looked {
			return
		}
		// A panic lets no answer pass that nobody looked at. A run that it keeps from
		// beginning has done nothing, so its record ends here and lacks nothing.
		if err = rec.unseenInputs(msg); err != nil {
			rec.recovered("OnUserMessage", recover())
			if r != nil {
				rec.turnAway(ctx, r, err)
			}
		}
	}()
	r = rec.open(ctx)
	rec.emit(ctx, r, row{
		typ: schema.UserMessageReceived, agent: r.rootAgent, span: r.rootSpan, at: r.started,
	}, body{
		adk: r.link,
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Key("text_summary")
			summary(d, msg)
			d.Close('}')
		},
		parts: func(d jsonenc.Doc) { rec.parts(d, r, r.rootSpan, msg, everything) },
	})
	r.turns = turnsOf(ctx, r)
	err = rec.takeInputs(ctx, r, msg)
	looked = true
	if err != nil {
		rec.turnAway(ctx, r, err)
		return nil, err
	}
	rec.answers(ctx, r, msg)
	r.rest(rec.now())
	return nil, nil
}

// open starts the record of a run and closes those that were abandoned.
func (rec *Recorder) open(ctx agent.InvocationContext) *run {
	r := rec.newRun(ctx, rec.now())
	r.rootAgent = rec.rootName(ctx, r)
	r.common = rec.commonAttributes(r, nil)
	rec.introduce(ctx, r)
	for _, old := range rec.runs.add(r, r.started) {
		// Nobody knows any more which span of OpenTelemetry was current there.
		rec.endInputs(context.Background(), old, errAbandoned, false)
		rec.endRun(context.Background(), old, ending{err: errAbandoned})
	}
	return r
}

func (rec *Recorder) beforeRun(ctx agent.InvocationContext) (*genai.Content, error) {
	var r *run
	defer rec.rescue("BeforeRun", &r)
	r = rec.runs.get(keyOf(ctx))
	if r == nil {
		// A live run has no user message, and another one need not have one.
		r = rec.open(ctx)
		r.turns = turnsOf(ctx, r)
	} else {
		// What the caller changes of the state comes with the message, behind the
		// callback that saw it.
		rec.introduce(ctx, r)
	}
	if s := ctx.Session(); s != nil && !r.live {
		r.history = newHistory(rec, r.session, s.Events())
	}
	if r.live {
		// It may still fail to start, and no callback would tell.
		r.rest(rec.now())
	} else {
		r.begun.Store(true)
	}
	rec.emit(ctx, r, row{typ: schema.InvocationStarting, agent: r.rootAgent, span: r.rootSpan}, body{adk: r.link})
	return nil, nil
}

func (rec *Recorder) afterRun(ctx agent.InvocationContext) {
	var r *run
	defer rec.rescue("AfterRun", &r)
	if r = rec.runs.get(keyOf(ctx)); r != nil {
		rec.finish(ctx, r)
		if rec.options.RunEnded != nil && !r.nested {
			rec.options.RunEnded(ctx)
		}
	}
}

// finish closes the run and every span that is still open, because ADK skips the
// callbacks that would close them when the caller stops early or anything fails.
func (rec *Recorder) finish(ctx context.Context, r *run) {
	r.mu.Lock()
	if r.over.Swap(true) {
		r.mu.Unlock()
		return
	}
	calls := make([]*call, 0, len(r.calls))
	for _, c := range r.calls {
		if !c.done {
			calls = append(calls, c)
		}
		if !c.running.Load() {
			c.depart()
		}
	}
	agents := r.agents
	r.agents = nil
	clear(r.calls)
	r.mu.Unlock()

	for _, c := range calls {
		rec.endTool(ctx, r, c, nil, nil, errUnfinished)
	}
	err, unfinished := r.outcome(ctx, r.stopsHere(agents))
	for i := len(agents) - 1; i >= 0; i-- {
		a, e := agents[i], ending{err: err, unfinished: unfinished}
		if f := r.faultOf(a); f != nil {
			e = ending{err: f.err}
		}
		rec.endAgent(ctx, r, a, e)
	}
	if r.wasAdmitted() || err != nil {
		rec.endInputs(ctx, r, err, unfinished)
	} else {
		rec.endInputs(ctx, r, errRefused, false) // whoever answered in the place of the nodes
	}
	rec.endRun(ctx, r, ending{err: err, unfinished: unfinished})
	rec.runs.end(r, rec.now())
}

func (r *run) wasAdmitted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.admitted
}

// endRun writes the last row of the run.
func (rec *Recorder) endRun(ctx context.Context, r *run, e ending) {
	now := rec.now()
	rec.write(ctx, r, row{
		typ: schema.InvocationCompleted, agent: r.rootAgent, span: r.rootSpan, at: now,
		timed: true, total: now.Sub(r.started),
	}, schema.InvocationError, e)
}
