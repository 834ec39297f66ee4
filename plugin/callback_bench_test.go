// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/race"
)

// BenchmarkToolCompleted is the callback that ends a tool call.
func BenchmarkToolCompleted(b *testing.B) {
	rec := newTestRecorder(b, &discard{})
	result := inventory()
	inTool(b, rec, func(ctx agent.Context, t tool.Tool) {
		r := rec.runs.lookup(ctx)
		c := r.call(ctx)
		b.ReportAllocs()
		for b.Loop() {
			c.done = false
			rec.endTool(ctx, rec.runs.lookup(ctx), r.call(ctx), nil, result, nil, End{})
		}
	})
}

// BenchmarkToolCall is both callbacks of a tool call, with what they keep in
// between.
func BenchmarkToolCall(b *testing.B) {
	rec := newTestRecorder(b, &discard{})
	args, result := map[string]any{"brand": "ELF Cosmetics", "limit": 6.0}, inventory()
	inTool(b, rec, func(ctx agent.Context, t tool.Tool) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = rec.beforeTool(ctx, t, args)
			_, _ = rec.afterTool(ctx, t, args, result, nil)
		}
	})
}

// BenchmarkLLMRequest is the callback before a model call with 20 messages.
func BenchmarkLLMRequest(b *testing.B) {
	rec := newTestRecorder(b, &discard{})
	req := request(20)
	inTool(b, rec, func(ctx agent.Context, _ tool.Tool) {
		r := rec.runs.lookup(ctx)
		a := r.agent(ctx.AgentName(), ctx.Branch())
		b.ReportAllocs()
		for b.Loop() {
			_, _ = rec.beforeModel(ctx, req)
			r.takeLLM(a)
		}
	})
}

// The goals are allocations per callback in the steady state: they are exact, where
// times are not.
func TestAllocationsPerCallback(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; counted without it")
		return
	}
	rec := newTestRecorder(t, &discard{})
	args, result := map[string]any{"brand": "ELF Cosmetics", "limit": 6.0}, inventory()
	req := request(20)
	guard := func(what string, goal float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(200, f); got > goal {
			t.Errorf("%s: %v allocations, want at most %v", what, got, goal)
		}
	}
	inTool(t, rec, func(ctx agent.Context, tl tool.Tool) {
		r := rec.runs.lookup(ctx)
		a := r.agent(ctx.AgentName(), ctx.Branch())
		guard("BeforeTool", 2, func() { _, _ = rec.beforeTool(ctx, tl, args) })
		guard("AfterTool", 2, func() {
			r.call(ctx).done = false
			rec.endTool(ctx, r, r.call(ctx), args, result, nil, End{})
		})
		guard("BeforeModel with 20 messages", 4, func() {
			_, _ = rec.beforeModel(ctx, req)
			r.takeLLM(a)
		})
	})
}
