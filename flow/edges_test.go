// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// A node is tried as often as its RetryConfig says; then the edge for failures is taken, else the run ends.
func TestFailure(t *testing.T) {
	for _, c := range []struct {
		name   string
		tries  int
		edge   bool
		did    string
		failed bool
	}{
		{"the third try", 3, true, "after x x x", false},
		{"an edge", 2, true, `failed({"error":"flow: node \"x\": x is broken"}) x x`, false},
		{"no edge", 2, false, "x x", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
					calls := 0
					g.Node("x", workflow.NewFunctionNode("x", func(agent.Context, any) (string, error) {
						w.log("x")
						if calls++; calls < 3 {
							return "", errors.New("x is broken")
						}
						return "x!", nil
					}, workflow.NodeConfig{RetryConfig: &workflow.RetryConfig{MaxAttempts: c.tries, InitialDelay: time.Second}}))
					g.Node("after", done(w, "after"))
					g.Node("failed", told(w, "failed"))
					g.Edge(flow.Start, "x")
					g.Edge("x", "after")
					if c.edge {
						g.Edge("x", "failed", flow.OnFailure())
					} else {
						g.Edge("after", "failed")
					}
				})
				began := time.Now()
				_, err := w.run(adktest.UserText("go"))
				if (err != nil) != c.failed {
					t.Errorf("error %v", err)
				}
				if took, want := time.Since(began), time.Duration(c.tries-1)*time.Second; took != want {
					t.Errorf("it took %v, want %v", took, want)
				}
				if got := w.take(); !strings.HasPrefix(got, c.did) {
					t.Errorf("the nodes did %q, want %q", got, c.did)
				}
			})
		})
	}
}

// A higher priority is looked at first, and weights draw among those that hold.
func TestPriorityAndWeight(t *testing.T) {
	drawn := make(map[string]int)
	for i := range 200 {
		w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
			for _, n := range []string{"start", "low", "a", "b", "never", "first"} {
				g.Node(n, done(w, n))
			}
			g.Edge(flow.Start, "start")
			g.Edge("start", "low")
			g.Edge("start", "first", flow.Priority(9), flow.When("odd", func(flow.State) bool { return i%2 == 1 }))
			g.Edge("start", "never", flow.Priority(1), flow.Weight(9), flow.When("never", func(flow.State) bool { return false }))
			g.Edge("start", "a", flow.Priority(1), flow.Weight(1))
			g.Edge("start", "b", flow.Priority(1), flow.Weight(3), flow.When("always", always))
		})
		events, err := w.run(adktest.UserText("go"))
		if err != nil {
			t.Fatal(err)
		}
		m := events[0].CustomMetadata["flow"].(map[string]any)
		to := m["to"].(string)
		drawn[to]++
		draw, _ := m["draw"].(map[string]any)
		switch {
		case i%2 == 1 && to != "first":
			t.Fatalf("the edge to %s was taken, want the one of the highest priority", to)
		case i%2 == 0 && (draw["seed"] == "" || draw["of"] != 4.0 || (draw["drawn"].(float64) < 1) != (to == "a")):
			t.Fatalf("%v drew %s", draw, to)
		}
	}
	if drawn["a"] == 0 || drawn["b"] <= drawn["a"] || drawn["low"]+drawn["never"] > 0 {
		t.Errorf("drawn %v", drawn)
	}
}

// A step that is done again, because the process died before it was stored, draws the same edge.
func TestDrawIsRepeated(t *testing.T) {
	drawn := make(map[string]bool)
	for range 20 {
		var left atomic.Int64
		left.Store(2) // the message and the step of first
		var to []string
		w := graphWorld(t, dying{session.InMemoryService(), &left}, func(w *world, g *flow.Graph) {
			for _, n := range []string{"first", "draws", "a", "b"} {
				g.Node(n, done(w, n), flow.Idempotent())
			}
			g.Edge(flow.Start, "first")
			g.Edge("first", "draws")
			g.Edge("draws", "a", flow.Weight(1))
			g.Edge("draws", "b", flow.Weight(1))
		}, flow.Hook(func(_ agent.Context, m flow.Moment) error {
			if m.When == "edge" && m.Node == "draws" {
				to = append(to, m.To)
			}
			return nil
		}))
		if _, err := w.run(adktest.UserText("go")); !errors.Is(err, errDied) {
			t.Fatalf("error %v, want that of the process that died", err)
		}
		if did := w.take(); did != "draws first" {
			t.Fatalf("the nodes did %q before the process died", did)
		}
		left.Store(1 << 40)
		w.goOn(to[0]+" draws", nil)
		if len(to) != 2 || to[0] != to[1] {
			t.Fatalf("the step drew %q, want the same twice", to)
		}
		drawn[to[0]] = true
	}
	if len(drawn) != 2 {
		t.Errorf("20 runs drew %v, want both edges", drawn)
	}
}

// A dynamic node goes on after an answer, unless it is another one by then.
func TestDynamic(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			pick := "R"
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				g.Node("dynamic", flow.Dynamic(func(s flow.State) workflow.Node {
					switch {
					case s.Visits("after") > 0:
						return flow.FuncNode(func(_ agent.Context, in string) (string, error) { return in + "?", nil })
					case pick == "":
						return nil
					}
					return reruns(w, pick)
				}))
				g.Node("after", told(w, "after"))
				g.Edge(flow.Start, "dynamic")
				g.Edge("dynamic", "after")
				g.Edge("after", "dynamic", flow.When("once", func(s flow.State) bool { return s.Visits("after") < 2 }))
				g.End("after")
			})
			w.want(adktest.UserText("go"), "R?", nil)
			pick = "other"
			w.want(answer(pair("R-1", "x")), "", flow.ErrChanged)
			w.want(adktest.UserText("go"), "other?", nil)
			w.want(answer(pair("other-1", "x")), `after("after!?") after("x") other`, nil)
			if got := w.state("dynamic"); got != "after!?" {
				t.Errorf("the output is %v", got)
			}
			pick = ""
			if _, err := w.run(adktest.UserText("go")); err == nil || !strings.Contains(err.Error(), "returned no node") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Hooks see each boundary and edge, and may pause the run or fail a node.
func TestHook(t *testing.T) {
	var seen []string
	w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
		g.Node("a", done(w, "a"))
		g.Node("b", reruns(w, "b"))
		g.Node("c", done(w, "c"))
		g.Edge(flow.Start, "a")
		g.Edge("a", "b", flow.When("yes", always))
		g.Edge("b", "c")
	}, flow.Hook(func(_ agent.Context, m flow.Moment) error {
		seen = append(seen, fmt.Sprint(m.When, " ", m.Node, " ", m.To, m.Edge, m.Output))
		switch {
		case m.When == "after" && m.Node == "a":
			return flow.ErrPause
		case m.When == "before" && m.Node == "c":
			return errors.New("not today")
		}
		return nil
	}))
	w.want(adktest.UserText("go"), "a", nil)
	w.want(w.reply("go_on"), "b?", nil)
	_, err := w.run(answer(pair("b-1", "x")))
	if err == nil || err.Error() != `flow: node "c": not today` {
		t.Errorf("error %v", err)
	}
	want := []string{"before a <nil>", "after a a!", "edge a byes<nil>", "before b <nil>", "after b x", "edge b c<nil>", "before c <nil>"}
	if !slices.Equal(seen, want) {
		t.Errorf("the hook saw %q, want %q", seen, want)
	}
}

// Who pauses a session from outside gets a question at the next boundary of its run, and of no other.
func TestPauseFromOutside(t *testing.T) {
	var g *flow.Graph
	w := graphWorld(t, session.InMemoryService(), func(w *world, built *flow.Graph) {
		g = built
		g.Node("a", workflow.NewFunctionNode("a", func(agent.Context, any) (string, error) {
			for body, want := range map[string]int{
				`{"app":"app","user":"alice","session":"other"}`: http.StatusNoContent,
				`{"app":"app","user":"alice","session":"s1"}`:    http.StatusNoContent,
				`{"app":"app","user":"alice"}`:                   http.StatusBadRequest,
				`{"x":1}`:                                        http.StatusBadRequest,
			} {
				rec := httptest.NewRecorder()
				req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				if g.Handler().ServeHTTP(rec, req); rec.Code != want {
					t.Errorf("%s: status %d, want %d", body, rec.Code, want)
				}
			}
			w.log("a")
			return "a!", nil
		}, workflow.NodeConfig{}))
		g.Node("b", done(w, "b"))
		g.Edge(flow.Start, "a")
		g.Edge("a", "b")
	})
	w.want(adktest.UserText("go"), "a", nil)
	w.want(w.reply("go_on"), "b", nil)
	for _, kind := range []string{"", "text/plain"} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		req.Header.Set("Content-Type", kind)
		if g.Handler().ServeHTTP(rec, req); rec.Code != http.StatusUnsupportedMediaType {
			t.Errorf("type %q: status %d", kind, rec.Code)
		}
	}
	rec := httptest.NewRecorder()
	if g.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil)); rec.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", rec.Code)
	}
}

// A group pauses and is run again as a whole.
func TestPauseAtGroup(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				g.Node("a", done(w, "a"), flow.Into("list", flow.Append))
				g.Node("b", reruns(w, "b"), flow.Into("list", flow.Append))
				grouped(w, g, flow.WaitAll(), "a", "b")
			}, flow.Before("group"), flow.After("group", "a"))
			w.want(adktest.UserText("go"), "", nil)
			w.want(w.reply("go_on"), "a b?", nil)
			w.want(answer(pair("b-1", "x")), "b", nil) // a pauses
			w.want(w.reply("go_back b"), "", flow.ErrAnswer)
			w.want(w.reply("go_on"), "", nil) // the group pauses
			w.want(w.reply("rerun"), "a b?", nil)
			w.want(w.reply("go_on"), "", nil)
			w.want(answer(pair("b-1", "y")), "b", nil)
			w.want(w.reply("go_on"), `after({"a":"a!","b":"y"})`, nil)
			if got := fmt.Sprint(w.state("list")); got != "[a! y]" {
				t.Errorf("the list is %s", got)
			}
		})
	}
}

func TestTrace(t *testing.T) {
	w := graphWorld(t, session.InMemoryService(), func(w *world, g *flow.Graph) {
		inner := flow.New("inner")
		inner.Node("x", done(w, "x"))
		inner.Edge(flow.Start, "x")
		g.Node("deep", flow.Nested(inner))
		g.Node("a", done(w, "a"))
		grouped(w, g, flow.WaitAll(), "a")
		g.Edge("after", "deep")
		g.Edge("deep", "deep", flow.When("again", func(s flow.State) bool { return s.Visits("deep") < 2 }))
		g.End("deep")
	}, flow.Before("deep"))
	w.want(adktest.UserText("another run"), `a after({"a":"a!"})`, nil)
	w.want(w.reply("cancel"), "", nil)
	w.want(adktest.UserText("go"), `a after({"a":"a!"})`, nil)
	w.want(w.reply("go_on"), "x", nil)
	w.want(w.reply("go_on"), "x", nil)
	run := flow.Trace(slices.Values(w.stored()))
	want := "[group/a group after deep/x deep deep/x deep] map[after:1 deep:2 deep/x:2 group:1 group/a:1] map[a:a! after:after! deep:x! group:map[a:a!] x:x!]"
	if got := fmt.Sprint(run.Path, run.Visits, run.State); got != want {
		t.Errorf("the trace is %s, want %s", got, want)
	}
}
