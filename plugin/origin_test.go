// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The tools that ADK makes itself come with the request of a real run.
func TestOriginOfTransfersAndUnknownTools(t *testing.T) {
	for _, tt := range []struct {
		name, target, want string
	}{
		{"transfer_to_agent", "near", adkreflect.OriginTransferAgent},
		{"transfer_to_agent", "nobody", adkreflect.OriginTransferAgent},
		{"transfer_to_agent", "", adkreflect.OriginTransferAgent},
		{"nosuchtool", "far", adkreflect.OriginUnknown},
	} {
		t.Run(tt.name+" "+tt.target, func(t *testing.T) {
			mdl := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if adktest.LastResponse(req) != nil {
					return nil, errors.New("enough")
				}
				return adktest.Calls(&genai.FunctionCall{Name: tt.name, Args: map[string]any{"agent_name": tt.target}}), nil
			}}
			sink, r := recorded(t, recorder.Config{}, modelAgent("root", mdl, func(c *llmagent.Config) {
				c.SubAgents = []agent.Agent{modelAgent("near", mdl)}
			}))
			_, _ = adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("go"))
			rows := sink.Of(record.ToolStarting)
			if len(rows) == 0 {
				t.Fatal("no call is on record")
			}
			if want := `"tool_origin":"` + tt.want + `"`; !strings.Contains(string(rows[0].Content), want) {
				t.Errorf("content %s, want %s", rows[0].Content, want)
			}
		})
	}
}

// hosted is an agent of the host's own that embeds a pointer which it does not have, to
// fields with the names of those of ADK's agents.
type hosted struct {
	agent.Agent
	*extras
}

type extras struct{ State, AgentType, Agent, InputSchema string }

// What AgentTool returns runs an agent of this process, whatever kind of agent that is.
func TestOriginOfAnAgentTool(t *testing.T) {
	rec := must(recorder.New(recorder.Config{Sink: &rowtest.Sink{}}))
	near := modelAgent("near", adktest.Says("hi"))
	for name, a := range map[string]agent.Agent{"ADK's": near, "the host's": hosted{Agent: near}} {
		at := rec.AgentTool(a, nil, recorder.Plugins(rec))
		if got := adkreflect.Origin(at, nil); got != adkreflect.OriginSubAgent {
			t.Errorf("an agent of %s: origin %s, want %s", name, got, adkreflect.OriginSubAgent)
		}
	}
}
