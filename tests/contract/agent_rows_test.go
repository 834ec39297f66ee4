// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Agents that run side by side have branches of their own; their spans do not
// cross.
func TestParallelAgentsDoNotCross(t *testing.T) {
	h := cgtest.New(t)
	var agents []agent.Agent
	for i := range 4 {
		name := fmt.Sprintf("searcher%d", i)
		search := cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"by": name}, nil
		})
		a, err := llmagent.New(llmagent.Config{Name: name, Description: name, Tools: []tool.Tool{search}, Model: &adktest.Model{
			Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if adktest.LastResponse(req) != nil {
					return adktest.Text(name), nil
				}
				return adktest.Call("search", map[string]any{"query": name}), nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	root, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: agents}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("search"))
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	owner := make(map[string]string)
	for _, e := range rowtest.Of(rows, record.AgentStarting) {
		owner[e.SpanID] = e.Agent
	}
	tools := rowtest.Of(rows, record.ToolCompleted)
	if len(tools) != len(agents) {
		t.Fatalf("%d tools completed, want %d", len(tools), len(agents))
	}
	for _, e := range tools {
		by := rowtest.Field(t, e.Content, "result", "by")
		if e.Agent != by || owner[e.ParentSpanID] != by {
			t.Errorf("the tool of %v stands under agent %q in the span of %q", by, e.Agent, owner[e.ParentSpanID])
		}
	}
}
