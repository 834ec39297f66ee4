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

func function(t *testing.T, name string) tool.Tool {
	t.Helper()
	f, err := functiontool.New(functiontool.Config{Name: name}, func(agent.Context, struct{}) (map[string]any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func agentWith(t *testing.T, name string, tools []tool.Tool, subs ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := llmagent.New(llmagent.Config{Name: name, Model: &adktest.Model{}, Tools: tools, SubAgents: subs})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgentOfATool(t *testing.T) {
	a := agentWith(t, "helper", nil)
	made := agenttool.New(a, nil)
	for _, tt := range []struct {
		name      string
		tool      tool.Tool
		want      agent.Agent
		agentTool bool
	}{
		{"of ADK", made, a, true},
		{"a function", function(t, "f"), nil, false},
		{"one that names its agent", &agentRunner{agent: a}, nil, false},
		{"none", nil, nil, false},
	} {
		if got := adkreflect.AgentOf(tt.tool); got != tt.want {
			t.Errorf("%s: agent %v, want %v", tt.name, got, tt.want)
		}
		if got := adkreflect.IsAgentTool(tt.tool); got != tt.agentTool {
			t.Errorf("%s: is an agent tool: %v", tt.name, got)
		}
	}
	if !adkreflect.IsAgentTool(&wrapper{made}) {
		t.Error("a wrapper around an agent tool is none")
	}
}

func TestFindAgent(t *testing.T) {
	leaf := agentWith(t, "leaf", nil)
	root := agentWith(t, "root", nil, agentWith(t, "middle", nil, leaf))
	if got := adkreflect.Find(root, "leaf"); got != leaf {
		t.Errorf("found %v", got)
	}
	if got := adkreflect.Find(root, "nobody"); got != nil {
		t.Errorf("found %v", got)
	}
	if got := adkreflect.Find(nil, "leaf"); got != nil {
		t.Errorf("below no agent: found %v", got)
	}
}
