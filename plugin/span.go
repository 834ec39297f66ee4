// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"google.golang.org/adk/v2/agent"
)

// join makes ADK's span of an agent or of a tool call lead to its rows. These spans
// are the current one in the callbacks; any other one is left alone.
func (r *Run) join(span trace.Span, id string) {
	if span.IsRecording() && isADK(span) {
		span.SetAttributes(r.spanAttributes(id)...)
	}
}

func isADK(span trace.Span) bool {
	s, ok := span.(sdktrace.ReadOnlySpan)
	return ok && s.InstrumentationScope().Name == adkTracer
}

func (r *Run) spanAttributes(id string) []attribute.KeyValue {
	return []attribute.KeyValue{
		SpanTraceID.String(r.TraceID), SpanSpanID.String(id), SpanRunID.String(r.ID),
		SpanSessionID.String(r.Session.ID), SpanAppName.String(r.Session.App),
	}
}

// SpanProcessor returns a processor that joins ADK's spans of model calls to their
// rows, in both directions; no callback sees those spans. It adds attributes to them,
// and their ids and events to the rows; it starts no spans and exports none. Give it
// to the tracer provider that ADK uses, once. It knows of a span only while its model
// call lasts, needs no shutdown, and serves any number of runners. It calls outside with the
// name of each tool that is about to run in a runner without the recorder.
func (rec *Recorder) SpanProcessor(outside func(tool string)) sdktrace.SpanProcessor {
	return &spanProcessor{rec: rec, outside: outside, calls: make(map[spanKey]*modelSpan)}
}

type spanProcessor struct {
	rec     *Recorder
	outside func(tool string)

	mu    sync.Mutex
	calls map[spanKey]*modelSpan // under way
}

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOfSpan(sc trace.SpanContext) spanKey { return spanKey{sc.TraceID(), sc.SpanID()} }

// OnStart runs on the goroutine of the agent: before the callbacks of a tool call, or between the
// callback before a model call and the call. ADK starts the span with the context of the invocation, which identifies the call.
func (p *spanProcessor) OnStart(parent context.Context, span sdktrace.ReadWriteSpan) {
	ctx, ok := parent.(agent.InvocationContext)
	if !ok || !isADK(span) {
		return
	}
	tool, isTool := strings.CutPrefix(span.Name(), executeTool)
	if !isTool && !strings.HasPrefix(span.Name(), generateContent) {
		return
	}
	var r *Run
	defer p.rec.Rescue("SpanProcessor", &r)
	r = p.rec.runs.get(keyOf(ctx))
	switch {
	case isTool:
		if r == nil && apart(ctx) == nil {
			p.outside(tool)
		}
		return
	case r == nil || ctx.Agent() == nil:
		return
	}
	sc := span.SpanContext()
	m := &modelSpan{id: sc.SpanID().String()}
	l := r.calling(ctx.Agent().Name(), ctx.Branch(), m, sc.IsSampled())
	if l == nil {
		return
	}
	span.SetAttributes(r.spanAttributes(l.id)...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[keyOfSpan(sc)] = m
}

// OnEnd runs before the callback after the model call. ADK tells the event then. It
// reads the span that exporters get: one that is still written to must not be read
// beside them.
func (p *spanProcessor) OnEnd(span sdktrace.ReadOnlySpan) {
	key := keyOfSpan(span.SpanContext())
	p.mu.Lock()
	m := p.calls[key]
	delete(p.calls, key)
	p.mu.Unlock()
	if m == nil {
		return
	}
	for _, a := range span.Attributes() {
		if a.Key == genaiEvent {
			event := a.Value.AsString()
			m.event.Store(&event)
		}
	}
}

// Shutdown does nothing.
func (*spanProcessor) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (*spanProcessor) ForceFlush(context.Context) error { return nil }

// calling returns the model call that the agent is about to make and gives it its
// span. One that is not exported leads nowhere.
func (r *Run) calling(name, branch string, m *modelSpan, exported bool) *llmSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agentLocked(name, branch)
	if a == nil || a.llm == nil {
		return nil
	}
	if exported {
		a.llm.span = m
	}
	return a.llm
}

// eventID returns the id of the event that the answer becomes, "" when unknown.
func (m *modelSpan) eventID() string {
	if m == nil {
		return ""
	}
	if event := m.event.Load(); event != nil {
		return *event
	}
	return ""
}
