// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
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
