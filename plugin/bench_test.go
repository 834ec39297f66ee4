// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

type discard struct{ bytes int }

func (d *discard) Append(e schema.Event) bool {
	d.bytes += len(e.Content) + len(e.Attributes)
	return true
}

type noArgs struct{}

// inTool runs f inside a tool of a real run, with the context ADK gives a tool.
func inTool(b testing.TB, rec *Recorder, f func(agent.Context, tool.Tool)) {
	b.Helper()
	var self tool.Tool
	self, err := functiontool.New(functiontool.Config{Name: "query_ad_inventory"}, func(ctx agent.Context, _ noArgs) (map[string]any, error) {
		f(ctx, self)
		return map[string]any{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) != nil {
			return adktest.Text("done"), nil
		}
		return adktest.Call("query_ad_inventory", map[string]any{}), nil
	}}
	root, err := llmagent.New(llmagent.Config{Name: "media_planner", Model: m, Tools: []tool.Tool{self}})
	if err != nil {
		b.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "adcp", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: rec.PluginConfig(),
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := adktest.TryRun(b.Context(), r, "u", "s", adktest.UserText("go")); err != nil {
		b.Fatal(err)
	}
}

func newTestRecorder(t testing.TB, sink Sink) *Recorder {
	t.Helper()
	rec, err := New(Config{Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// inventory is a tool result of about 0.8 KB.
func inventory() map[string]any {
	var placements []any
	for i := range 6 {
		placements = append(placements, map[string]any{
			"name": fmt.Sprintf("Placement number %d", i), "available": true, "price": 18000.5 + float64(i),
			"currency": "USD", "as_of": "2026-01-19T10:00:00Z", "format": "video",
		})
	}
	return map[string]any{"placements": placements, "brand": "ELF Cosmetics", "count": 6}
}

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
			rec.endTool(ctx, rec.runs.lookup(ctx), r.call(ctx), nil, result, nil)
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

// BenchmarkToolsOfARequest is the gate's look at the 20 tools of a model request.
func BenchmarkToolsOfARequest(b *testing.B) {
	rec, req := guardedTools(b, 20)
	inTool(b, rec, func(ctx agent.Context, _ tool.Tool) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = rec.gateBeforeModel(ctx, req)
		}
	})
}

// guardedTools is a model request with n tools, of which all but one in five are behind
// the gate: by name, by a pattern, by Protect, and an agent that runs as a tool.
func guardedTools(t testing.TB, n int) (*Recorder, *model.LLMRequest) {
	t.Helper()
	rec, err := New(Config{Sink: &discard{}, Tools: []string{"buy_1", "buy_6", "provision_*", "[a-c]uy_?", "*_2"}})
	if err != nil {
		t.Fatal(err)
	}
	req := &model.LLMRequest{Tools: make(map[string]any, n)}
	for i := range n {
		one, err := functiontool.New(functiontool.Config{Name: fmt.Sprintf("%s_%d", []string{"read", "buy", "sell", "provision", "pay"}[i%5], i)},
			func(agent.Context, noArgs) (map[string]any, error) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
		if i%5 == 4 {
			one = rec.Protect(one)
		}
		req.Tools[one.Name()] = one
	}
	helper, err := llmagent.New(llmagent.Config{Name: "helper"})
	if err != nil {
		t.Fatal(err)
	}
	req.Tools["helper"] = agenttool.New(helper, nil)
	return rec, req
}

// request is a model request with n messages of about 230 bytes.
func request(n int) *model.LLMRequest {
	req := &model.LLMRequest{Model: "gemini-3-flash", Config: &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(strings.Repeat("You plan media. ", 20), genai.RoleUser),
	}}
	for i := range n {
		role := genai.Role(genai.RoleUser)
		if i%2 == 1 {
			role = genai.RoleModel
		}
		req.Contents = append(req.Contents, genai.NewContentFromText(strings.Repeat("a message of some words ", 10), role))
	}
	return req
}

// The goals are allocations per callback in the steady state: they are exact, where
// times are not.
func TestAllocationsPerCallback(t *testing.T) {
	if raceEnabled {
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
	gate, tools := guardedTools(t, 20)
	inTool(t, rec, func(ctx agent.Context, tl tool.Tool) {
		r := rec.runs.lookup(ctx)
		a := r.agent(ctx.AgentName(), ctx.Branch())
		guard("the gate's BeforeModel with 21 tools", 0, func() { _, _ = gate.gateBeforeModel(ctx, tools) })
		guard("BeforeTool", 2, func() { _, _ = rec.beforeTool(ctx, tl, args) })
		guard("AfterTool", 2, func() {
			r.call(ctx).done = false
			rec.endTool(ctx, r, r.call(ctx), args, result, nil)
		})
		guard("BeforeModel with 20 messages", 4, func() {
			_, _ = rec.beforeModel(ctx, req)
			r.takeLLM(a)
		})
	})
}
