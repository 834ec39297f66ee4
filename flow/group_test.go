// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// grouped is a graph of a group and a node behind it that tells its input.
func grouped(w *world, g *flow.Graph, j flow.Join, members ...string) {
	g.Parallel("group", j, members...)
	g.Node("after", told(w, "after"))
	g.Edge(flow.Start, "group")
	g.Edge("group", "after")
}

// A group waits for a member that asks a person; the others are not run again.
func TestGroupWaitsForAnAnswer(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				g.Node("a", done(w, "a"))
				g.Node("b", reruns(w, "b"))
				g.Node("c", hands(w, "c"))
				grouped(w, g, flow.WaitAll(), "a", "b", "c")
			})
			w.want(adktest.UserText("go"), "a b? c?", nil)
			if got := said(w.want(adktest.UserText("yes"), "", nil)); !strings.Contains(got, "b-1") || !strings.Contains(got, "c-1") {
				t.Errorf("the flow says %q, want both questions", got)
			}
			w.want(answer(pair("b-1", "x")), "b", nil)
			w.want(answer(pair("b-1", "x")), "", flow.ErrAnswered)
			w.want(answer(pair("c-1", "y")), `after({"a":"a!","b":"x","c":"y"})`, nil)
			w.want(answer(pair("c-1", "y")), "", flow.ErrAnswered)
			if got := fmt.Sprintf("%v %v %v %v", w.state("a"), w.state("b"), w.state("c"), w.state("group")); got != "a! x y map[a:a! b:x c:y]" {
				t.Errorf("the state is %s", got)
			}
		})
	}
}

// obedient is a node that works for a time, unless it is cancelled.
func obedient(w *world, name string, d time.Duration) workflow.Node {
	return workflow.NewFunctionNode(name, func(ctx agent.Context, _ any) (string, error) {
		select {
		case <-time.After(d):
			w.log("%s", name)
			return name + "!", nil
		case <-ctx.Done():
			w.log("-%s", name)
			return "", ctx.Err()
		}
	}, workflow.NodeConfig{})
}

// deaf is a node that does not listen to its context. It emits two events when its time is over.
type deaf struct {
	workflow.BaseNode
	w *world
	d time.Duration
}

func newDeaf(w *world, name string, d time.Duration) workflow.Node {
	return &deaf{workflow.NewBaseNode(name, "", workflow.NodeConfig{}), w, d}
}

func (n *deaf) Run(ctx agent.Context, _ any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		time.Sleep(n.d)
		n.w.log("%s", n.Name())
		flow.StateOf(ctx).Path()
		if yield(session.NewEvent(ctx, ctx.InvocationID()), nil) {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Output = n.Name() + "!"
			yield(ev, nil)
		}
	}
}

// Those that nobody waits for are cancelled; the outputs of the others are those of the group.
func TestGroupLosers(t *testing.T) {
	for _, c := range []struct {
		join flow.Join
		did  string
	}{
		{flow.WaitAny(), `-b -c a after({"a":"a!"})`},
		{flow.WaitN(2), `-c a after({"a":"a!","b":"b!"}) b`},
		{flow.WaitAll(), `a after({"a":"a!","b":"b!","c":"c!"}) b c`},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
				g.Node("c", obedient(w, "c", 3*time.Second))
				g.Node("b", obedient(w, "b", 2*time.Second))
				g.Node("a", obedient(w, "a", time.Second))
				grouped(w, g, c.join, "c", "b", "a")
			})
			w.want(adktest.UserText("go"), c.did, nil)
		})
	}
}

var lateRounds = flag.Int("late-rounds", 30, "how often TestGroupLateLosers plays")

// A loser that does not listen is left behind after five seconds, and what it does then is refused and counted.
func TestGroupLateLosers(t *testing.T) {
	for seed := range *lateRounds {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			times := []time.Duration{0, time.Duration(r.IntN(6000)) * time.Millisecond, time.Duration(r.IntN(12000)) * time.Millisecond}
			var late atomic.Int64
			w := graphWorld(t, carry{session.InMemoryService()}, func(w *world, g *flow.Graph) {
				for i, d := range times {
					g.Node(fmt.Sprint("m", i), newDeaf(w, "m", d))
				}
				grouped(w, g, flow.WaitAny(), "m0", "m1", "m2")
			}, flow.Hook(func(_ agent.Context, m flow.Moment) error {
				if m.When == "late" {
					late.Add(1)
				}
				return nil
			}))
			began := time.Now()
			if _, err := w.run(adktest.UserText("go")); err != nil {
				t.Fatal(err)
			}
			if took, last := time.Since(began), slices.Max(times); took != min(last, 5*time.Second) {
				t.Errorf("seed %d: the run took %v, want %v or five seconds", seed, took, last)
			}
			time.Sleep(20 * time.Second)
			winners := w.state("group").(map[string]any)
			if len(winners) != 1 || w.state("after") != "after!" {
				t.Errorf("seed %d: the winners are %v, and %v is behind them", seed, winners, w.state("after"))
			}
			// Of a member that ends at the very moment of the winner, an event may have come in time.
			if n := late.Load(); n < 3 || n > 4 || times[1] > 0 && times[2] > 0 && n != 4 {
				t.Errorf("seed %d: %d late events, want 4", seed, n)
			}
		})
	}
}

// An answer decides a group, and what the others have asked is withdrawn. Another process and another answer change
// nothing.
func TestGroupWithdraws(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				g.Node("a", reruns(w, "a"))
				g.Node("b", hands(w, "b"))
				g.Node("c", done(w, "c"))
				g.Node("d", flow.AgentNode(buyer(w, "d")))
				grouped(w, g, flow.WaitN(2), "a", "b", "c", "d")
			})
			events := w.want(adktest.UserText("go"), "a? b? c d?", nil)
			w.want(answer(pair("b-1", "x")), `after({"b":"x","c":"c!"})`, nil)
			for _, id := range []string{"a-1", "b-1"} {
				w.want(answer(pair(id, "y")), "", flow.ErrAnswered)
			}
			w.want(yes(events, true), "", flow.ErrAnswered)
			events = w.want(adktest.UserText("go"), "a? b? c d?", nil) // another run: nothing of the first one is left
			w.want(yes(events, true), `after({"c":"c!","d":"Bought."}) d:buy`, nil)
		})
	}
}

func TestGroupFailures(t *testing.T) {
	broken := func(w *world, name string) workflow.Node {
		return workflow.NewFunctionNode(name, func(agent.Context, any) (string, error) {
			w.log("%s", name)
			return "", fmt.Errorf("%s is broken", name)
		}, workflow.NodeConfig{})
	}
	for _, c := range []struct {
		name    string
		join    flow.Join
		members string
		did     string
		failed  string // what the error says; "" for none
	}{
		{"fail fast", flow.WaitAll(), "x a", "-a x", "x is broken"},
		{"any fails fast", flow.WaitAny(), "x a", "-a x", "x is broken"},
		{"collect", flow.WaitAll(flow.OnError(flow.Collect)), "x y a", "a x y", "y is broken"},
		{"collect, and enough are left", flow.WaitN(1, flow.OnError(flow.Collect)), "x y a", `a after({"a":"a!"}) x y`, ""},
		{"collect, and too few are left", flow.WaitN(2, flow.OnError(flow.Collect)), "x y a", "a x y", "x is broken"},
		{"ignore", flow.WaitAll(flow.OnError(flow.Ignore)), "x y a", `a after({"a":"a!"}) x y`, ""},
		{"ignore, and none is left", flow.WaitAny(flow.OnError(flow.Ignore)), "x y", "x y", "y is broken"},
		{"ignore, and one asks", flow.WaitAll(flow.OnError(flow.Ignore)), "x q", `after({"q":"!"}) q q? x`, ""},
		{"a panic", flow.WaitAll(), "p a", "-a", "panicked: oh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := graphWorld(t, carry{session.InMemoryService()}, func(w *world, g *flow.Graph) {
					nodes := map[string]workflow.Node{
						"x": broken(w, "x"), "y": broken(w, "y"), "a": obedient(w, "a", time.Second), "q": reruns(w, "q"),
						"p": flow.FuncNode(func(agent.Context, any) (any, error) { panic("oh") }),
					}
					members := strings.Fields(c.members)
					for _, m := range members {
						g.Node(m, nodes[m])
					}
					grouped(w, g, c.join, members...)
				})
				_, err := w.run(adktest.UserText("go"))
				if strings.Contains(c.members, "q") {
					_, err = w.run(answer(pair("q-1", "!")))
				}
				if (err == nil) != (c.failed == "") || err != nil && !strings.Contains(err.Error(), c.failed) {
					t.Errorf("error %v, want one with %q", err, c.failed)
				}
				if got := w.take(); got != c.did {
					t.Errorf("the nodes did %q, want %q", got, c.did)
				}
			})
		})
	}
}

// The outputs go to the state in the order of the members, and an iteration reads nothing of the one before.
func TestReducers(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				visit := func(ctx agent.Context) int { return flow.StateOf(ctx).Visits("group") + 1 }
				node := func(name string, out func(visit int) any, opts ...flow.NodeOption) {
					g.Node(name, flow.FuncNode(func(ctx agent.Context, _ any) (any, error) { return out(visit(ctx)), nil }), opts...)
				}
				node("list", func(v int) any { return []any{"l", v} }, flow.Into("all", flow.Append))
				node("one", func(v int) any { return v }, flow.Into("all", flow.Append))
				node("sum", func(v int) any { return v }, flow.Into("sum", flow.Sum))
				node("more", func(v int) any { return 10 * v }, flow.Into("sum", flow.Sum))
				node("map", func(v int) any { return map[string]any{"a": v, fmt.Sprint(v): true} }, flow.Into("map", flow.Merge))
				node("last", func(v int) any { return v }, flow.Into("last", flow.Last))
				node("own", func(v int) any { return v }, flow.Into("own", func(before, out any) any { return fmt.Sprint(before, "+", out) }))
				g.Node("ask", routes(w, "ask"))
				g.Node("after", told(w, "after"))
				g.Parallel("group", flow.WaitAll(), "one", "list", "more", "sum", "map", "last", "own", "ask")
				g.Edge(flow.Start, "group")
				g.Edge("group", "group", flow.When("again", func(s flow.State) bool { return s.Visits("group") < 2 }))
				g.Edge("group", "after")
			})
			w.want(adktest.UserText("go"), "ask?", nil)
			w.want(answer(pair("ask-1", "x")), "ask ask?", nil)
			w.want(answer(pair("ask-2", "y")), `after({"ask":"y","last":2,"list":["l",2],"map":{"2":true,"a":2},"more":20,"one":2,"own":2,"sum":2}) ask`, nil)
			got := fmt.Sprintf("%v %v %v %v %v", w.state("all"), w.state("sum"), w.state("map"), w.state("last"), w.state("own"))
			if want := "[1 l 1 2 l 2] 33 map[1:true 2:true a:2] 2 <nil>+1+2"; got != want {
				t.Errorf("the state is %s, want %s", got, want)
			}
		})
	}
	w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
		g.Node("a", done(w, "a"), flow.Into("sum", flow.Sum))
		g.Edge(flow.Start, "a")
	})
	if _, err := w.run(adktest.UserText("go")); err == nil || err.Error() != "flow: the reducer of the node a panicked: Sum: string is no number" {
		t.Errorf("error %v", err)
	}
}
