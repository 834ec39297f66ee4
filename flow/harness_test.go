// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A kit makes the parts of a workflow: ADK's own, or those of this package.
type kit struct {
	name   string
	agent  func(workflowagent.Config) (agent.Agent, error)
	node   func(agent.Agent) workflow.Node
	nested func(string, []workflow.Edge) (workflow.Node, error)
}

var stock = kit{
	name: "stock", agent: workflowagent.New,
	node: func(a agent.Agent) workflow.Node {
		n, err := workflow.NewAgentNode(a, workflow.NodeConfig{})
		if err != nil {
			panic(err)
		}
		return n
	},
	nested: func(name string, edges []workflow.Edge) (workflow.Node, error) {
		return workflow.NewWorkflowNode(name, edges)
	},
}

var ours = kit{
	name: "flow", agent: flow.Agent,
	node:   func(a agent.Agent) workflow.Node { return flow.AgentNode(a) },
	nested: flow.WorkflowNode,
}

// A world is a session, and what the nodes did in it. Each turn has a runner and a graph of its own, as in another
// process.
type world struct {
	t       testing.TB
	service session.Service
	plain   session.Service // the same for the test, without what stands around it; nil for the same
	root    func(w *world) agent.Agent
	mu      sync.Mutex
	did     []string
}

func (w *world) log(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, fmt.Sprintf(format, args...))
}

// take returns what was done since, sorted: nodes run side by side.
func (w *world) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	did := w.did
	w.did = nil
	slices.Sort(did)
	return strings.Join(did, " ")
}

func (w *world) runner() *runner.Runner {
	r, err := runner.New(runner.Config{AppName: "app", Agent: w.root(w), SessionService: w.service, AutoCreateSession: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) run(msg *genai.Content) ([]*session.Event, error) {
	return adktest.TryRun(w.t.Context(), w.runner(), "alice", "s1", msg)
}

// carry is a session service that hands out what a database would: each session is decoded from JSON.
type carry struct{ session.Service }

type carried struct {
	session.Session
	mu     sync.Mutex
	events []*session.Event
}

func (c *carried) Events() session.Events {
	c.mu.Lock()
	defer c.mu.Unlock()
	return list(c.events)
}

func (c carry) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	resp, err := c.Service.Get(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &carried{Session: resp.Session}
	for ev := range resp.Session.Events().All() {
		data, err := json.Marshal(ev)
		if err != nil {
			return nil, err
		}
		copied := new(session.Event)
		if err := json.Unmarshal(data, copied); err != nil {
			return nil, err
		}
		out.events = append(out.events, copied)
	}
	for k, v := range resp.Session.State().All() {
		var copied any
		data, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(data, &copied)
		}
		if err == nil {
			err = resp.Session.State().Set(k, copied)
		}
		if err != nil {
			return nil, err
		}
	}
	return &session.GetResponse{Session: out}, nil
}

func (c carry) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	resp, err := c.Service.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	return &session.CreateResponse{Session: &carried{Session: resp.Session}}, nil
}

func (c carry) AppendEvent(ctx context.Context, s session.Session, ev *session.Event) error {
	in := s.(*carried)
	if err := c.Service.AppendEvent(ctx, in.Session, ev); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.events = append(in.events, ev)
	return nil
}

type list []*session.Event

func (l list) Len() int                { return len(l) }
func (l list) At(i int) *session.Event { return l[i] }
func (l list) All() iter.Seq[*session.Event] {
	return slices.Values(l)
}

// services are the ways in which a session is kept.
func services() map[string]func() session.Service {
	return map[string]func() session.Service{
		"memory": session.InMemoryService,
		"json":   func() session.Service { return carry{session.InMemoryService()} },
	}
}

func done(w *world, name string) workflow.Node {
	return workflow.NewFunctionNode(name, func(_ agent.Context, in any) (string, error) {
		w.log("%s", name)
		return name + "!", nil
	}, workflow.NodeConfig{})
}

// told is a node that logs its input.
func told(w *world, name string) workflow.Node {
	return workflow.NewFunctionNode(name, func(_ agent.Context, in any) (string, error) {
		data, _ := json.Marshal(in)
		w.log("%s(%s)", name, data)
		return name + "!", nil
	}, workflow.NodeConfig{})
}

// silent is a node without an output and without an event.
func silent(w *world, name string) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(agent.Context, any, func(*session.Event) error) (any, error) {
		w.log("%s", name)
		return nil, nil
	}, workflow.NodeConfig{})
}

// hands asks, and its answer is its output.
func hands(w *world, name string) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		w.log("%s?", name)
		if err := emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: name + "-1", Message: name + "?"})); err != nil {
			return nil, err
		}
		return nil, workflow.ErrNodeInterrupted
	}, workflow.NodeConfig{})
}

// reruns asks, and runs again with the answer.
func reruns(w *world, name string) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, in any, emit func(*session.Event) error) (any, error) {
		reply, err := workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: name + "-1", Message: name + "?"})
		if err != nil {
			w.log("%s?", name)
			return nil, err
		}
		w.log("%s", name)
		return reply, nil
	}, workflow.NodeConfig{RerunOnResume: new(true)})
}

// routes asks, runs again with the answer, and takes it as its route.
func routes(w *world, name string) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, in any, emit func(*session.Event) error) (any, error) {
		id := fmt.Sprintf("%s-%d", name, answersIn(ctx)+1)
		for i := answersIn(ctx); i > 0; i-- {
			if reply, ok := ctx.ResumedInput(fmt.Sprintf("%s-%d", name, i)); ok {
				w.log("%s", name)
				ev := session.NewEvent(ctx, ctx.InvocationID())
				ev.Routes = []string{fmt.Sprint(reply)}
				if err := emit(ev); err != nil {
					return nil, err
				}
				return reply, nil
			}
		}
		w.log("%s?", name)
		if err := emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: id, Message: name + "?"})); err != nil {
			return nil, err
		}
		return nil, workflow.ErrNodeInterrupted
	}, workflow.NodeConfig{RerunOnResume: new(true)})
}

// answersIn counts the answers in the session.
func answersIn(ctx agent.Context) int {
	n := 0
	for ev := range ctx.Session().Events().All() {
		if ev.Author == "user" && ev.Content != nil && ev.Content.Parts[0].FunctionResponse != nil {
			n++
		}
	}
	return n
}

// buyer is an agent with a tool that a person has to confirm.
func buyer(w *world, name string) agent.Agent { return buyerOf(w, name, 1) }

// buyerOf calls the tool n times at once.
func buyerOf(w *world, name string, n int) agent.Agent {
	buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buy", RequireConfirmation: true},
		func(_ agent.Context, in struct {
			Item string `json:"item"`
		}) (map[string]any, error) {
			w.log("%s:buy", name)
			return map[string]any{"status": "bought"}, nil
		})
	if err != nil {
		w.t.Fatal(err)
	}
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		last := adktest.LastResponse(req)
		if last == nil {
			w.log("%s?", name)
			calls := make([]*genai.FunctionCall, n)
			for i := range calls {
				calls[i] = &genai.FunctionCall{Name: "buy", Args: map[string]any{"item": "x"}}
			}
			return adktest.Calls(calls...), nil
		}
		if last.Response["status"] == "bought" {
			return adktest.Text("Bought."), nil
		}
		return adktest.Text("Not bought."), nil
	}}
	a, err := llmagent.New(llmagent.Config{Name: name, Model: m, Tools: []tool.Tool{buy}})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// pair is a response to a question.
func pair(id string, value any) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: id, Name: workflow.WorkflowInputFunctionCallName, Response: map[string]any{"response": value},
	}}
}

func answer(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

// yes confirms the newest request of the events, by whom it is for.
func yes(events []*session.Event, confirmed bool) *genai.Content {
	calls := adktest.Confirmations(events)
	var parts []*genai.Part
	for _, c := range calls {
		parts = append(parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: c.ID, Name: toolconfirmation.FunctionCallName, Response: map[string]any{"confirmed": confirmed},
		}})
	}
	return answer(parts...)
}
