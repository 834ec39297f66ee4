// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// inTool runs f inside a tool that is not guarded, with the context ADK gives a tool and the
// plugins in which the gate stands.
func inTool(t testing.TB, g *gate.Gate, f func(ctx agent.Context, self tool.Tool, first, last *plugin.Plugin)) {
	t.Helper()
	first, last, err := g.Plugins()
	if err != nil {
		t.Fatal(err)
	}
	var self tool.Tool
	self = must(functiontool.New(functiontool.Config{Name: "query_ad_inventory"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		f(ctx, self, first, last)
		return m{}, nil
	}))
	r := newRunner(asks("media_planner", adktest.CallsOnce(call("", "query_ad_inventory", m{})), self), plugins(g))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
}

// inventory is a tool result of about 0.8 KB.
func inventory() m {
	var placements []any
	for i := range 6 {
		placements = append(placements, m{
			"name": fmt.Sprintf("Placement number %d", i), "available": true, "price": 18000.5 + float64(i),
			"currency": "USD", "as_of": "2026-01-19T10:00:00Z", "format": "video",
		})
	}
	return m{"placements": placements, "brand": "ELF Cosmetics", "count": 6}
}

// unguardedCall makes both callbacks of the first plugin for a call of a tool that is not
// guarded.
func unguardedCall(ctx agent.Context, self tool.Tool, first *plugin.Plugin) func() {
	begin, end := first.BeforeToolCallback(), first.AfterToolCallback()
	args, result := m{"brand": "ELF Cosmetics", "limit": 6.0}, inventory()
	return func() {
		_, _ = begin(ctx, self, args)
		_, _ = end(ctx, self, args, result, nil)
	}
}

// guardedTools is a model request with n tools. Four in five are behind the gate: by name, by
// a pattern, by Protect, and as an agent that runs as a tool.
func guardedTools(n int) (*gate.Gate, *model.LLMRequest) {
	_, g := newGate(recorder.Config{Sink: rowtest.Dropped{}}, gate.Config{Settings: config.Guard{Tools: config.Tools("buy_1", "buy_6", "provision_*", "[a-c]uy_?", "*_2")}})
	req := &model.LLMRequest{Tools: make(map[string]any, n)}
	for i := range n {
		one := gives(fmt.Sprintf("%s_%d", []string{"read", "buy", "sell", "provision", "pay"}[i%5], i), nil)
		if i%5 == 4 {
			one = g.Protect(one)
		}
		req.Tools[one.Name()] = one
	}
	req.Tools["helper"] = agenttool.New(asks("helper", nil), nil)
	return g, req
}

// The goals are allocations per callback in the steady state: they are exact, where
// times are not.
func TestAllocationsPerCallback(t *testing.T) {
	if testsize.Race {
		t.Log("the race detector allocates; counted without it")
		return
	}
	guard := func(what string, goal float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(200, f); got > goal {
			t.Errorf("%s: %v allocations, want at most %v", what, got, goal)
		}
	}
	g, tools := guardedTools(20)
	inTool(t, g, func(ctx agent.Context, self tool.Tool, first, last *plugin.Plugin) {
		look := last.BeforeModelCallback()
		guard("the gate's BeforeModel with 21 tools", 0, func() { _, _ = look(ctx, tools) })
		before := last.BeforeToolCallback()
		guard("the gate's BeforeTool of an unguarded tool", 0, func() { _, _ = before(ctx, self, nil) })
		guard("BeforeTool and AfterTool of an unguarded tool", 3, unguardedCall(ctx, self, first))
	})
}
