// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A flowWorld is a flow over sessions in SQLite. Each turn opens the database anew, and builds the graph anew.
type flowWorld struct {
	t    *testing.T
	path string
	root func(w *flowWorld) (agent.Agent, error)
	mu   sync.Mutex
	did  []string
}

func (w *flowWorld) log(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, s)
}

func (w *flowWorld) runner() *runner.Runner {
	w.t.Helper()
	service, err := database.NewSessionService(sqlite.Open(w.path), &gorm.Config{Logger: logger.Discard})
	if err == nil {
		err = database.AutoMigrate(service)
	}
	var root agent.Agent
	if err == nil {
		root, err = w.root(w)
	}
	var r *runner.Runner
	if err == nil {
		r, err = runner.New(runner.Config{AppName: "app", Agent: root, SessionService: service, AutoCreateSession: true})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// want runs a message and checks what the nodes did, and the error.
func (w *flowWorld) want(msg *genai.Content, did string, want error) {
	w.t.Helper()
	_, err := adktest.TryRun(w.t.Context(), w.runner(), "alice", "s1", msg)
	w.check(err, did, want)
}

func (w *flowWorld) check(err error, did string, want error) {
	w.t.Helper()
	slices.Sort(w.did)
	if got := strings.Join(w.did, " "); !errors.Is(err, want) || got != did {
		w.t.Fatalf("the nodes did %q, error %v; want %q, %v", got, err, did, want)
	}
	w.did = nil
}

// node logs its input.
func (w *flowWorld) node(name string) workflow.Node {
	return workflow.NewFunctionNode(name, func(_ agent.Context, in any) (string, error) {
		data, _ := json.Marshal(in)
		w.log(fmt.Sprintf("%s(%s)", name, data))
		return name + "!", nil
	}, workflow.NodeConfig{})
}

// ask asks for an input, and runs again with it or hands it over.
func (w *flowWorld) ask(name string, rerun bool) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		return workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: name + "-1", Message: "?"})
	}, workflow.NodeConfig{RerunOnResume: &rerun})
}

func input(id string, value any) *genai.Content { return cgtest.InputAnswer(id, value) }

func TestFlowJoinOnDatabase(t *testing.T) {
	w := &flowWorld{t: t, path: filepath.Join(t.TempDir(), "sessions.db")}
	w.root = func(w *flowWorld) (agent.Agent, error) {
		silent := workflow.NewEmittingFunctionNode("S", func(agent.Context, any, func(*session.Event) error) (any, error) { return nil, nil }, workflow.NodeConfig{})
		a, b, j := w.ask("A", true), w.ask("B", false), workflow.NewJoinNode("J")
		inner, err := flow.WorkflowNode("N", workflow.Chain(workflow.Start, w.ask("I", true), w.node("I2")))
		if err != nil {
			return nil, err
		}
		edges := workflow.NewEdgeBuilder().AddFanOut(workflow.Start, silent, a, b, inner).AddFanIn(j, silent, a, b, inner).Add(j, w.node("C")).Build()
		return flow.Agent(workflowagent.Config{Name: "w", Edges: edges})
	}
	w.want(adktest.UserText("go"), "", nil)
	w.want(input("B-1", 2), "", nil)
	w.want(input("I-1", "i"), `I2("i")`, nil)
	w.want(adktest.UserText("hello?"), "", nil)
	w.want(input("A-1", map[string]any{"n": 1}), `C({"A":{"n":1},"B":2,"N":"I2!","S":null})`, nil)
	w.want(input("A-1", map[string]any{"n": 1}), "", flow.ErrAnswered)
}

func TestFlowGraphOnDatabase(t *testing.T) {
	w := &flowWorld{t: t, path: filepath.Join(t.TempDir(), "sessions.db")}
	fail := errors.New("down")
	w.root = func(w *flowWorld) (agent.Agent, error) {
		g := flow.New("g", flow.MaxIterations(4))
		g.Node("n", flow.FuncNode(func(agent.Context, any) (int, error) { return 7, nil }), flow.Into("number"))
		g.Node("ask", w.ask("A", false))
		g.Node("pay", flow.FuncNode(func(agent.Context, any) (string, error) { w.log("pay"); return "paid", fail }))
		g.Node("end", w.node("end"))
		g.Edge(flow.Start, "n")
		g.Edge("n", "ask", flow.When("seven", func(s flow.State) bool { return flow.Get[int](s, "number") == 7 }))
		g.End("n")
		g.Edge("ask", "n", flow.When("again", func(s flow.State) bool { return s.Output("ask") == "again" }))
		g.Edge("ask", "pay", flow.When("counted", func(s flow.State) bool { return s.Visits("ask") == 2 && s.Output("n") == 7.0 }))
		g.End("ask")
		g.Edge("pay", "end", flow.AtCap())
		g.Edge("pay", "end")
		return g.Agent()
	}
	w.want(adktest.UserText("go"), "", nil)
	w.want(input("A-1", "again"), "", nil)
	w.want(input("A-1", "on"), "", flow.ErrMaxIterations) // ask is the last of four
	w.want(adktest.UserText("go"), "", nil)
	w.want(input("A-1", "on"), "", nil) // it ends at ask, for it was visited once
}

func TestFlowContinueOnDatabase(t *testing.T) {
	w := &flowWorld{t: t, path: filepath.Join(t.TempDir(), "sessions.db")}
	fail := errors.New("down")
	w.root = func(w *flowWorld) (agent.Agent, error) {
		g := flow.New("g")
		g.Node("a", w.node("a"))
		g.Node("pay", flow.FuncNode(func(agent.Context, any) (string, error) { w.log("pay"); return "paid", fail }))
		g.Node("end", w.node("end"))
		g.Edge(flow.Start, "a")
		g.Edge("a", "pay")
		g.Edge("pay", "end")
		return g.Agent()
	}
	goOn := func(opts ...flow.ContinueOption) (first error) {
		for _, err := range flow.Continue(t.Context(), w.runner(), "alice", "s1", opts...) {
			first = errors.Join(first, err)
		}
		return first
	}
	w.want(adktest.UserText("go"), `a("go") pay`, fail)
	fail = nil
	w.check(goOn(), "", flow.ErrInDoubt)
	w.check(goOn(flow.Again("pay")), `end("paid") pay`, nil)
	w.check(goOn(), "", flow.ErrNothingToContinue)
}

// A guarded tool in a flow, below an LLM agent: what drifted is read again, asked anew, and bought once.
func TestFlowGuardedOnDatabase(t *testing.T) {
	s := open(t, t.TempDir())
	serve := func() {
		g := flow.New("shopping")
		g.Node("query", flow.FuncNode(func(agent.Context, any) (map[string]any, error) { return map[string]any{"query": "routes"}, nil }))
		g.Node("read", flow.ToolNode(s.Tools[0]))
		g.Node("order", flow.FuncNode(func(agent.Context, any) (map[string]any, error) { return cgtest.SameArgs(0), nil }))
		g.Node("buy", flow.ToolNode(s.Tools[1]))
		g.Edge(flow.Start, "query")
		g.Edge("query", "read")
		g.Edge("read", "order")
		g.Edge("order", "buy")
		g.Edge("buy", "query", flow.RefusedFor("drift"))
		g.End("buy")
		inner, err := g.Agent()
		if err != nil {
			t.Fatal(err)
		}
		s.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Mode: llmagent.ModeChat, SubAgents: []agent.Agent{inner}, Tools: []tool.Tool{},
			Model: &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
				return adktest.Call("transfer_to_agent", map[string]any{"agent_name": "shopping"}), nil
			}}}))
	}
	turn := func(msg *genai.Content) []*session.Event {
		t.Helper()
		serve()
		events, err := adktest.TryRun(context.Background(), s.Runner, cgtest.User, cgtest.SessionID, msg)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	first := cgtest.OnlyRequest(t, adktest.Confirmations(turn(adktest.UserText("buy"))))
	s.Shop.Set("$52,000", true)
	second := cgtest.OnlyRequest(t, adktest.Confirmations(turn(adktest.Answer(first.ID, true))))
	s.WantBought(0)
	turn(adktest.Answer(second.ID, true))
	s.WantBought(1)
	s.WantStates(safety.StateBlocked, safety.StateExecuted)
}
