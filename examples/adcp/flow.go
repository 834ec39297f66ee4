// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
)

const flowInstruction = `You plan media. Query the ad inventory, match audiences when the brief names an audience,
allocate the budget over the available placements, and draft the campaign when the brief asks for a draft.
Then answer with the plan as JSON and nothing else. When a tool fails, say in a sentence what is missing.`

// newFlow builds the demo as a graph: the planner's last words are the arguments of the tool that spends money, and
// what comes of that is reported, whether it ran or was refused.
func newFlow(llm model.LLM, tools *mediaTools, protect func(tool.Tool) tool.Tool) (agent.Agent, error) {
	plan, err := tools.forPlanner()
	if err != nil {
		return nil, fmt.Errorf("tools of %s: %w", agentPlanner, err)
	}
	provision, err := tools.forRoot()
	if err != nil {
		return nil, err
	}
	planner, err := llmagent.New(llmagent.Config{
		Name: agentPlanner, Description: "Turns a campaign brief into a media plan.",
		Model: llm, Instruction: flowInstruction, Tools: plan,
	})
	if err != nil {
		return nil, err
	}
	g := flow.New("media_buying", flow.MaxIterations(10))
	g.Node("plan", flow.AgentNode(planner))
	g.Node("provision", flow.ToolNode(protect(provision)))
	g.Node("report", workflow.NewEmittingFunctionNode("report", reportFlow, workflow.NodeConfig{}))
	g.Edge(flow.Start, "plan")
	g.Edge("plan", "provision", flow.When("planned", func(s flow.State) bool { return flow.Get[map[string]any](s, "plan") != nil }))
	g.Edge("plan", "report")
	g.Edge("provision", "report", flow.Refused)
	g.Edge("provision", "report")
	return g.Agent()
}

// reportFlow is the node that tells the buyer how it ended.
func reportFlow(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
	s := flow.StateOf(ctx)
	b, _ := findBrief(fmt.Sprint(s.Input()))
	text := fmt.Sprintf("There is no plan for %s: %s.", b.Advertiser, flow.Get[string](s, "plan"))
	if outcome := flow.Get[map[string]any](s, "provision"); outcome != nil {
		text = report(b, outcome, "Send the brief again when the cause is gone.")
	}
	ev := session.NewEvent(ctx, ctx.InvocationID())
	ev.Content = genai.NewContentFromText(text, genai.RoleModel)
	return nil, emit(ev)
}

// planned is the plan as the planner of a flow answers it.
func planned(talk conversation) *genai.Part {
	p, ok := talk.plan()
	if !ok || talk.trouble() != "" {
		return genai.NewPartFromText(talk.trouble())
	}
	data, err := json.Marshal(p.args(talk.brief))
	if err != nil {
		return genai.NewPartFromText(err.Error())
	}
	return genai.NewPartFromText(string(data))
}
