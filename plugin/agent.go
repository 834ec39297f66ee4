// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

func (rec *Recorder) beforeAgent(ctx agent.Context) (*genai.Content, error) {
	var r *Run
	defer rec.Rescue("BeforeAgent", &r)
	if r = rec.runs.lookup(ctx); r != nil {
		a, skipped := r.openAgent(ctx.WithICDelta(nil), agentKey{ctx.AgentName(), ctx.Branch()}, rec.now())
		for _, x := range skipped {
			rec.endAgent(ctx, r, x, ending{err: r.errorOf(x)})
		}
		if a == nil {
			return nil, nil
		}
		r.join(trace.SpanFromContext(ctx), a.id)
		rec.emit(ctx, r, row{
			typ: record.AgentStarting, agent: a.name, branch: a.branch, span: a.id, parent: a.parent, at: a.started,
		}, body{
			content: func(d jsonenc.Doc) { d.Elem(adkreflect.Instruction(adkreflect.Find(r.Agent, a.name))) },
		})
	}
	return nil, nil
}

func (rec *Recorder) afterAgent(ctx agent.Context) (*genai.Content, error) {
	var r *Run
	defer rec.Rescue("AfterAgent", &r)
	if r = rec.runs.lookup(ctx); r != nil {
		a, inside := r.closeAgent(ctx.AgentName(), ctx.Branch())
		for _, x := range inside {
			rec.endAgent(ctx, r, x, ending{err: r.errorOf(x)})
		}
		if a != nil {
			rec.endAgent(ctx, r, a, ending{err: r.errorOf(a)})
		}
	}
	return nil, nil
}

// ending says how an activation or a run ended: with an error, unfinished, or well.
type ending struct {
	err        error
	unfinished bool
}

// write writes the row that ends an activation or a run. x has the event type of a good end, failed
// the type of the other end.
func (rec *Recorder) write(ctx context.Context, r *Run, x row, failed string, e ending) {
	b := body{adk: func(d jsonenc.Doc) {
		if e.unfinished {
			d.Bool("unfinished", true)
		}
	}}
	if e.err != nil {
		x.typ, x.failed, x.message = failed, true, e.err.Error()
		b.content = func(d jsonenc.Doc) { traceback(d, e.err) }
	}
	rec.emit(ctx, r, x, b)
}

// endAgent writes the end of an activation, and of the model call that is still
// open in it.
func (rec *Recorder) endAgent(ctx context.Context, r *Run, a *agentSpan, e ending) {
	rec.endLLM(ctx, r, a)
	now := rec.now()
	rec.write(ctx, r, row{
		typ: record.AgentCompleted, agent: a.name, branch: a.branch, span: a.id, parent: a.parent, at: now,
		timed: true, total: now.Sub(a.started),
	}, record.AgentError, e)
}

// traceback writes the content of a row that ends an agent or a run with an error. An
// error that knows where it came from says so in its %+v form.
func traceback(d jsonenc.Doc, err error) {
	d.Open('{')
	d.Str("error_traceback", fmt.Sprintf("%+v", err))
	d.Close('}')
}
