// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
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
	"github.com/adk-contextgraph/contextgraph/record"
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
