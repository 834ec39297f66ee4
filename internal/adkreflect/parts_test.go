// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

func toolNode(t *testing.T, name string) workflow.Node {
	t.Helper()
	n, err := workflow.NewToolNode(function(t, name), workflow.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func workflowOf(t *testing.T, name string, nodes ...workflow.Node) agent.Agent {
	t.Helper()
	a, err := workflowagent.New(workflowagent.Config{Name: name, Edges: workflow.Chain(append([]workflow.Node{workflow.Start}, nodes...)...)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// described lists parts as text, sorted.
func described(parts []adkreflect.Part) []string {
	var out []string
	for _, p := range parts {
		var d []string
		if p.Agent != nil {
			d = append(d, p.Agent.Name())
		}
		if p.Node != nil {
			d = append(d, "node "+p.Node.Name())
		}
		if p.Tool != nil {
			d = append(d, "tool "+p.Tool.Name())
		}
		if p.Toolset != nil {
			d = append(d, "toolset "+p.Toolset.Name())
		}
		if p.Within != nil {
			d = append(d, "within "+p.Within.Name())
		}
		out = append(out, strings.Join(d, ", "))
	}
	slices.Sort(out)
	return out
}

// The parts of an agent are its own, those of the agents below it, in its workflow and behind its
// tools, each once.
func TestParts(t *testing.T) {
	must := func(n workflow.Node, err error) workflow.Node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	shared := agentWith(t, "shared", []tool.Tool{function(t, "deep")})
	helper := agenttool.New(agentWith(t, "helper", []tool.Tool{function(t, "inside"), agenttool.New(shared, nil)}), nil)
	withToolset, err := llmagent.New(llmagent.Config{Name: "remote", Model: &adktest.Model{}, Toolsets: []tool.Toolset{toolset{function(t, "far")}}})
	if err != nil {
		t.Fatal(err)
	}
	worker := must(workflow.NewParallelWorker("all", toolNode(t, "each"), 1, workflow.NodeConfig{}))
	custom, err := agent.New(agent.Config{Name: "custom", SubAgents: []agent.Agent{withToolset}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		parts []adkreflect.Part
		want  []string
	}{
		{"tools and sub-agents", adkreflect.Parts(agentWith(t, "root", []tool.Tool{function(t, "own"), nil}, agentWith(t, "sub", []tool.Tool{function(t, "below")}))),
			[]string{"root", "root, tool own", "sub", "sub, tool below"}},
		{"agents that run as tools", adkreflect.Parts(agentWith(t, "root", []tool.Tool{helper, agenttool.New(shared, nil)})), []string{
			"helper, tool inside, within helper", "helper, tool shared, within helper", "helper, within helper",
			"root", "root, tool helper", "root, tool shared", "shared, tool deep, within helper", "shared, within helper"}},
		{"one agent behind a tool and below", adkreflect.Parts(agentWith(t, "root", []tool.Tool{agenttool.New(shared, nil)}, shared)), []string{
			"root", "root, tool shared", "shared", "shared, tool deep", "shared, tool deep, within shared", "shared, within shared"}},
		{"a tool that names its agent", adkreflect.ToolParts(&agentRunner{function(t, "runs"), shared}), []string{
			"shared", "shared, tool deep", "tool runs"}},
		{"a wrapper around an agent tool", adkreflect.ToolParts(&wrapper{helper}), []string{
			"helper, tool inside, within helper", "helper, tool shared, within helper", "helper, within helper",
			"shared, tool deep, within helper", "shared, within helper", "tool helper"}},
		{"a toolset", adkreflect.Parts(custom), []string{"custom", "remote", "remote, toolset set"}},
		{"agents of the host's own", adkreflect.Parts(embedding{hosted{Agent: shared}}), []string{"shared", "shared, tool deep"}},
		{"a workflow", adkreflect.Parts(workflowOf(t, "flow", toolNode(t, "first"), worker,
			must(workflow.NewAgentNode(agentWith(t, "thinker", []tool.Tool{function(t, "thought")}), workflow.NodeConfig{})),
			must(workflow.NewWorkflowNode("inner", workflow.Chain(workflow.Start, toolNode(t, "innermost")))))), []string{
			"flow", "flow, node all", "flow, node each, tool each", "flow, node first, tool first", "flow, node inner",
			"flow, node innermost, tool innermost", "flow, node thinker", "thinker", "thinker, tool thought"}},
		{"nothing", adkreflect.Parts(nil), nil},
		{"no tool", adkreflect.ToolParts(nil), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, described(tt.parts)); d != "" {
				t.Errorf("parts (-want +got):\n%s", d)
			}
		})
	}
}

// A tool that was told to ask for a confirmation shows it.
func TestAsks(t *testing.T) {
	of := func(cfg functiontool.Config) tool.Tool {
		t.Helper()
		cfg.Name = "f"
		f, err := functiontool.New(cfg, func(agent.Context, struct{}) (map[string]any, error) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	streamed, err := functiontool.NewStreaming(functiontool.Config{Name: "s", RequireConfirmation: true},
		func(agent.Context, struct{}) iter.Seq2[string, error] { return nil })
	if err != nil {
		t.Fatal(err)
	}
	in := func(always bool, provider tool.ConfirmationProvider) tool.Tool {
		t.Helper()
		tools, err := tool.WithConfirmation(toolset{of(functiontool.Config{})}, always, provider).Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		return tools[0]
	}
	for _, tt := range []struct {
		name string
		tool tool.Tool
		want bool
	}{
		{"a function", of(functiontool.Config{}), false},
		{"a function that always asks", of(functiontool.Config{RequireConfirmation: true}), true},
		{"a function that decides", of(functiontool.Config{RequireConfirmationProvider: func(struct{}) bool { return false }}), true},
		{"a streaming one", streamed, true},
		{"one of a toolset that always asks", in(true, nil), true},
		{"one of a toolset that decides", in(false, func(string, any) bool { return false }), true},
		{"one of a toolset that never asks", in(false, nil), false},
		{"a wrapper of the host's", &wrapper{of(functiontool.Config{RequireConfirmation: true})}, true},
		{"none", nil, false},
	} {
		if got := adkreflect.Asks(tt.tool); got != tt.want {
			t.Errorf("%s: asks %v, want %v", tt.name, got, tt.want)
		}
	}
}
