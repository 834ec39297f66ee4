// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect_test

import (
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// embedding is an agent of the host's own around one of ADK's.
type embedding struct{ agent.Agent }

// toolset is a list of tools.
type toolset []tool.Tool

func (toolset) Name() string                                       { return "set" }
func (s toolset) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { return s, nil }

func localAgent(t *testing.T, name string, subs ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := llmagent.New(llmagent.Config{Name: name, SubAgents: subs, Model: &adktest.Model{}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wrapper is a tool around another one, as what Protect returns.
type wrapper struct{ tool.Tool }

func (w *wrapper) WrappedTool() tool.Tool { return w.Tool }

// agentRunner is a tool that names its agent, as what AgentTool returns.
type agentRunner struct {
	tool.Tool
	agent agent.Agent
}

func (r *agentRunner) RunsAgent() agent.Agent { return r.agent }

func TestOriginOfTools(t *testing.T) {
	function, err := functiontool.New(functiontool.Config{Name: "transfer_to_agent"}, func(agent.Context, struct{}) (map[string]any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	sub := agenttool.New(localAgent(t, "near"), nil)
	confirmed, err := tool.WithConfirmation(toolset{sub}, true, nil).Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		tool tool.Tool
		want string
	}{
		{"a function, whatever its name", function, adkreflect.OriginLocal},
		{"a function in a wrapper", &wrapper{function}, adkreflect.OriginLocal},
		{"an agent", sub, adkreflect.OriginSubAgent},
		{"an agent in a wrapper", &wrapper{sub}, adkreflect.OriginSubAgent},
		{"an agent with a confirmation", confirmed[0], adkreflect.OriginSubAgent},
		{"the same in a wrapper", &wrapper{confirmed[0]}, adkreflect.OriginSubAgent},
		{"an agent inside of another", agenttool.New(&embedding{localAgent(t, "near")}, nil), adkreflect.OriginSubAgent},
		{"an agent behind a nil pointer of the host's", agenttool.New(hosted{Agent: localAgent(t, "near")}, nil), adkreflect.OriginSubAgent},
		{"a tool that names such an agent", &agentRunner{agent: hosted{Agent: localAgent(t, "near")}}, adkreflect.OriginSubAgent},
		{"nothing", nil, adkreflect.OriginUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := adkreflect.Origin(tt.tool, nil); got != tt.want {
				t.Errorf("origin %s, want %s", got, tt.want)
			}
		})
	}
}
