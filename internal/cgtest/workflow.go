// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// ServeWorkflow makes the harness serve a workflow with a changed runner.
func ServeWorkflow(t *testing.T, h *Harness, edges []workflow.Edge, change func(*runner.Config)) {
	t.Helper()
	flow, err := workflowagent.New(workflowagent.Config{Name: "flow", Edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	h.ServeWith(flow, change)
}

// FunctionNode returns a node of a workflow that the function is.
func FunctionNode[IN, OUT any](name string, f func(agent.Context, IN) (OUT, error)) workflow.Node {
	return workflow.NewFunctionNode(name, f, workflow.NodeConfig{})
}

// Workflow is a shop whose workflow finds a product, asks a human and buys.
type Workflow struct {
	*Harness
	// Asks counts the requests. Fails is the error that the node behind the input returns.
	Asks  atomic.Int64
	Fails error
}

// GuardInputs has the config name the nodes.
func GuardInputs(patterns ...string) Option {
	return func(o *Options) {
		o.Config.Guard.Inputs = make(map[string]config.InputSettings)
		for _, p := range patterns {
			o.Config.Guard.Inputs[p] = config.InputSettings{}
		}
	}
}

// FoundByNode adds a rule that reads the product from the output of a node.
func FoundByNode(o *Options) {
	o.Config.Extract = append(o.Config.Extract, config.Extract{
		Name: "output", Event: record.NodeOutput, Type: "Product", Value: "$.name", Each: "$.items[*]",
		Attributes: map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}},
	})
}

// NewWorkflow returns a workflow whose input is guarded.
func NewWorkflow(t *testing.T, opts ...Option) *Workflow {
	t.Helper()
	w := &Workflow{Harness: New(t, append([]Option{FoundByNode, GuardInputs("review")}, opts...)...)}
	w.Build()
	return w
}

// Build makes the workflow and has the harness serve it.
func (w *Workflow) Build() {
	w.T.Helper()
	find := workflow.NewFunctionNode("find", func(agent.Context, any) (map[string]any, error) {
		price, _ := w.Shop.Get()
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": price}}}, nil
	}, workflow.NodeConfig{})
	request := func() session.RequestInput {
		n := w.Asks.Add(1)
		return session.RequestInput{InterruptID: "review-" + string(rune('0'+n)), Message: "Buy it?", Payload: map[string]any{"item": "Strava Sponsored Routes"}}
	}
	review := workflow.NewEmittingFunctionNode("review", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		if err := emit(workflow.NewRequestInputEvent(ctx, request())); err != nil {
			return nil, err
		}
		return nil, workflow.ErrNodeInterrupted
	}, workflow.NodeConfig{})
	buy := workflow.NewFunctionNode("buy", func(agent.Context, any) (string, error) {
		w.Bought.Add(1)
		if w.OnBuy != nil {
			w.OnBuy()
		}
		return "bought", w.Fails
	}, workflow.NodeConfig{})
	wf, err := workflowagent.New(workflowagent.Config{Name: "wf", Edges: workflow.Chain(workflow.Start, find, review, buy)})
	if err != nil {
		w.T.Fatal(err)
	}
	w.Serve(wf)
}

// InputAnswer returns the message that answers an input.
func InputAnswer(id string, answer any) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
		ID: id, Name: workflow.WorkflowInputFunctionCallName, Response: map[string]any{"response": answer},
	}}}}
}

// AskInput runs the workflow up to the input and returns the event that asks.
func (w *Workflow) AskInput() *session.Event {
	w.T.Helper()
	for _, ev := range adktest.Run(w.T, w.Runner, User, SessionID, adktest.UserText("buy a route")) {
		if ev.RequestedInput != nil {
			return ev
		}
	}
	w.T.Fatal("nobody was asked")
	return nil
}

// Reply sends the answer and returns the error of the run.
func (w *Workflow) Reply(msg *genai.Content) error {
	w.T.Helper()
	var first error
	for _, err := range w.CG.Run(w.T.Context(), w.Runner, User, SessionID, msg, agent.RunConfig{}) {
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// WantTurnedAway checks that a message was refused for the reason and left no trace in
// the session.
func (w *Workflow) WantTurnedAway(msg *genai.Content, code string) *safety.Refusal {
	w.T.Helper()
	before := w.events()
	err := w.Reply(msg)
	var refusal *safety.Refusal
	if !errors.As(err, &refusal) {
		w.T.Fatalf("the run ended with %v, want a refusal", err)
	}
	if refusal.Code != code {
		w.T.Errorf("code %q, want %q: %v", refusal.Code, code, err)
	}
	if !strings.Contains(err.Error(), "nothing of the message is stored") {
		w.T.Errorf("the error does not say what became of the message: %v", err)
	}
	if after := w.events(); after != before {
		w.T.Errorf("the session has %d events, %d before the refused message", after, before)
	}
	return refusal
}

func (w *Workflow) events() int {
	w.T.Helper()
	resp, err := w.Sessions.Get(w.T.Context(), &session.GetRequest{AppName: App, UserID: User, SessionID: SessionID})
	if err != nil {
		return 0
	}
	return resp.Session.Events().Len()
}

// WantState checks the state of the last approval and returns the approval.
func (w *Workflow) WantState(want safety.ApprovalState) safety.Approval {
	w.T.Helper()
	as := w.Approvals(SessionID)
	if len(as) == 0 {
		w.T.Fatal("no approval is on record")
	}
	if got := as[len(as)-1]; got.State != want {
		w.T.Errorf("approval state = %q, want %q; report %s", got.State, want, got.Report)
	}
	return as[len(as)-1]
}
