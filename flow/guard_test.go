// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A guarded is a shop in which a flow reads a price and buys with a protected tool. Each turn has its own runner and
// graph.
type guarded struct {
	*cgtest.Harness
	build func(g *guarded) agent.Agent
	after []string // the inputs of the node behind the purchase
}

func (g *guarded) ask(t *testing.T) []*session.Event {
	t.Helper()
	g.Serve(g.build(g))
	events, err := adktest.TryRun(t.Context(), g.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(adktest.Confirmations(events)); n != 1 {
		t.Fatalf("%d requests, want one; events %v", n, events)
	}
	return events
}

// reply answers the request of the events.
func (g *guarded) reply(t *testing.T, events []*session.Event, confirmed bool) ([]*session.Event, error) {
	t.Helper()
	g.Serve(g.build(g))
	return adktest.TryRun(t.Context(), g.Runner, cgtest.User, cgtest.SessionID, yes(events, confirmed))
}

// agents are the nodes read and buy as LLM agents, tools as calls of the tools alone.
func (g *guarded) agents() (read, buy workflow.Node) {
	node := func(name string, tool int, first *model.LLMResponse) workflow.Node {
		m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil {
				if last.Name == "buy" && last.Response["status"] != "bought" {
					return adktest.Text("Not bought."), nil
				}
				return adktest.Text("Did " + last.Name + "."), nil
			}
			c := *first.Content.Parts[0].FunctionCall
			return adktest.Calls(&c), nil
		}}
		return flow.AgentNode(cgtest.NewAgent(g.T, llmagent.Config{Name: name, Model: m, Tools: g.Tools[tool : tool+1 : tool+1]}))
	}
	return node("reader", 0, adktest.Call("search", map[string]any{"query": "routes"})),
		node("buyer", 1, adktest.Call("buy", cgtest.SameArgs(0)))
}

func (g *guarded) tools() (read, buy workflow.Node) {
	return flow.ToolNode(g.Tools[0]), flow.ToolNode(g.Tools[1])
}

// shopping is a graph that reads and buys. The edges are those of the node that buys.
func (g *guarded) shopping(nodes func() (read, buy workflow.Node), edges func(*flow.Graph)) agent.Agent {
	read, buy := nodes()
	f := flow.New("shopping")
	f.Node("query", flow.FuncNode(func(agent.Context, any) (map[string]any, error) { return map[string]any{"query": "routes"}, nil }))
	f.Node("read", read)
	f.Node("order", flow.FuncNode(func(agent.Context, any) (map[string]any, error) { return cgtest.SameArgs(0), nil }))
	f.Node("buy", buy)
	f.Node("after", flow.FuncNode(func(agent.Context, any) (string, error) { g.after = append(g.after, "after"); return "ok", nil }))
	f.Edge(flow.Start, "query")
	f.Edge("query", "read")
	f.Edge("read", "order")
	f.Edge("order", "buy")
	edges(f)
	a, err := f.Agent()
	if err != nil {
		g.T.Fatal(err)
	}
	return a
}

func newGuarded(t *testing.T, build func(g *guarded) agent.Agent) *guarded {
	return &guarded{Harness: cgtest.New(t), build: build}
}

// forms are the ways in which the shop is a flow.
func forms(edges func(*flow.Graph)) map[string]func(g *guarded) agent.Agent {
	return map[string]func(g *guarded) agent.Agent{
		"agents": func(g *guarded) agent.Agent { return g.shopping(g.agents, edges) },
		"tools":  func(g *guarded) agent.Agent { return g.shopping(g.tools, edges) },
		"below an agent": func(g *guarded) agent.Agent {
			inner := g.shopping(g.tools, edges)
			return cgtest.NewAgent(g.T, llmagent.Config{Name: "root", Mode: llmagent.ModeChat, SubAgents: []agent.Agent{inner},
				Model: &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
					return adktest.Call("transfer_to_agent", map[string]any{"agent_name": "shopping"}), nil
				}}})
		},
	}
}

func onward(f *flow.Graph) { f.Edge("buy", "after") }

func repaired(f *flow.Graph) {
	f.Edge("buy", "query", flow.RefusedFor("drift"))
	f.Edge("buy", "after")
}

func TestGuardedSafe(t *testing.T) {
	for name, build := range forms(onward) {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, build)
			events := g.ask(t)
			if _, err := g.reply(t, events, true); err != nil {
				t.Fatal(err)
			}
			g.WantBought(1)
			g.WantStates(safety.StateExecuted)
			if _, err := g.reply(t, events, true); err == nil {
				t.Error("the same answer again was accepted")
			}
			g.WantBought(1)
			g.WantStates(safety.StateExecuted)
			if len(g.after) != 1 {
				t.Errorf("the node behind the purchase ran %d times, want once", len(g.after))
			}
		})
	}
}

// What drifted is not bought, and a run does not go on behind a purchase that was blocked.
func TestGuardedDrift(t *testing.T) {
	for name, build := range forms(onward) {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, build)
			events := g.ask(t)
			g.Shop.Set("$52,000", true)
			if _, err := g.reply(t, events, true); !errors.Is(err, flow.ErrRefused) || !strings.Contains(err.Error(), `"buy": drift`) {
				t.Errorf("error %v, want ErrRefused with the node and the reason", err)
			}
			g.WantBought(0)
			g.WantStates(safety.StateBlocked)
			if len(g.after) != 0 {
				t.Error("the run went on behind a blocked purchase")
			}
		})
	}
}

// The edge for a refusal reads again, asks anew and buys at the new price.
func TestGuardedRepair(t *testing.T) {
	for name, build := range forms(repaired) {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, build)
			events := g.ask(t)
			g.Shop.Set("$52,000", true)
			again, err := g.reply(t, events, true)
			if err != nil {
				t.Fatal(err)
			}
			g.WantBought(0)
			if n := len(adktest.Confirmations(again)); n != 1 {
				t.Fatalf("%d requests after the drift, want one", n)
			}
			if _, err := g.reply(t, again, true); err != nil {
				t.Fatal(err)
			}
			g.WantBought(1)
			g.WantStates(safety.StateBlocked, safety.StateExecuted)
			if _, err := g.reply(t, events, true); err == nil {
				t.Error("the first answer again was accepted")
			}
			if len(g.after) != 1 {
				t.Errorf("the node behind the purchase ran %d times, want once", len(g.after))
			}
		})
	}
}

// A person's no takes the edge for refusals, and no other.
func TestGuardedRejected(t *testing.T) {
	for name, build := range forms(func(f *flow.Graph) {
		f.Edge("buy", "query", flow.RefusedFor("drift"))
		f.Edge("buy", "no", flow.Refused)
		f.Edge("buy", "after")
		f.Node("no", flow.FuncNode(func(ctx agent.Context, in any) (string, error) { return "no", nil }))
	}) {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, build)
			events, err := g.reply(t, g.ask(t), false)
			if err != nil {
				t.Fatal(err)
			}
			if last := events[len(events)-1]; last.Output != "no" {
				t.Errorf("the last output is %v, want that of the node no", last.Output)
			}
			g.WantBought(0)
			g.WantStates(safety.StateRejected)
		})
	}
}

// A workflow of ADK's edges ends behind a blocked purchase too.
func TestGuardedWorkflow(t *testing.T) {
	for _, price := range []string{"$40,000", "$52,000"} {
		t.Run(price, func(t *testing.T) {
			g := newGuarded(t, func(g *guarded) agent.Agent {
				read, buy := g.agents()
				after := workflow.NewFunctionNode("after", func(agent.Context, any) (string, error) { g.after = append(g.after, "after"); return "ok", nil }, workflow.NodeConfig{})
				a, err := flow.Agent(workflowagent.Config{Name: "w", Edges: workflow.Chain(workflow.Start, read, buy, after)})
				if err != nil {
					t.Fatal(err)
				}
				return a
			})
			events := g.ask(t)
			g.Shop.Set(price, true)
			_, err := g.reply(t, events, true)
			if safe := price == "$40,000"; safe && (err != nil || len(g.after) != 1) {
				t.Errorf("safe: error %v, %d nodes behind it", err, len(g.after))
			} else if !safe && (!errors.Is(err, flow.ErrRefused) || len(g.after) != 0) {
				t.Errorf("drift: error %v, %d nodes behind it", err, len(g.after))
			}
			if price == "$40,000" {
				return
			}
			for _, err = range flow.Continue(t.Context(), g.Runner, cgtest.User, cgtest.SessionID) {
			}
			if !errors.Is(err, flow.ErrInDoubt) || !strings.Contains(err.Error(), `"buyer"`) || len(g.after) != 0 {
				t.Errorf("continued: error %v, %d nodes behind it", err, len(g.after))
			}
		})
	}
}

// The rows of a run say its steps and edges.
func TestRows(t *testing.T) {
	g := newGuarded(t, forms(repaired)["tools"])
	events := g.ask(t)
	g.Shop.Set("$52,000", true)
	if _, err := g.reply(t, events, true); err != nil {
		t.Fatal(err)
	}
	var edges []string
	graphs := 0
	for _, row := range g.Rows(cgtest.SessionID) {
		var a struct {
			Metadata struct {
				Flow struct {
					To, Edge string
					Graph    map[string]any
				}
			} `json:"custom_metadata"`
		}
		if err := json.Unmarshal(row.Attributes, &a); err != nil {
			t.Fatal(err)
		}
		if f := a.Metadata.Flow; row.EventType == record.NodeOutput {
			edges = append(edges, strings.TrimSpace(f.To+" "+f.Edge))
			if f.Graph["name"] == "shopping" {
				graphs++
			}
		}
	}
	want := []string{"read", "order", "buy", "query refused for drift", "read", "order", "buy"}
	if !slices.Equal(edges, want) || graphs != 1 {
		t.Errorf("the rows have the edges %q and %d graphs, want %q and one", edges, graphs, want)
	}
}

// An input that contextgraph guards is guarded in a flow too: what drifted is not taken, and the question stays open.
func TestGuardedInput(t *testing.T) {
	for _, price := range []string{"$40,000", "$52,000"} {
		t.Run(price, func(t *testing.T) {
			w := &cgtest.Workflow{Harness: cgtest.New(t, cgtest.FoundByNode, cgtest.GuardInputs("review"))}
			serve := func() {
				f := flow.New("shopping")
				f.Node("find", flow.FuncNode(func(agent.Context, any) (map[string]any, error) {
					price, _ := w.Shop.Get()
					return map[string]any{"items": []any{map[string]any{"name": cgtest.Item, "price": price}}}, nil
				}))
				f.Node("review", workflow.NewEmittingFunctionNode("review", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
					return workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{
						InterruptID: "review-1", Message: "Buy it?", Payload: map[string]any{"item": cgtest.Item},
					})
				}, workflow.NodeConfig{}))
				f.Node("buy", flow.FuncNode(func(agent.Context, any) (string, error) { w.Bought.Add(1); return "bought", nil }))
				f.Edge(flow.Start, "find")
				f.Edge("find", "review")
				f.Edge("review", "buy")
				a, err := f.Agent()
				if err != nil {
					t.Fatal(err)
				}
				w.Serve(a)
			}
			serve()
			adktest.Run(t, w.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route")) // up to the question
			w.Shop.Set(price, true)
			serve()
			err := w.Reply(cgtest.InputAnswer("review-1", "yes"))
			if safe := price == "$40,000"; safe != (err == nil) {
				t.Fatalf("error %v", err)
			} else if safe {
				w.WantBought(1)
				w.WantStates(safety.StateExecuted)
			} else {
				w.WantBought(0)
				w.WantStates(safety.StateBlocked)
			}
			if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); err == nil {
				t.Error("the same answer again was accepted")
			}
		})
	}
}

// The question of a paused run is guarded as any input of the node that it names.
func TestGuardedPause(t *testing.T) {
	for _, c := range []struct {
		name, node string
		pause      flow.Option
	}{
		{"before", "buy", flow.Before("buy")},
		{"after", "check", flow.After("check")},
	} {
		for _, price := range []string{"$40,000", "$52,000"} {
			t.Run(c.name+" "+price, func(t *testing.T) {
				w := &cgtest.Workflow{Harness: cgtest.New(t, cgtest.FoundByNode, cgtest.GuardInputs(c.node))}
				serve := func() {
					f := flow.New("shopping", c.pause)
					f.Node("find", flow.FuncNode(func(agent.Context, any) (map[string]any, error) {
						price, _ := w.Shop.Get()
						return map[string]any{"items": []any{map[string]any{"name": cgtest.Item, "price": price}}}, nil
					}))
					f.Node("buy", flow.FuncNode(func(agent.Context, any) (string, error) { w.Bought.Add(1); return "bought", nil }))
					f.Node("check", flow.FuncNode(pass))
					f.Edge(flow.Start, "find")
					f.Edge("find", "check")
					f.Edge("check", "buy")
					a, err := f.Agent()
					if err != nil {
						t.Fatal(err)
					}
					w.Serve(a)
				}
				serve()
				var id string
				for _, ev := range adktest.Run(t, w.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route")) {
					if ev.RequestedInput != nil {
						id = ev.RequestedInput.InterruptID
					}
				}
				w.Shop.Set(price, true)
				serve()
				err := w.Reply(cgtest.InputAnswer(id, "go_on"))
				if safe := price == "$40,000"; safe != (err == nil) {
					t.Fatalf("error %v", err)
				} else if safe {
					w.WantBought(1)
					w.WantStates(safety.StateExecuted)
				} else {
					w.WantBought(0)
					w.WantStates(safety.StateBlocked)
				}
			})
		}
	}
}

// A group asks for a purchase beside another question. Whichever is answered first decides; the other one is withdrawn.
func TestGuardedGroup(t *testing.T) {
	build := func(j flow.Join, edges func(*flow.Graph)) func(g *guarded) agent.Agent {
		return func(g *guarded) agent.Agent {
			read, buy := g.agents()
			f := flow.New("shopping")
			f.Node("read", read)
			f.Node("buy", buy)
			f.Node("ask", workflow.NewEmittingFunctionNode("ask", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
				return workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: "no", Message: "Or not?"})
			}, workflow.NodeConfig{}))
			f.Node("after", flow.FuncNode(func(agent.Context, any) (string, error) { g.after = append(g.after, "after"); return "ok", nil }))
			f.Parallel("either", j, "buy", "ask")
			f.Edge(flow.Start, "read")
			f.Edge("read", "either")
			f.Edge("either", "after")
			if edges != nil {
				edges(f)
			}
			a, err := f.Agent()
			if err != nil {
				g.T.Fatal(err)
			}
			return a
		}
	}
	other := answer(pair("no", "no"))
	t.Run("withdrawn", func(t *testing.T) {
		g := newGuarded(t, build(flow.WaitAny(), nil))
		events := g.ask(t)
		g.Serve(g.build(g))
		if _, err := adktest.TryRun(t.Context(), g.Runner, cgtest.User, cgtest.SessionID, other); err != nil {
			t.Fatal(err)
		}
		g.WantStates(safety.StateSuperseded)
		if _, err := g.reply(t, events, true); err == nil {
			t.Error("a withdrawn request was answered")
		}
		g.WantBought(0)
		g.WantStates(safety.StateSuperseded)
		if len(g.after) != 1 {
			t.Errorf("the node behind the group ran %d times, want once", len(g.after))
		}
	})
	t.Run("bought", func(t *testing.T) {
		g := newGuarded(t, build(flow.WaitAny(), nil))
		if _, err := g.reply(t, g.ask(t), true); err != nil {
			t.Fatal(err)
		}
		g.WantBought(1)
		g.WantStates(safety.StateExecuted)
		if _, err := adktest.TryRun(t.Context(), g.Runner, cgtest.User, cgtest.SessionID, other); !errors.Is(err, flow.ErrAnswered) {
			t.Errorf("error %v, want ErrAnswered", err)
		}
		if len(g.after) != 1 {
			t.Errorf("the node behind the group ran %d times, want once", len(g.after))
		}
	})
	t.Run("drift ends the run", func(t *testing.T) {
		g := newGuarded(t, build(flow.WaitAny(), nil))
		events := g.ask(t)
		g.Shop.Set("$52,000", true)
		if _, err := g.reply(t, events, true); !errors.Is(err, flow.ErrRefused) {
			t.Errorf("error %v, want ErrRefused", err)
		}
		g.WantBought(0)
		g.WantStates(safety.StateBlocked)
		if len(g.after) != 0 {
			t.Error("the run went on behind a blocked purchase")
		}
	})
	t.Run("drift is repaired", func(t *testing.T) {
		g := newGuarded(t, build(flow.WaitAny(), func(f *flow.Graph) { f.Edge("either", "read", flow.RefusedFor("drift")) }))
		events := g.ask(t)
		g.Shop.Set("$52,000", true)
		again, err := g.reply(t, events, true)
		if err != nil {
			t.Fatal(err)
		}
		g.WantBought(0)
		if _, err := g.reply(t, again, true); err != nil {
			t.Fatal(err)
		}
		g.WantBought(1)
		g.WantStates(safety.StateBlocked, safety.StateExecuted)
		if len(g.after) != 1 {
			t.Errorf("the node behind the group ran %d times, want once", len(g.after))
		}
	})
}
