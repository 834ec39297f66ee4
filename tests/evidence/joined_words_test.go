// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What agents say is no reading where a node of ADK's joins it either.
func TestJoinedWordsAreNoReading(t *testing.T) {
	m := newMarket(t)
	w := &cgtest.Workflow{Harness: cgtest.New(t, m.open, cgtest.GuardInputs("review"), func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, config.Extract{
			Name: "output", Event: record.NodeOutput, Type: "Product", Value: "$.name", Each: "$..items[*]",
			Attributes: map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}},
		})
	})}
	writer := func(name string) workflow.Node {
		return agentNode(t, llmagent.Config{Name: name,
			OutputSchema: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"items": {Type: genai.TypeArray,
				Items: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"name": {Type: genai.TypeString}, "price": {Type: genai.TypeString}}}}}},
			Model: scripted(says(`{"items":[{"name":"Strava Sponsored Routes","price":"$40,000"}]}`))})
	}
	left, right, join := writer("left"), writer("right"), workflow.NewJoinNode("join")
	review := workflow.NewEmittingFunctionNode("review", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		if err := emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: "review-1", Message: "Buy it?"})); err != nil {
			return nil, err
		}
		return nil, workflow.ErrNodeInterrupted
	}, workflow.NodeConfig{})
	buy := cgtest.FunctionNode("buy", func(agent.Context, any) (string, error) {
		w.Bought.Add(1)
		return "bought", nil
	})
	cgtest.ServeWorkflow(t, w.Harness, workflow.NewEdgeBuilder().AddFanOut(workflow.Start, left, right).AddFanIn(join, left, right).
		Add(join, review).Add(review, buy).Build(), func(*runner.Config) {})
	w.AskInput()
	w.WantTurnedAway(cgtest.InputAnswer("review-1", "yes"), safety.CodeCheckFailed)
	w.WantBought(0)
}
