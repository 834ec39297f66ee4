// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
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

// BenchmarkLLMRequest is the callback before a model call with 20 messages.
func BenchmarkLLMRequest(b *testing.B) {
	for _, tools := range []int{0, 1, 20} {
		b.Run(fmt.Sprintf("tools=%d", tools), func(b *testing.B) {
			rec := newTestRecorder(b, &discard{})
			req := requestWithTools(b, 20, tools)
			inTool(b, rec, func(ctx agent.Context, _ tool.Tool) {
				r := rec.runs.lookup(ctx)
				a := r.agent(ctx.AgentName(), ctx.Branch())
				b.ReportAllocs()
				for b.Loop() {
					_, _ = rec.beforeModel(ctx, req)
					r.takeLLM(a)
				}
			})
		})
	}
}

// requestWithTools returns a request with function tools, whose schemas are those that ADK infers of
// their arguments.
func requestWithTools(t testing.TB, messages, tools int) *model.LLMRequest {
	t.Helper()
	type args struct {
		Brand     string    `json:"brand" jsonschema:"the brand to look for"`
		Audiences []string  `json:"audiences" jsonschema:"who has to be reached"`
		Budget    float64   `json:"budget" jsonschema:"in US dollars"`
		Limit     int       `json:"limit,omitempty"`
		Start     time.Time `json:"start" jsonschema:"the first day of the campaign"`
	}
	schema, err := jsonschema.For[args](nil)
	if err != nil {
		t.Fatal(err)
	}
	req := request(messages)
	var list []*genai.FunctionDeclaration
	for i := range tools {
		list = append(list, &genai.FunctionDeclaration{
			Name: fmt.Sprint("query_inventory_", i), Description: "Looks for what is free in the inventory of a publisher.", ParametersJsonSchema: schema.CloneSchemas(),
		})
	}
	if tools > 0 {
		config := genai.GenerateContentConfig{}
		if req.Config != nil {
			config = *req.Config
		}
		config.Tools = []*genai.Tool{{FunctionDeclarations: list}}
		req.Config = &config
	}
	return req
}

// The goals are allocations per callback in the steady state: they are exact, where
// times are not.
func TestAllocationsPerCallback(t *testing.T) {
	if testsize.Race {
		t.Log("the race detector allocates; counted without it")
		return
	}
	rec := newTestRecorder(t, &discard{})
	args, result := map[string]any{"brand": "ELF Cosmetics", "limit": 6.0}, inventory()
	req, tools := request(20), requestWithTools(t, 20, 20)
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
		guard("BeforeModel with 20 messages and 20 tools", 5, func() {
			_, _ = rec.beforeModel(ctx, tools)
			r.takeLLM(a)
		})
	})
}
