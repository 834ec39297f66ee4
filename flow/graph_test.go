// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

func always(flow.State) bool { return true }

func pass(agent.Context, any) (string, error) { return "ok", nil }

// graphWorld is a world whose root is a graph.
func graphWorld(t testing.TB, service session.Service, build func(w *world, g *flow.Graph), opts ...flow.Option) *world {
	return &world{t: t, service: service, plain: service, root: func(w *world) agent.Agent {
		g := flow.New("g", opts...)
		build(w, g)
		a, err := g.Agent()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}}
}

// state returns a value of the session's state.
func (w *world) state(key string) any {
	if w.plain == nil {
		w.plain = w.service
	}
	resp, err := w.plain.Get(w.t.Context(), &session.GetRequest{AppName: "app", UserID: "alice", SessionID: "s1"})
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := resp.Session.State().Get(key)
	if err != nil {
		return nil
	}
	return v
}

// group adds a group behind b.
func group(g *flow.Graph, j flow.Join, members ...string) {
	g.Node("m", flow.FuncNode(pass))
	g.Parallel("p", j, members...)
	g.Edge("b", "p")
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		want  string
		build func(g *flow.Graph)
	}{
		{`the node name "" is empty`, func(g *flow.Graph) { g.Node("", flow.FuncNode(pass)) }},
		{`the node name "a/b" is empty or has one of / @ .`, func(g *flow.Graph) { g.Node("a/b", flow.FuncNode(pass)) }},
		{`no node can be named START`, func(g *flow.Graph) { g.Node(flow.Start, flow.FuncNode(pass)) }},
		{`two nodes are named "a"`, func(g *flow.Graph) { g.Node("a", flow.FuncNode(pass)) }},
		{`the node "n" is nil`, func(g *flow.Graph) { g.Node("n", nil) }},
		{`the node "n": AgentNode has no agent`, func(g *flow.Graph) { g.Node("n", flow.AgentNode(nil)) }},
		{`the node "n": ToolNode has no tool`, func(g *flow.Graph) { g.Node("n", flow.ToolNode(nil)) }},
		{`the node "n": FuncNode has no function`, func(g *flow.Graph) { g.Node("n", flow.FuncNode[any, any](nil)) }},
		{`the node "n": Nested has no graph`, func(g *flow.Graph) { g.Node("n", flow.Nested(nil)) }},
		{`the node "n": flow: mistake in the graph "inner"`, func(g *flow.Graph) { g.Node("n", flow.Nested(flow.New("inner"))) }},
		{`the node "n" is a join, but a graph runs one node at a time`, func(g *flow.Graph) { g.Node("n", workflow.NewJoinNode("n")) }},
		{`the node "g" has the name of its graph`, func(g *flow.Graph) { g.Node("g", flow.FuncNode(pass)); g.Edge("a", "g") }},
		{`End names the node "x", which there is not`, func(g *flow.Graph) { g.End("x") }},
		{`the edge "x" → "a" begins at a node that there is not`, func(g *flow.Graph) { g.Edge("x", "a") }},
		{`the edge "a" → "x" leads to a node that there is not`, func(g *flow.Graph) { g.Edge("a", "x") }},
		{`the edge from "a" leads to START`, func(g *flow.Graph) { g.Edge("a", flow.Start) }},
		{`2 edges begin at START; a graph begins at one node`, func(g *flow.Graph) { g.Edge(flow.Start, "b") }},
		{`the edge from START has a condition`, func(g *flow.Graph) { g.Edge(flow.Start, "b", flow.When("x", always)) }},
		{`the edge "a" → "b" stands behind the fallback to "b" and is never taken`, func(g *flow.Graph) {
			g.Edge("a", "b", flow.When("late", always))
		}},
		{`the condition "?" of the edge "a" → "b" has no name`, func(g *flow.Graph) { g.Edge("a", "b", flow.When("", always)) }},
		{`the condition "x" of the edge "a" → "b" has no function`, func(g *flow.Graph) { g.Edge("a", "b", flow.When("x", nil)) }},
		{`the edge "a" → "b" has more than one condition`, func(g *flow.Graph) { g.Edge("a", "b", flow.When("x", always), flow.AtCap()) }},
		{`the weight of the edge "a" → "b" is not positive`, func(g *flow.Graph) { g.Edge("a", "b", flow.Weight(0)) }},
		{`the node "n": Dynamic has no function`, func(g *flow.Graph) { g.Node("n", flow.Dynamic(nil)) }},
		{`the group "p" has the member "x", which there is not`, func(g *flow.Graph) { group(g, flow.WaitAll(), "m", "x") }},
		{`the node "m" is a member of "p" and of "p"`, func(g *flow.Graph) { group(g, flow.WaitAll(), "m", "m") }},
		{`the member "m" of the group "p" has edges of its own`, func(g *flow.Graph) { group(g, flow.WaitAll(), "m"); g.Edge("m", "b") }},
		{`the member "d" of the group "p" is a group or dynamic`, func(g *flow.Graph) {
			g.Node("d", flow.Dynamic(func(flow.State) workflow.Node { return nil }))
			group(g, flow.WaitAll(), "m", "d")
		}},
		{`the group "p" has no members`, func(g *flow.Graph) { group(g, flow.WaitAll()) }},
		{`the group "p" waits for a number of members that it does not have`, func(g *flow.Graph) { group(g, flow.WaitN(2), "m") }},
		{`the group "p" waits for a number of members that it does not have`, func(g *flow.Graph) { group(g, flow.WaitN(0), "m") }},
		{`nothing leads to the node "c"`, func(g *flow.Graph) { g.Node("c", flow.FuncNode(pass)) }},
		{`nodes not reachable from start node: "c, d"`, func(g *flow.Graph) {
			g.Node("c", flow.FuncNode(pass))
			g.Node("d", flow.FuncNode(pass))
			g.Edge("c", "d")
			g.Edge("d", "c")
		}},
	} {
		t.Run(c.want, func(t *testing.T) {
			g := flow.New("g")
			g.Node("a", flow.FuncNode(pass))
			g.Node("b", flow.FuncNode(pass))
			g.Edge(flow.Start, "a")
			g.Edge("a", "b")
			c.build(g)
			_, err := g.Agent()
			if !errors.Is(err, flow.ErrMistake) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want ErrMistake with %q", err, c.want)
			}
		})
	}
	for want, g := range map[string]*flow.Graph{
		"0 edges begin at START":                              flow.New("g"),
		`the graph name "" is empty`:                          flow.New(""),
		"MaxIterations is 0; a run needs at least one":        flow.New("g", flow.MaxIterations(0)),
		`the graph name "user" is empty, user, or has one of`: flow.New("user"),
		`a pause names the node "x", which there is not`:      flow.New("g", flow.After("x")),
	} {
		if _, err := g.Agent(); !errors.Is(err, flow.ErrMistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want ErrMistake with %q", err, want)
		}
	}
	if _, err := flow.New("g").Agent(); strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("%v", err)
	}
}

func TestNoEdge(t *testing.T) {
	build := func(end bool) func(w *world, g *flow.Graph) {
		return func(w *world, g *flow.Graph) {
			g.Node("a", done(w, "a"))
			g.Node("b", done(w, "b"))
			g.Edge(flow.Start, "a")
			g.Edge("a", "b", flow.When("never", func(flow.State) bool { return false }))
			if end {
				g.End("a")
			}
		}
	}
	w := graphWorld(t, session.InMemoryService(), build(false))
	w.want(adktest.UserText("go"), "a", flow.ErrNoEdge)
	if got := w.state("a"); got != "a!" {
		t.Errorf("the output of the node is %v", got)
	}
	w = graphWorld(t, session.InMemoryService(), build(true))
	w.want(adktest.UserText("go"), "a", nil)
}

func TestConditionPanics(t *testing.T) {
	w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
		g.Node("a", done(w, "a"))
		g.Node("b", done(w, "b"))
		g.Edge(flow.Start, "a")
		g.Edge("a", "b", flow.When("broken", func(flow.State) bool { panic("oh") }))
		g.Edge("a", "b")
	})
	_, err := w.run(adktest.UserText("go"))
	if err == nil || err.Error() != `flow: the condition "broken" of the edge "a" → "b" panicked: oh` {
		t.Errorf("error %v", err)
	}
}

// Loops are counted over the answers, and at the cap the run takes the edge for it.
func TestCap(t *testing.T) {
	build := func(capped bool) func(w *world, g *flow.Graph) {
		return func(w *world, g *flow.Graph) {
			g.Node("a", done(w, "a"))
			g.Node("ask", routes(w, "R"))
			g.Node("out", done(w, "out"))
			g.Edge(flow.Start, "a")
			g.Edge("a", "ask")
			g.Edge("ask", "a", flow.When("again", func(s flow.State) bool { return s.Output("ask") == "again" }))
			if capped {
				g.Edge("ask", "out", flow.AtCap())
			}
			g.Edge("ask", "out")
		}
	}
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), build(false), flow.MaxIterations(4))
			w.want(adktest.UserText("go"), "R? a", nil)
			w.want(answer(pair("R-1", "again")), "R R? a", nil)
			w.want(answer(pair("R-2", "again")), "R", flow.ErrMaxIterations)

			w = graphWorld(t, service(), build(true), flow.MaxIterations(4))
			w.want(adktest.UserText("go"), "R? a", nil)
			w.want(answer(pair("R-1", "again")), "R R? a", nil)
			w.want(answer(pair("R-2", "again")), "R out", nil)
		})
	}
}

// A node that hands its answer over is routed by it: ADK itself takes the default route alone.
func TestHandedAnswerIsRouted(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				g.Node("ask", hands(w, "H"), flow.Into("reply"))
				g.Node("yes", told(w, "yes"))
				g.Node("no", told(w, "no"))
				g.Edge(flow.Start, "ask")
				g.Edge("ask", "yes", flow.When("yes", func(s flow.State) bool { return flow.Get[string](s, "reply") == "yes" }))
				g.Edge("ask", "no")
			})
			w.want(adktest.UserText("go"), "H?", nil)
			w.want(answer(pair("H-1", "yes")), `yes("yes")`, nil)
			w.want(answer(pair("H-1", "yes")), "", flow.ErrAnswered)
			w.want(adktest.UserText("go"), "H?", nil)
			w.want(answer(pair("H-1", "nay")), `no("nay")`, nil)
		})
	}
}

// A nested graph goes on at its own level, in each of its iterations.
func TestNested(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				deep := flow.New("deep")
				deep.Node("d", done(w, "d"))
				deep.Node("ask", routes(w, "R"))
				deep.Edge(flow.Start, "d")
				deep.Edge("d", "ask")
				inner := flow.New("inner")
				inner.Node("i", done(w, "i"))
				inner.Node("deep", flow.Nested(deep))
				inner.Node("j", told(w, "j"))
				inner.Edge(flow.Start, "i")
				inner.Edge("i", "deep")
				inner.Edge("deep", "j")
				g.Node("inner", flow.Nested(inner))
				g.Node("z", told(w, "z"))
				g.Edge(flow.Start, "inner")
				g.Edge("inner", "inner", flow.When("again", func(s flow.State) bool { return s.Output("ask") == "again" }))
				g.Edge("inner", "z")
			})
			w.want(adktest.UserText("go"), "R? d i", nil)
			w.want(answer(pair("R-1", "again")), `R R? d i j("again")`, nil)
			w.want(answer(pair("R-1", "again")), "", flow.ErrAnswered)
			w.want(answer(pair("R-2", "ok")), `R j("ok") z("j!")`, nil)
			w.want(answer(pair("R-2", "ok")), "", flow.ErrAnswered)
		})
	}
}

// The state that conditions and nodes read.
func TestState(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				g.Node("n", flow.FuncNode(func(agent.Context, any) (int, error) { return 7, nil }), flow.Into("number"))
				g.Node("ask", reruns(w, "B"))
				g.Node("m", flow.FuncNode(func(agent.Context, any) (string, error) { return `{"a": 1}`, nil }),
					flow.Map(func(out any, s flow.State) map[string]any {
						return map[string]any{"x": out, "sum": flow.Get[int](s, "number") + 1}
					}))
				g.Node("z", flow.FuncNode(func(ctx agent.Context, _ any) (string, error) {
					s := flow.StateOf(ctx)
					w.log("%v %d %d %v %v %v", s.Input(), s.Iteration(), s.Visits("m"), s.Path(), flow.Get[map[string]int](s, "x"), s.Output("n"))
					return "", nil
				}))
				g.Edge(flow.Start, "n")
				g.Edge("n", "ask")
				g.Edge("ask", "m")
				g.Edge("m", "z", flow.When("eight", func(s flow.State) bool { return flow.Get[int](s, "sum") == 8 && flow.Get[string](s, "none") == "" }))
			})
			w.want(adktest.UserText("go"), "B?", nil)
			events := w.want(answer(pair("B-1", "x")), "B go 3 1 [n ask m] map[a:1] 7", nil)
			if got := events[len(events)-2].CustomMetadata["flow"].(map[string]any)["read"].(map[string]any); got["sum"] != 8 {
				t.Errorf("the record of the edge has %v", got)
			}
		})
	}
}

// ADK's retries count for a node of a graph, and its error names the node.
func TestRetries(t *testing.T) {
	for tries, want := range map[int]string{3: "a a a b", 2: "a a"} {
		calls := 0
		w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
			g.Node("a", workflow.NewFunctionNode("", func(agent.Context, any) (string, error) {
				w.log("a")
				if calls++; calls < 3 {
					return "", errors.New("down")
				}
				return "ok", nil
			}, workflow.NodeConfig{RetryConfig: &workflow.RetryConfig{MaxAttempts: tries}}))
			g.Node("b", done(w, "b"))
			g.Edge(flow.Start, "a")
			g.Edge("a", "b")
		})
		_, err := w.run(adktest.UserText("go"))
		if got := w.take(); got != want || (tries == 3) != (err == nil) || err != nil && err.Error() != `flow: node "a": down` {
			t.Errorf("%d tries: the nodes did %q, error %v", tries, got, err)
		}
	}
}
