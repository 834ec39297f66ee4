// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"iter"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// In a runner of ADK's own, without plugins, every protected tool denies.
func TestAgentRunAsAToolDenies(t *testing.T) {
	for name, opt := range map[string]cgtest.Option{"protected": nil, "streaming": cgtest.Streamed(functiontool.Config{})} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, opt)
			buyer := caller(t, "helper", "buy", aRoute, h.Tools...)
			h.Serve(caller(t, "root", "helper", map[string]any{"request": "buy"}, agenttool.New(buyer, nil)))
			if n := len(adktest.Confirmations(adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy")))); n != 0 {
				t.Errorf("a confirmation was asked for %d times", n)
			}
			h.WantBought(0)
		})
	}
}

// A node of a workflow that calls a protected tool by itself is told why it does not run.
func TestNodeThatCallsAProtectedToolDenies(t *testing.T) {
	for name, opt := range map[string]cgtest.Option{"protected": nil, "streaming": cgtest.Streamed(functiontool.Config{})} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, opt)
			calls := 0
			node := workflow.NewFunctionNode("plan", func(ctx agent.Context, _ any) (map[string]any, error) {
				actions := &session.EventActions{}
				for _, tc := range []agent.Context{ctx, agent.NewToolContext(ctx, "call-1", actions, nil)} {
					calls++
					if told := callDirectly(t, h.Tools[1], tc); told["reason"] != "cannot_ask" || len(actions.RequestedToolConfirmations) != 0 {
						t.Errorf("the node was told %v and asks for %v", told, actions.RequestedToolConfirmations)
					}
				}
				return map[string]any{}, nil
			}, workflow.NodeConfig{})
			cgtest.ServeWorkflow(t, h, workflow.Chain(workflow.Start, node), func(*runner.Config) {})
			adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("go"))
			if h.WantBought(0); calls != 2 || len(h.Approvals(cgtest.SessionID)) != 0 {
				t.Errorf("%d calls, approvals %+v, want none that nobody can answer", calls, h.Approvals(cgtest.SessionID))
			}
		})
	}
}

type streamer interface {
	RunStream(agent.Context, any) iter.Seq2[string, error]
}

// callDirectly calls a tool as ADK does, but without ADK.
func callDirectly(t testing.TB, tl tool.Tool, ctx agent.Context) map[string]any {
	t.Helper()
	if s, ok := tl.(streamer); ok {
		for chunk, err := range s.RunStream(ctx, aRoute) {
			if err == nil {
				t.Errorf("a chunk: %q", chunk)
				continue
			}
			return cgtest.Unstreamed(map[string]any{"error": err.Error()})
		}
		return nil
	}
	result, err := tl.(interface {
		Run(agent.Context, any) (map[string]any, error)
	}).Run(ctx, aRoute)
	if err != nil {
		t.Errorf("an error in the place of a refusal: %v", err)
	}
	return result
}

func TestProtectDeniesWithoutThePlugins(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.ChangeRunner = func(rc *runner.Config) { rc.PluginConfig = runner.PluginConfig{} }
	})
	events, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if err != nil {
		t.Fatal(err)
	}
	h.WantBought(0)
	if got := adktest.Responses(events, "buy"); len(got) != 1 || got[0]["reason"] != "cannot_ask" {
		t.Errorf("buy answered %v, want a denial that says why", got)
	}
}

func TestProtectDeniesOnceClosedWithoutThePlugins(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.ChangeRunner = func(rc *runner.Config) { rc.PluginConfig = runner.PluginConfig{} }
	})
	if err := h.CG.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if err != nil {
		t.Fatal(err)
	}
	h.WantBought(0)
	if got := adktest.Responses(events, "buy"); len(got) != 1 || got[0]["reason"] != "closed" {
		t.Errorf("buy answered %v, want a denial that says contextgraph is closed", got)
	}
}
