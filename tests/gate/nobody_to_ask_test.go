// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// Inside of an agent that runs as a tool nobody can be asked. With AgentTool every
// guarded tool denies there; in a runner of ADK's own, without plugins, every protected
// one does.
func TestAgentRunAsAToolDenies(t *testing.T) {
	cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
		for name, ours := range map[string]bool{"AgentTool": true, "agenttool.New": false} {
			if !ours && !strings.HasPrefix(w.Name, "protected") {
				continue
			}
			h := cgtest.New(t, w.Option)
			var told map[string]any
			inner := cgtest.NewAgent(t, llmagent.Config{Name: "helper", Description: "helps", Tools: h.Tools, Toolsets: h.Toolsets, Model: &adktest.Model{
				Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
					if last := adktest.LastResponse(req); last != nil {
						told = cgtest.Unstreamed(last.Response)
						return adktest.Text("not bought"), nil
					}
					return adktest.Call("buy", aRoute), nil
				},
			}})
			asTool := agenttool.New(inner, nil)
			if ours {
				asTool = h.CG.AgentTool(inner, nil)
			}
			h.Serve(caller(t, "root", "helper", map[string]any{"request": "buy"}, asTool))
			events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy"))
			h.WantBought(0)
			if len(adktest.Confirmations(events)) != 0 {
				t.Errorf("%s: a confirmation was asked for", name)
			}
			if why := told["reason"]; why != "cannot_ask" && (ours || why != "not_recorded") {
				t.Errorf("%s: the model was told %v", name, told)
			}
			cgtest.CheckTree(t, h.Rows(cgtest.SessionID))
		}
	})
}

// A node of a workflow that calls a protected tool by itself is told why it does not run.
func TestNodeThatCallsAProtectedToolDenies(t *testing.T) {
	cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
		if !strings.HasPrefix(w.Name, "protected") {
			return
		}
		h := cgtest.New(t, w.Option)
		tools := slices.Clone(h.Tools)
		for _, ts := range h.Toolsets {
			more, err := ts.Tools(nil)
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, more...)
		}
		buy := tools[len(tools)-1]
		var told []map[string]any
		node := workflow.NewFunctionNode("plan", func(ctx agent.Context, _ any) (map[string]any, error) {
			actions := &session.EventActions{}
			for _, tc := range []agent.Context{ctx, agent.NewToolContext(ctx, "call-1", actions, nil)} {
				told = append(told, callDirectly(t, buy, tc))
			}
			if len(actions.RequestedToolConfirmations) != 0 {
				t.Error("a confirmation was asked for that nobody sees")
			}
			return map[string]any{}, nil
		}, workflow.NodeConfig{})
		edges := workflow.Chain(workflow.Start, node)
		tn, err := workflow.NewToolNode(buy, workflow.NodeConfig{})
		if _, streams := buy.(streamer); streams != (err != nil) {
			t.Errorf("a tool node of a %T: %v", buy, err)
		}
		if err == nil {
			args := workflow.NewFunctionNode("args", func(agent.Context, any) (map[string]any, error) { return aRoute, nil }, workflow.NodeConfig{})
			edges = workflow.Chain(workflow.Start, node, args, tn)
		}
		cgtest.ServeWorkflow(t, h, edges, func(*runner.Config) {})
		for _, ev := range adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("go")) {
			if out, ok := ev.Output.(map[string]any); ok && len(out) > 0 && out["reason"] != nil {
				told = append(told, out)
			}
		}
		h.WantBought(0)
		if len(told) < 2 {
			t.Fatalf("told %v", told)
		}
		for _, refusal := range told {
			if refusal["reason"] != "cannot_ask" {
				t.Errorf("the node was told %v", refusal)
			}
		}
		if got := h.Approvals(cgtest.SessionID); len(got) != 0 {
			t.Errorf("approvals = %+v, want none that nobody can answer", got)
		}
	})
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
