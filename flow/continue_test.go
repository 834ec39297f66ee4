// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// goOn continues and checks what the nodes did, and the error.
func (w *world) goOn(did string, want error, opts ...flow.ContinueOption) error {
	w.t.Helper()
	var first error
	for _, err := range flow.Continue(w.t.Context(), w.runner(), "alice", "s1", opts...) {
		if err != nil && first == nil {
			first = err
		}
	}
	if !errors.Is(first, want) {
		w.t.Fatalf("error %v, want %v", first, want)
	}
	if got := w.take(); got != did {
		w.t.Fatalf("the nodes did %q, want %q", got, did)
	}
	return first
}

// failing is a node that fails the first time, when somebody was asked.
func failing(w *world, name string, failed *atomic.Bool) workflow.Node {
	return workflow.NewFunctionNode(name, func(ctx agent.Context, _ any) (string, error) {
		w.log("%s", name)
		for asked := failed.Load(); !asked && ctx.Err() == nil; {
			for ev := range ctx.Session().Events().All() {
				asked = asked || len(ev.LongRunningToolIDs) > 0
			}
		}
		if !failed.Swap(true) {
			return "", errors.New("the network is down")
		}
		return name + "!", nil
	}, workflow.NodeConfig{})
}

// killed returns a world whose process dies behind n stored events.
func killed(t *testing.T, n int64, build func(w *world, g *flow.Graph)) (w *world, left *atomic.Int64) {
	left = new(atomic.Int64)
	left.Store(n)
	return graphWorld(t, dying{session.InMemoryService(), left}, build), left
}

func paying(opts ...flow.NodeOption) func(w *world, g *flow.Graph) {
	return func(w *world, g *flow.Graph) {
		g.Node("a", done(w, "a"))
		g.Node("pay", done(w, "pay"), opts...)
		g.Node("b", told(w, "b"))
		g.Edge(flow.Start, "a")
		g.Edge("a", "pay")
		g.Edge("pay", "b", flow.When("paid", func(s flow.State) bool { return flow.Get[string](s, "pay") != "" }))
	}
}

func TestContinue(t *testing.T) {
	// The message and the step of a are stored; pay has run, and nobody knows.
	w, left := killed(t, 2, paying())
	w.want(adktest.UserText("go"), "a pay", errDied)
	left.Store(100)
	err := w.goOn("", flow.ErrInDoubt)
	if !strings.Contains(err.Error(), `"pay"`) {
		t.Errorf("the error does not name the node: %v", err)
	}
	w.goOn(`b("paid 5")`, nil, flow.Done("pay", "paid 5"))
	w.goOn("", flow.ErrNothingToContinue)

	w, left = killed(t, 2, paying())
	w.want(adktest.UserText("go"), "a pay", errDied)
	left.Store(100)
	w.goOn(`b("pay!") pay`, nil, flow.Again("pay"))

	w, left = killed(t, 2, paying(flow.Idempotent()))
	w.want(adktest.UserText("go"), "a pay", errDied)
	left.Store(100)
	w.goOn(`b("pay!") pay`, nil)
}

func TestNothingToContinue(t *testing.T) {
	w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
		g.Node("ask", hands(w, "A"))
		g.Edge(flow.Start, "ask")
	})
	w.goOn("", flow.ErrNothingToContinue)
	w.want(adktest.UserText("go"), "A?", nil)
	w.goOn("", flow.ErrNothingToContinue)
	w.want(answer(pair("A-1", "x")), "", nil)
	w.goOn("", flow.ErrNothingToContinue)
	w.want(adktest.UserText("go"), "A?", nil)
	w.want(answer(pair("A-1", flow.Cancel)), "", nil)
	w.goOn("", flow.ErrNothingToContinue)
}

// An answer that is stored is not asked for again after the crash.
func TestContinueBehindAnAnswer(t *testing.T) {
	w, left := killed(t, 100, func(w *world, g *flow.Graph) {
		g.Node("ask", reruns(w, "B"), flow.Idempotent())
		g.Node("c", told(w, "c"))
		g.Edge(flow.Start, "ask")
		g.Edge("ask", "c")
	})
	w.want(adktest.UserText("go"), "B?", nil)
	left.Store(1)
	w.want(answer(pair("B-1", "x")), "B", errDied)
	left.Store(100)
	w.want(answer(pair("B-1", "x")), "", flow.ErrAnswered)
	w.goOn(`B c("x")`, nil)
}

// A confirmed tool that did not run before the crash runs on, without another question.
func TestContinueBehindAConfirmation(t *testing.T) {
	w, left := killed(t, 100, func(w *world, g *flow.Graph) {
		g.Node("buy", flow.AgentNode(buyer(w, "B")))
		g.Node("c", told(w, "c"))
		g.Edge(flow.Start, "buy")
		g.Edge("buy", "c")
	})
	events := w.want(adktest.UserText("go"), "B?", nil)
	left.Store(1)
	w.want(yes(events, true), "B:buy", errDied)
	left.Store(100)
	w.goOn("", flow.ErrInDoubt)
	w.goOn(`B:buy c("Bought.")`, nil, flow.Again("buy"))
}

// An agent that begins again does not see what it did before the crash, also after a question.
func TestContinueAgent(t *testing.T) {
	w, left := killed(t, 2, func(w *world, g *flow.Graph) {
		g.Node("buy", flow.AgentNode(buyer(w, "B")))
		g.Edge(flow.Start, "buy")
	})
	w.want(adktest.UserText("go"), "B?", errDied) // the call is stored, the question is not
	left.Store(100)
	var asked []*session.Event
	for ev, err := range flow.Continue(t.Context(), w.runner(), "alice", "s1", flow.Again("buy")) {
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, ev)
	}
	if got := w.take(); got != "B?" {
		t.Fatalf("the nodes did %q", got)
	}
	w.want(yes(asked, true), "B:buy", nil)
}

// A workflow of ADK's edges goes on at all nodes that were cut off, and its join sees both.
func TestContinueWorkflow(t *testing.T) {
	var failed atomic.Bool
	w := newWorld(t, session.InMemoryService(), func(w *world) []workflow.Edge { return joined(w, hands(w, "A"), failing(w, "B", &failed)) })
	if _, err := w.run(adktest.UserText("go")); err == nil {
		t.Fatal("the node did not fail")
	}
	w.take()
	w.want(answer(pair("A-1", "a")), "", nil)
	w.goOn("", flow.ErrInDoubt)
	w.goOn(`B C({"A":"a","B":"B!"})`, nil, flow.Again("B"))
}

func TestContinueChanged(t *testing.T) {
	name := "pay"
	w, left := killed(t, 2, func(w *world, g *flow.Graph) {
		g.Node("a", done(w, "a"))
		g.Node(name, done(w, name))
		g.Edge(flow.Start, "a")
		g.Edge("a", name)
	})
	w.want(adktest.UserText("go"), "a pay", errDied)
	left.Store(100)
	name = "pay2"
	w.goOn("", flow.ErrChanged)
}

// Where the root is no flow, Continue says so.
func TestContinueNoFlow(t *testing.T) {
	w := &world{t: t, service: session.InMemoryService(), root: func(w *world) agent.Agent {
		a, err := workflowagent.New(workflowagent.Config{Name: "w", Edges: workflow.Chain(workflow.Start, done(w, "a"))})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}}
	w.goOn("a", flow.ErrNothingToContinue)
}

// An answer that is an output is not in doubt: nothing runs for it.
func TestContinueBehindAHandedAnswer(t *testing.T) {
	w, left := killed(t, 100, func(w *world, g *flow.Graph) {
		g.Node("ask", hands(w, "H"))
		g.Node("c", told(w, "c"), flow.Idempotent())
		g.Edge(flow.Start, "ask")
		g.Edge("ask", "c")
	})
	w.want(adktest.UserText("go"), "H?", nil)
	left.Store(1)
	w.want(answer(pair("H-1", "x")), "", errDied)
	left.Store(100)
	w.goOn(`c("x")`, nil)
}
