// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
)

// The processor remembers a span only while its model call lasts, and none that is not
// one of a run on record.
func TestSpanProcessorForgets(t *testing.T) {
	rec := newTestRecorder(t, &discard{})
	p := rec.SpanProcessor(func(string) {}).(*spanProcessor)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	adk, other := provider.Tracer(adkTracer), provider.Tracer("other")
	inTool(t, rec, func(ctx agent.Context, _ tool.Tool) {
		start := func(parent context.Context, want int, what string) func() {
			_, span := adk.Start(parent, generateContent+"m")
			if got := len(p.calls); got != want {
				t.Errorf("%s: %d spans are remembered, want %d", what, got, want)
			}
			return func() { span.End() }
		}
		ic := ctx.WithICDelta(nil)
		start(ic, 0, "no model call is open")()
		if _, err := rec.beforeModel(ctx, &model.LLMRequest{}); err != nil {
			t.Fatal(err)
		}
		start(context.Background(), 0, "no run")()
		for tracer, name := range map[trace.Tracer]string{other: generateContent + "m", adk: "execute_tool m"} {
			_, span := tracer.Start(ic, name)
			if got := len(p.calls); got != 0 {
				t.Errorf("%s: the span of another thing is remembered", name)
			}
			span.End()
		}
		end := start(ic, 1, "a model call")
		end()
		if got := len(p.calls); got != 0 {
			t.Errorf("%d spans are remembered after the call, want none", got)
		}
	})
}

// recordOnly is a sampler whose spans are recorded but not exported.
type recordOnly struct{}

func (recordOnly) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
}

func (recordOnly) Description() string { return "record only" }

// Rows lead to no span that is not exported, and no span of another tracer is touched.
func TestSpansThatAreLeftAlone(t *testing.T) {
	rec := newTestRecorder(t, &discard{})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec.SpanProcessor(func(string) {})), sdktrace.WithSampler(recordOnly{}))
	inTool(t, rec, func(ctx agent.Context, _ tool.Tool) {
		r := rec.runs.lookup(ctx)
		if _, err := rec.beforeModel(ctx, &model.LLMRequest{}); err != nil {
			t.Fatal(err)
		}
		_, span := provider.Tracer(adkTracer).Start(ctx.WithICDelta(nil), generateContent+"m")
		defer span.End()
		if l := r.agent(ctx.AgentName(), ctx.Branch()).llm; l.span != nil {
			t.Error("the row leads to a span that is not exported")
		}
		_, other := provider.Tracer("other").Start(context.Background(), "request")
		defer other.End()
		r.join(other, "0011223344556677")
		if got := other.(sdktrace.ReadOnlySpan).Attributes(); len(got) != 0 {
			t.Errorf("a span of another tracer got %v", got)
		}
	})
}

// What happens on a branch beside the failure does not undo it.
func TestFaultStandsBesideOtherBranches(t *testing.T) {
	for _, tt := range []struct {
		branch string
		stands bool
	}{{"root.a", false}, {"root", false}, {"", false}, {"root.b", true}, {"root.a.c", true}} {
		a := &agentSpan{agentKey: agentKey{"a", "root.a"}}
		r := &Run{agents: []*agentSpan{a}}
		r.faultLocked(&fault{err: errors.New("offline"), in: a})
		r.passed(nil, &session.Event{Branch: tt.branch})
		if got := r.fault != nil; got != tt.stands {
			t.Errorf("after an event on branch %q the fault stands: %v, want %v", tt.branch, got, tt.stands)
		}
	}
}
