// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A planner that is a delegate by transfer finds the product, transfers back, and
// the root buys it in a later turn. Why crosses both agents and turns.
func TestWhyCrossesAgentsAndTurns(t *testing.T) {
	h := cgtest.New(t)
	search := cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000", "available": true}}}, nil
	})
	buy := cgtest.NewTool(t, "buy", func(agent.Context, cgtest.BuyArgs) (map[string]any, error) {
		h.Bought.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
	planner, err := llmagent.New(llmagent.Config{Name: "planner", Description: "plans", Tools: []tool.Tool{search}, Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "search" {
				return adktest.Call("transfer_to_agent", map[string]any{"agent_name": "root"}), nil
			}
			return adktest.Call("search", map[string]any{"query": "routes"}), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	root, err := llmagent.New(llmagent.Config{Name: "root", Tools: []tool.Tool{h.CG.Protect(buy)}, SubAgents: []agent.Agent{planner}, Model: &adktest.Model{
		Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
			calls++
			switch calls {
			case 1:
				return adktest.Call("transfer_to_agent", map[string]any{"agent_name": "planner"}), nil
			case 2:
				return adktest.Text("There is one route. Shall I buy it?"), nil
			case 3:
				return adktest.Call("buy", map[string]any{"item": "Strava Sponsored Routes", "count": 1}), nil
			}
			return adktest.Text("Done."), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("find me a route"))
	events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy it"))
	confirmations := adktest.Confirmations(events)
	if len(confirmations) != 1 {
		t.Fatalf("%d confirmations, want 1; buy answered %v", len(confirmations), adktest.Responses(events, "buy"))
	}
	reasons, err := h.CG.Why(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	if len(reasons) != 1 || reasons[0].Entity.Value != "Strava Sponsored Routes" {
		t.Fatalf("Why = %+v, want the route the planner found in the turn before", reasons)
	}
	var path []string
	for _, s := range reasons[0].Path {
		path = append(path, fmt.Sprintf("%s/%s", s.Node.Agent, s.Node.Kind))
	}
	first, last := reasons[0].Path[0].Node, reasons[0].Path[len(reasons[0].Path)-1].Node
	if first.Name != "search" || first.Agent != "planner" || last.Kind != graphsync.KindHITL || first.InvocationID == last.InvocationID {
		t.Errorf("path = %v, want one from the planner's search to the request of the next turn", path)
	}
	if got := h.Answer(cgtest.SessionID, confirmations[0].ID, true); got["status"] != "bought" {
		t.Errorf("buy answered %v", got)
	}
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	// The planner's span lies in that of the agent that transferred to it.
	spans := make(map[string]record.Event)
	for _, e := range rowtest.Of(rows, record.AgentStarting) {
		spans[e.SpanID] = e
	}
	for _, e := range spans {
		if e.Agent == "planner" && spans[e.ParentSpanID].Agent != "root" {
			t.Errorf("the planner's parent span belongs to %q, want root", spans[e.ParentSpanID].Agent)
		}
	}
}

// Agents that run side by side have branches of their own; their spans do not
// cross.
func TestParallelAgentsDoNotCross(t *testing.T) {
	h := cgtest.New(t)
	var agents []agent.Agent
	for i := range 4 {
		name := fmt.Sprintf("searcher%d", i)
		search := cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"by": name}, nil
		})
		a, err := llmagent.New(llmagent.Config{Name: name, Description: name, Tools: []tool.Tool{search}, Model: &adktest.Model{
			Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if adktest.LastResponse(req) != nil {
					return adktest.Text(name), nil
				}
				return adktest.Call("search", map[string]any{"query": name}), nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	root, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: agents}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("search"))
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	owner := make(map[string]string)
	for _, e := range rowtest.Of(rows, record.AgentStarting) {
		owner[e.SpanID] = e.Agent
	}
	tools := rowtest.Of(rows, record.ToolCompleted)
	if len(tools) != len(agents) {
		t.Fatalf("%d tools completed, want %d", len(tools), len(agents))
	}
	for _, e := range tools {
		by := rowtest.Field(t, e.Content, "result", "by")
		if e.Agent != by || owner[e.ParentSpanID] != by {
			t.Errorf("the tool of %v stands under agent %q in the span of %q", by, e.Agent, owner[e.ParentSpanID])
		}
	}
}
