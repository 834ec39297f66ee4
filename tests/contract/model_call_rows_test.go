// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"iter"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// several is a model that gives more than one answer to a request.
type several struct{ answers []*model.LLMResponse }

func (several) Name() string { return "several" }

func (m several) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, a := range m.answers {
			if !yield(a, nil) {
				return
			}
		}
	}
}

// An agent whose callback answers in its place ends without a callback of its own;
// the agents after it are not inside of it.
func TestSkippedAgentAdoptsNobody(t *testing.T) {
	h := cgtest.New(t)
	var agents []agent.Agent
	for _, name := range []string{"a", "b", "c"} {
		cfg := llmagent.Config{Name: name, Model: several{[]*model.LLMResponse{adktest.Text(name)}}}
		if name == "a" {
			cfg.BeforeAgentCallbacks = []agent.BeforeAgentCallback{func(agent.Context) (*genai.Content, error) {
				return genai.NewContentFromText("skipped", genai.RoleModel), nil
			}}
		}
		a, err := llmagent.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	root, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: agents}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("hi"))
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	spans := make(map[string]string)
	for _, e := range rowtest.Of(rows, record.AgentStarting) {
		spans[e.SpanID] = e.Agent
	}
	for _, e := range rowtest.Of(rows, record.AgentStarting) {
		if e.Agent != "all" && spans[e.ParentSpanID] != "all" {
			t.Errorf("agent %s lies in %q, want it in all", e.Agent, spans[e.ParentSpanID])
		}
	}
	for _, e := range rowtest.Of(rows, record.AgentCompleted) {
		if rowtest.Field(t, e.Attributes, "adk", "unfinished") != nil {
			t.Errorf("agent %s is marked unfinished", e.Agent)
		}
	}
	for _, e := range rowtest.Of(rows, record.AgentResponse) {
		if spans[e.SpanID] != e.Agent {
			t.Errorf("the answer of %s stands on the span of %q", e.Agent, spans[e.SpanID])
		}
	}
}
