// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	adkagent "google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	adksession "google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// flowText says in one line what the record has of the last run of a flow: the state, the nodes with how often they
// ended, * where the run is, and the edges that were taken.
func flowText(t *testing.T, h *cgtest.Harness) string {
	t.Helper()
	s, err := inspect.New(inspect.Record{Session: cgtest.Key(cgtest.SessionID), Rows: h.Rows(cgtest.SessionID)}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Flows) == 0 {
		return "no flow"
	}
	f := s.Flows[len(s.Flows)-1]
	words := []string{strings.TrimSpace(f.State+" "+f.Error) + ";"}
	for _, n := range f.Nodes {
		word := fmt.Sprint(n.Name, n.Visits)
		if n.At {
			word += "*"
		}
		for _, q := range n.Waits {
			word += "(" + q + ")"
		}
		words = append(words, word)
		if n.Visits > 0 && n.Span == "" {
			t.Errorf("the node %s has no span", n.Name)
		}
	}
	words = append(words, ";")
	for _, e := range f.Edges {
		if e.Taken > 0 {
			words = append(words, fmt.Sprintf("%s>%s:%s%d", e.From, e.To, e.Name, e.Taken))
		}
	}
	return strings.Join(words, " ")
}

// silent is a node without an output.
func silent(adkagent.Context, any) (any, error) { return nil, nil }

// asks is a node that asks a person, and has the answer as its output. It asks under another id at each visit.
func asks(name string) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx adkagent.Context, _ any, emit func(*adksession.Event) error) (any, error) {
		id := fmt.Sprintf("%s-%d", name, flow.StateOf(ctx).Visits(name)+1)
		return workflow.ResumeOrRequestInput(ctx, emit, adksession.RequestInput{InterruptID: id, Message: "Go on?"})
	}, workflow.NodeConfig{RerunOnResume: new(true)})
}

func reply(id string, value any) *genai.Content {
	return genai.NewContentFromParts([]*genai.Part{{FunctionResponse: &genai.FunctionResponse{
		ID: id, Name: workflow.WorkflowInputFunctionCallName, Response: map[string]any{"response": value},
	}}}, genai.RoleUser)
}

// TestFlows holds what rows tell of runs of flows, after each message.
func TestFlows(t *testing.T) {
	said := func(word string) flow.EdgeOption {
		return flow.When(word, func(s flow.State) bool { return flow.Get[string](s, "ask") == word })
	}
	type turn struct {
		send *genai.Content
		want string
	}
	down := true
	for name, c := range map[string]struct {
		root  func() (adkagent.Agent, error)
		turns []turn
	}{
		"graph": {func() (adkagent.Agent, error) {
			g := flow.New("g", flow.MaxIterations(5))
			g.Node("first", flow.FuncNode(silent)) // whose event holds the graph
			g.Node("ask", asks("ask"))
			g.Node("out", flow.FuncNode(silent))
			g.Edge(flow.Start, "first")
			g.Edge("first", "ask")
			g.Edge("ask", "first", said("again"))
			g.Edge("ask", "out", said("yes"))
			return g.Agent()
		}, []turn{
			{adktest.UserText("go"), "waits; first1 ask0*(Go on?) out0 ; START>first:1 first>ask:1"},
			{adktest.UserText("and?"), "waits; first1 ask0*(Go on?) out0 ; START>first:1 first>ask:1"},
			{reply("ask-1", "again"), "waits; first2 ask1*(Go on?) out0 ; START>first:1 first>ask:2 ask>first:again1"},
			{reply("ask-2", "yes"), "ended; first2 ask2 out1 ; START>first:1 first>ask:2 ask>first:again1 ask>out:yes1"},
			{adktest.UserText("go"), "waits; first1 ask0*(Go on?) out0 ; START>first:1 first>ask:1"}, // another run
			{reply("ask-1", "no"), `failed flow: no edge holds: node "ask"; first1 ask1 out0 ; START>first:1 first>ask:1`},
		}},
		"cancelled": {func() (adkagent.Agent, error) {
			g := flow.New("g")
			g.Node("ask", asks("ask"))
			g.Edge(flow.Start, "ask")
			return g.Agent()
		}, []turn{
			{adktest.UserText("go"), "waits; ask0*(Go on?) ; START>ask:1"},
			{reply("ask-1", flow.Cancel), "cancelled; ask0 ; START>ask:1"},
		}},
		"nested, and cut off": {func() (adkagent.Agent, error) {
			in := flow.New("in")
			in.Node("a", flow.FuncNode(silent))
			in.Node("b", asks("b"))
			in.Edge(flow.Start, "a")
			in.Edge("a", "b")
			g := flow.New("g")
			g.Node("deep", flow.Nested(in))
			g.Node("pay", flow.FuncNode(func(adkagent.Context, any) (any, error) {
				if down {
					return nil, errors.New("down")
				}
				return "paid", nil
			}))
			g.Edge(flow.Start, "deep")
			g.Edge("deep", "pay")
			return g.Agent()
		}, []turn{
			{adktest.UserText("go"), "waits; deep0*(Go on?) pay0 ; START>deep:1"},
			{reply("b-1", "x"), "open; deep1 pay0* ; START>deep:1 deep>pay:1"},
		}},
		"workflow": {func() (adkagent.Agent, error) {
			route := workflow.NewEmittingFunctionNode("route", func(ctx adkagent.Context, in any, emit func(*adksession.Event) error) (any, error) {
				ev := adksession.NewEvent(ctx, ctx.InvocationID())
				ev.Routes = []string{fmt.Sprint(in)}
				ev.Output = "routed"
				return nil, emit(ev)
			}, workflow.NodeConfig{})
			node := func(name string) workflow.Node { return workflow.NewFunctionNode(name, silent, workflow.NodeConfig{}) }
			a, b, join, other, end := node("a"), asks("b"), workflow.NewJoinNode("join"), node("other"), node("end")
			return flow.Agent(workflowagent.Config{Name: "w", Edges: []workflow.Edge{
				{From: workflow.Start, To: route},
				{From: route, To: a, Route: workflow.MultiRoute[string]{"both", "all"}}, {From: route, To: b, Route: workflow.StringRoute("both")},
				{From: route, To: other, Route: workflow.Default},
				{From: a, To: join}, {From: b, To: join}, {From: join, To: end},
			}})
		}, []turn{
			{adktest.UserText("both"), "waits; route1 a1 b0*(Go on?) other0 join0 end0 ; START>route:1 route>a:both all1 route>b:both1 a>join:1"},
			{reply("b-1", "x"), "ended; route1 a1 b1 other0 join1 end1 ; START>route:1 route>a:both all1 route>b:both1 a>join:1 b>join:1 join>end:1"},
			{adktest.UserText("none"), "ended; route1 a0 b0 other1 join0 end0 ; START>route:1 route>other:default1"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t)
			for i, turn := range c.turns {
				root, err := c.root()
				if err != nil {
					t.Fatal(err)
				}
				h.Serve(root)
				_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, turn.send) // its rows are the subject
				if got := flowText(t, h); got != turn.want {
					t.Errorf("turn %d:\n%s\nwant\n%s", i+1, got, turn.want)
				}
			}
		})
	}
}

// A group is one node, which has the questions of its members. One that is withdrawn is not waited for.
func TestFlowOfAGroup(t *testing.T) {
	step := func(path, id string, flow m) func(*record.Event) {
		return attributes(m{"adk": m{"node": m{"path": path}, "interrupt_id": id, "source_event_id": id}, "custom_metadata": m{"flow": flow}})
	}
	s := newScript(t).start("r")
	graph := m{"name": "g", "nodes": []string{"group", "ann", "bob"}, "edges": []m{{"from": "START", "to": "group"}}}
	s.row(record.ToolPaused, "a", "", step("g@1/group@1/ann@1", "q1", m{"run": "1", "graph": graph}))
	s.row(record.ToolPaused, "b", "", step("g@1/group@1/bob@1", "q2", m{"run": "1"}))
	look := func() inspect.Flow {
		got, err := inspect.New(inspect.Record{Session: session, Rows: s.rows}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return got.Flows[0]
	}
	if f := look(); f.State != inspect.FlowWaits || len(f.Nodes) != 1 || len(f.Nodes[0].Waits) != 2 {
		t.Errorf("before: %+v", f)
	}
	s.row(record.NodeOutput, "c", "", step("g@1/group@1", "e3", m{"run": "1", "n": 1, "withdrawn": []string{"q1", "q2"}}))
	if f := look(); f.State != inspect.FlowEnded || f.Nodes[0].Visits != 1 || f.Nodes[0].Waits != nil {
		t.Errorf("after: %+v", f)
	}
}
