// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

func (h *harness) serve(root agent.Agent, others ...*plugin.Plugin) {
	h.t.Helper()
	r, err := runner.New(runner.Config{
		AppName: app, Agent: root, SessionService: h.sessions, PluginConfig: h.cg.PluginConfig(others...), AutoCreateSession: true,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.runner = r
}

func mustTool[A, R any](t testing.TB, name string, f functiontool.Func[A, R]) tool.Tool {
	t.Helper()
	tl, err := functiontool.New(functiontool.Config{Name: name, Description: name}, f)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// A planner that is a delegate by transfer finds the product, transfers back, and
// the root buys it in a later turn. Why crosses both agents and turns.
func TestWhyCrossesAgentsAndTurns(t *testing.T) {
	h := newHarness(t)
	search := mustTool(t, "search", func(agent.Context, searchArgs) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000", "available": true}}}, nil
	})
	buy := mustTool(t, "buy", func(agent.Context, buyArgs) (map[string]any, error) {
		h.bought.Add(1)
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
	root, err := llmagent.New(llmagent.Config{Name: "root", Tools: []tool.Tool{h.cg.Protect(buy)}, SubAgents: []agent.Agent{planner}, Model: &adktest.Model{
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
	h.serve(root)
	adktest.Run(t, h.runner, user, sess, adktest.UserText("find me a route"))
	events := adktest.Run(t, h.runner, user, sess, adktest.UserText("buy it"))
	confirmations := adktest.Confirmations(events)
	if len(confirmations) != 1 {
		t.Fatalf("%d confirmations, want 1; buy answered %v", len(confirmations), adktest.Responses(events, "buy"))
	}
	reasons, err := h.cg.Why(t.Context(), key(sess))
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
	if got := h.answer(sess, confirmations[0].ID, true); got["status"] != "bought" {
		t.Errorf("buy answered %v", got)
	}
	rows := h.rows(sess)
	checkTree(t, rows)
	// The planner's span lies in that of the agent that transferred to it.
	spans := make(map[string]schema.Event)
	for _, e := range rowsOf(rows, schema.AgentStarting) {
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
	h := newHarness(t)
	var agents []agent.Agent
	for i := range 4 {
		name := fmt.Sprintf("searcher%d", i)
		search := mustTool(t, "search", func(agent.Context, searchArgs) (map[string]any, error) {
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
	h.serve(root)
	adktest.Run(t, h.runner, user, sess, adktest.UserText("search"))
	rows := h.rows(sess)
	checkTree(t, rows)
	owner := make(map[string]string)
	for _, e := range rowsOf(rows, schema.AgentStarting) {
		owner[e.SpanID] = e.Agent
	}
	tools := rowsOf(rows, schema.ToolCompleted)
	if len(tools) != len(agents) {
		t.Fatalf("%d tools completed, want %d", len(tools), len(agents))
	}
	for _, e := range tools {
		by := get(t, e.Content, "result", "by")
		if e.Agent != by || owner[e.ParentSpanID] != by {
			t.Errorf("the tool of %v stands under agent %q in the span of %q", by, e.Agent, owner[e.ParentSpanID])
		}
	}
}

// A model that fails ends the run with an error; the record is complete all the
// same, and the session goes on.
func TestFailedRunLeavesACompleteRecord(t *testing.T) {
	broken := true
	h := newHarness(t, func(o *options) {
		good := o.answer
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if broken {
				return nil, errors.New("model offline")
			}
			return good(req)
		}
	})
	if _, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("buy a route")); err == nil {
		t.Fatal("the run did not fail")
	}
	broken = false
	id, _ := h.ask(sess)
	if got := h.answer(sess, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v, want it bought", got)
	}
	checkTree(t, h.rows(sess))
}

// What is found between a request and its answer is not what the request rests on.
func TestEntitiesAfterTheRequestDoNotCount(t *testing.T) {
	h := newHarness(t, func(o *options) {
		shop := o.answer
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := adktest.LastResponse(req)
			var said string
			for _, c := range req.Contents {
				if c.Role == genai.RoleUser && len(c.Parts) > 0 && c.Parts[0].Text != "" {
					said = c.Parts[0].Text
				}
			}
			if said == "just look" {
				if last != nil && last.Name == "search" {
					return adktest.Text("Found more."), nil
				}
				if last == nil {
					return adktest.Call("search", map[string]any{"query": "more"}), nil
				}
			}
			return shop(req)
		}
		o.search = func(_ agent.Context, a searchArgs) (map[string]any, error) {
			name := "Strava Sponsored Routes"
			if a.Query == "more" {
				name = "Something Else"
			}
			return map[string]any{"items": []any{map[string]any{"name": name, "price": "$40,000", "available": true}}}, nil
		}
	})
	id, _ := h.ask(sess)
	adktest.Run(t, h.runner, user, sess, adktest.UserText("just look"))
	g, err := h.cg.Graph(t.Context(), key(sess))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(g.Canonical()); n != 2 {
		t.Fatalf("%d entities in the session, want 2", n)
	}
	report, err := h.cg.Check(t.Context(), key(sess))
	if err != nil {
		t.Fatal(err)
	}
	if n := report.TotalEntities(); n != 1 {
		t.Errorf("the approval rests on %d entities, want the one that was found before", n)
	}
	h.answer(sess, id, true)
	h.wantBought(1)
}

func TestCheckSummary(t *testing.T) {
	h := newHarness(t)
	h.ask(sess)
	report, err := h.cg.Check(t.Context(), key(sess))
	if err != nil {
		t.Fatal(err)
	}
	want := "World Change Report - Session: s1\n  Entities checked : 1\n  Stale entities   : 0\n  Safe to approve  : true\n"
	if got := report.Summary(); got != want {
		t.Errorf("Summary() =\n%s\nwant\n%s", got, want)
	}
	checks := rowsOf(h.rows(sess), schema.WorldChangeCheck)
	if len(checks) != 1 || get(t, checks[0].Content, "verdict") != "safe" {
		t.Errorf("%d verdicts are recorded, want the one that is safe", len(checks))
	}
	// A check that belongs to no run does not make the record incomplete.
	report, err = h.cg.Check(t.Context(), key(sess))
	if err != nil || !report.IsSafeToApprove() {
		t.Errorf("second check: %v, %v", report.Summary(), err)
	}
	// Nothing is known of a session that never was.
	report, err = h.cg.Check(t.Context(), key("no such session"))
	if err != nil || report.IsSafeToApprove() || !report.CheckFailed() {
		t.Errorf("check of an unknown session: %v, %v", report.Summary(), err)
	}
}
