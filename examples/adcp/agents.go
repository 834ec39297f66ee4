// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
)

// Names of the agents.
const (
	agentRoot    = "root_agent"
	agentPlanner = "media_planner"
)

const rootInstruction = `You buy media for advertisers.
Hand a campaign brief to media_planner. When it hands back a plan, call provision_campaign with exactly that plan.
If provisioning is blocked, say what changed and stop: the plan has to be made and approved anew.`

const plannerInstruction = `You plan media. Query the ad inventory, match audiences when the brief names an audience,
allocate the budget over the available placements, and draft the campaign when the brief asks for a draft.
Then transfer back to root_agent, which buys. When a tool fails, transfer back at once.`

// newAgents builds the two agents of the demo. Protect wraps the tool that spends money.
func newAgents(llm model.LLM, tools *mediaTools, protect func(tool.Tool) tool.Tool) (agent.Agent, error) {
	plan, err := tools.forPlanner()
	if err != nil {
		return nil, fmt.Errorf("tools of %s: %w", agentPlanner, err)
	}
	provision, err := tools.forRoot()
	if err != nil {
		return nil, fmt.Errorf("tools of %s: %w", agentRoot, err)
	}
	planner, err := llmagent.New(llmagent.Config{
		Name:        agentPlanner,
		Description: "Turns a campaign brief into a media plan.",
		Model:       llm,
		Instruction: plannerInstruction,
		Tools:       plan,
	})
	if err != nil {
		return nil, err
	}
	return llmagent.New(llmagent.Config{
		Name:        agentRoot,
		Description: "Takes campaign briefs and buys media.",
		Model:       llm,
		Instruction: rootInstruction,
		Tools:       []tool.Tool{protect(provision)},
		SubAgents:   []agent.Agent{planner},
	})
}
