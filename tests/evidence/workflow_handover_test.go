// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What one node of a workflow hands to another stands on no edge of the graph: the plan
// of the second rests on it all the same.
func TestEvidenceHandedOnInAWorkflow(t *testing.T) {
	const handed, own = "Strava Sponsored Routes", "Reels"
	once := func(name string, args map[string]any) *adktest.Model {
		return &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("Found: " + handed), nil
			}
			return adktest.Call(name, args), nil
		}}
	}
	for name, build := range map[string]func(t *testing.T, buyer agent.Agent, search tool.Tool) []workflow.Edge{
		"output of a function": func(t *testing.T, buyer agent.Agent, _ tool.Tool) []workflow.Edge {
			find := workflow.NewFunctionNode("find", func(agent.Context, any) (map[string]any, error) {
				return map[string]any{"items": []any{map[string]any{"name": handed, "price": "$40,000"}}}, nil
			}, workflow.NodeConfig{})
			return workflow.Chain(workflow.Start, find, agentNode(t, buyer))
		},
		"branches of a dynamic node": func(t *testing.T, buyer agent.Agent, search tool.Tool) []workflow.Edge {
			finder, err := llmagent.New(llmagent.Config{Name: "finder", Model: once("search", map[string]any{"query": "handed"}), Tools: []tool.Tool{search}})
			if err != nil {
				t.Fatal(err)
			}
			find, buy := agentNode(t, finder), agentNode(t, buyer)
			lead := workflow.NewDynamicNode("lead", func(ctx agent.Context, in any, _ func(*session.Event) error) (any, error) {
				if _, err := workflow.RunNode[any](ctx, find, "find something", workflow.WithUseSubBranch()); err != nil {
					return nil, err
				}
				return workflow.RunNode[any](ctx, buy, "buy "+handed, workflow.WithUseSubBranch())
			}, workflow.NodeConfig{})
			return workflow.Chain(workflow.Start, lead)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changed atomic.Bool
			h := cgtest.New(t, cgtest.FoundByNode, cgtest.WithChecker(func(_ context.Context, e entity.Canonical) (safety.State, error) {
				price := "$40,000"
				if e.Value == handed && changed.Load() {
					price = "$52,000"
				}
				return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{"price": cgtest.Money(t, price), "availability": entity.Bool(true)}}, nil
			}))
			search := cgtest.NewTool(t, "search", func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
				if a.Query == "handed" {
					return cgtest.FoundItems(handed), nil
				}
				return cgtest.FoundItems(own), nil
			})
			buyer, err := llmagent.New(llmagent.Config{Name: "buyer", Model: h.Model, Tools: []tool.Tool{search, h.Tools[1]}})
			if err != nil {
				t.Fatal(err)
			}
			wf, err := workflowagent.New(workflowagent.Config{Name: "wf", Edges: build(t, buyer, search)})
			if err != nil {
				t.Fatal(err)
			}
			h.Serve(wf)
			id, _ := h.Ask(cgtest.SessionID)
			changed.Store(true)
			h.Answer(cgtest.SessionID, id, true)
			h.WantBought(0)
			if got := h.Approvals(cgtest.SessionID)[0]; got.State != safety.StateBlocked {
				t.Errorf("approval is %s: %s", got.State, got.Report)
			}
		})
	}
}

func agentNode(t *testing.T, a agent.Agent) workflow.Node {
	t.Helper()
	n, err := workflow.NewAgentNode(a, workflow.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
