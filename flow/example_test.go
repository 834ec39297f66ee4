// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// A pipeline that validates its data, tries three times, and then reports or processes it.
func Example() {
	validator := scripted("validator", func(req *model.LLMRequest) string {
		if strings.Contains(lastText(req), "12,5") {
			return "false"
		}
		return "true"
	})
	processor := scripted("processor", func(*model.LLMRequest) string { return "processed" })

	g := flow.New("pipeline", flow.MaxIterations(20))
	g.Node("validate", flow.AgentNode(validator), flow.Into("valid"))
	g.Node("process", flow.AgentNode(processor), flow.Into("result"))
	g.Node("retry", flow.FuncNode(func(ctx agent.Context, _ any) (string, error) {
		s := flow.StateOf(ctx)
		if s.Visits("validate") == 2 {
			return "12.5", nil
		}
		return "12,5 ", nil
	}))
	g.Node("error", flow.FuncNode(func(agent.Context, any) (string, error) { return "gave up", nil }))
	g.Edge(flow.Start, "validate")
	g.Edge("validate", "process", flow.When("valid", func(s flow.State) bool { return flow.Get[bool](s, "valid") }))
	g.Edge("validate", "retry", flow.When("tries left", func(s flow.State) bool { return s.Visits("validate") <= 3 }))
	g.Edge("validate", "error")
	g.Edge("retry", "validate")
	root, err := g.Agent()
	if err != nil {
		fmt.Println(err)
		return
	}

	r, err := runner.NewInMemory("app", root)
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range r.Run(context.Background(), "alice", "s1", genai.NewContentFromText("12,5", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		step := ev.CustomMetadata[flow.MetadataKey].(map[string]any)
		fmt.Printf("%s: %v → %v (%v)\n", ev.NodeInfo.Path, ev.Output, step["to"], step["edge"])
	}
	// Output:
	// pipeline@1/validate@1: false → retry (tries left)
	// pipeline@1/retry@1: 12,5  → validate (<nil>)
	// pipeline@1/validate@1: false → retry (tries left)
	// pipeline@1/retry@1: 12.5 → validate (<nil>)
	// pipeline@1/validate@1: true → process (valid)
	// pipeline@1/process@1: processed → <nil> (<nil>)
}

// A run that a failure cut off goes on where it was. Each step is stored, so nothing has to be set for that.
func ExampleContinue() {
	down := true
	g := flow.New("order")
	g.Node("reserve", flow.FuncNode(func(agent.Context, any) (string, error) { return "R-17", nil }))
	g.Node("pay", flow.FuncNode(func(_ agent.Context, reservation string) (string, error) {
		if down {
			return "", errors.New("the bank does not answer")
		}
		return "paid " + reservation, nil
	}))
	g.Edge(flow.Start, "reserve")
	g.Edge("reserve", "pay")
	root, err := g.Agent()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.NewInMemory("app", root)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	print := func(events iter.Seq2[*session.Event, error]) {
		for ev, err := range events {
			if err != nil {
				fmt.Println("error:", err)
			} else {
				fmt.Println(ev.Output)
			}
		}
	}
	print(r.Run(ctx, "alice", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}))
	down = false
	print(flow.Continue(ctx, r, "alice", "s1"))
	print(flow.Continue(ctx, r, "alice", "s1", flow.Again("pay")))
	// Output:
	// R-17
	// error: flow: node "pay": the bank does not answer
	// error: flow: it is in doubt whether the node took effect: "pay" began and did not end; say flow.Again("pay") or flow.Done("pay", output)
	// paid R-17
}

// A join runs when all in front of it have ended: here behind the answer of a person.
func ExampleAgent() {
	price := workflow.NewFunctionNode("price", func(agent.Context, any) (int, error) { return 40, nil }, workflow.NodeConfig{})
	ask := workflow.NewEmittingFunctionNode("ask", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		return workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: "how-many", Message: "How many?"})
	}, workflow.NodeConfig{})
	join := workflow.NewJoinNode("join")
	buy := workflow.NewFunctionNode("buy", func(_ agent.Context, in map[string]any) (string, error) {
		return fmt.Sprintf("%v for %v", in["ask"], in["price"]), nil
	}, workflow.NodeConfig{})
	root, err := flow.Agent(workflowagent.Config{Name: "purchase", Edges: workflow.NewEdgeBuilder().
		AddFanOut(workflow.Start, price, ask).AddFanIn(join, price, ask).Add(join, buy).Build()})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.NewInMemory("app", root)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
		ID: "how-many", Name: workflow.WorkflowInputFunctionCallName, Response: map[string]any{"response": 3},
	}}}}
	for _, msg := range []*genai.Content{genai.NewContentFromText("go", genai.RoleUser), answer, answer} {
		for ev, err := range r.Run(context.Background(), "alice", "s1", msg, agent.RunConfig{}) {
			if err != nil {
				fmt.Println("error:", err)
			} else if ev.NodeInfo.Path == "purchase@1/buy@1" {
				fmt.Println(ev.Output)
			}
		}
	}
	// Output:
	// 3 for 40
	// error: flow: the question is answered already: How many? (question "how-many" of purchase@1/ask@1)
}

// scripted is an agent whose model is a function.
func scripted(name string, says func(*model.LLMRequest) string) agent.Agent {
	a, err := llmagent.New(llmagent.Config{Name: name, Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) { return adktest.Text(says(req)), nil },
	}})
	if err != nil {
		panic(err)
	}
	return a
}

func lastText(req *model.LLMRequest) string {
	parts := req.Contents[len(req.Contents)-1].Parts
	return parts[len(parts)-1].Text
}
