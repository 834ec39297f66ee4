// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
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

// A model that fails ends the run with an error; the record is complete all the
// same, and the session goes on.
func TestFailedRunLeavesACompleteRecord(t *testing.T) {
	broken := true
	h := cgtest.New(t, func(o *cgtest.Options) {
		good := o.Answer
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if broken {
				return nil, errors.New("model offline")
			}
			return good(req)
		}
	})
	if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route")); err == nil {
		t.Fatal("the run did not fail")
	}
	broken = false
	id, _ := h.Ask(cgtest.SessionID)
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v, want it bought", got)
	}
	cgtest.CheckTree(t, h.Rows(cgtest.SessionID))
}

// An agent run as a tool has a session of its own with a tree of its own.
func TestRowsOfAnAgentTool(t *testing.T) {
	cg, err := contextgraph.Open(context.Background(), contextgraph.Config{
		Journal: config.Journal{Path: t.TempDir() + "/contextgraph.db"},
	}, contextgraph.WithLogger(cgtest.Quiet()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cg.Close(context.Background()), cg.Stats().Check()); err != nil {
			t.Error(err)
		}
	})
	once := func(name string, args map[string]any) *adktest.Model {
		return &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			return adktest.Call(name, args), nil
		}}
	}
	newAgent := func(name string, m model.LLM, t1 tool.Tool) agent.Agent {
		a, err := llmagent.New(llmagent.Config{Name: name, Description: name, Model: m, Tools: []tool.Tool{t1}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	count, err := functiontool.New(functiontool.Config{Name: "count"}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"n": 7}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counter := newAgent("counter", once("count", map[string]any{}), count)
	root := newAgent("root", once("counter", map[string]any{"request": "count"}), cg.AgentTool(counter, nil))
	r, err := runner.New(runner.Config{
		AppName: cgtest.App, Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range cg.Run(t.Context(), r, cgtest.User, cgtest.SessionID, adktest.UserText("go"), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cg.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	outer := events(t, cg, cgtest.Key(cgtest.SessionID))
	called := rowtest.Of(outer, record.ToolCompleted)[0]
	child := record.Session{
		App: rowtest.Field(t, called.Attributes, "adk", "child_session", "app_name").(string), User: cgtest.User,
		ID: rowtest.Field(t, called.Attributes, "adk", "child_session", "session_id").(string),
	}
	inner := events(t, cg, child)
	cgtest.CheckTree(t, outer)
	cgtest.CheckTree(t, inner)
	if len(rowtest.Of(inner, record.ToolCompleted)) != 1 || inner[0].TraceID != outer[0].TraceID {
		t.Errorf("the rows inside are %v in trace %s, want a tool call in trace %s", types(inner), inner[0].TraceID, outer[0].TraceID)
	}
	for _, s := range []record.Session{cgtest.Key(cgtest.SessionID), child} {
		if gaps, err := cgtest.JournalOf(t, cg).Gaps(t.Context(), s, nil); err != nil || len(gaps) > 0 {
			t.Errorf("gaps of %s: %q, %v; want none", s.App, gaps, err)
		}
		g, err := cg.Graph(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		nodes := g.Nodes()
		if nodes[0].Kind != graphsync.KindInvocation {
			t.Errorf("%s: the first node is %s, want the invocation", s.App, nodes[0].Kind)
		}
		for _, e := range g.Edges() {
			_, from := g.Node(e.From)
			_, to := g.Node(e.To)
			if !from || !to {
				t.Errorf("%s: edge %+v leads out of the graph", s.App, e)
			}
		}
		for _, n := range nodes[1:] {
			if !slices.ContainsFunc(g.Edges(), func(e graphsync.Edge) bool { return e.To == n.Key && e.Kind == graphsync.Contains }) {
				t.Errorf("%s: node %s %s is inside of none", s.App, n.Kind, n.Name)
			}
		}
	}
}

func events(t *testing.T, cg *contextgraph.Instance, s record.Session) []record.Event {
	t.Helper()
	rows, err := cgtest.JournalOf(t, cg).Events(t.Context(), s)
	if err != nil || len(rows) == 0 {
		t.Fatalf("events of %+v: %d, %v", s, len(rows), err)
	}
	return rows
}
