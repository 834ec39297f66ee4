// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

const chained = 10

// chains are ten function nodes one behind the other: a workflow of ADK, the same as a flow, and as a graph whose edges
// have conditions.
func chains(t testing.TB) map[string]agent.Agent {
	f := func(agent.Context, any) (string, error) { return "ok", nil }
	nodes := []workflow.Node{workflow.Start}
	g := flow.New("w")
	last := flow.Start
	for i := range chained {
		name := fmt.Sprintf("n%d", i)
		nodes = append(nodes, workflow.NewFunctionNode(name, f, workflow.NodeConfig{}))
		g.Node(name, flow.FuncNode(f))
		from := last
		if i == 0 {
			g.Edge(from, name)
		} else {
			g.Edge(from, name, flow.When("ok", func(s flow.State) bool { return flow.Get[string](s, from) == "ok" }))
		}
		last = name
	}
	agents := make(map[string]agent.Agent)
	for name, build := range map[string]func() (agent.Agent, error){
		"adk": func() (agent.Agent, error) {
			return workflowagent.New(workflowagent.Config{Name: "w", Edges: workflow.Chain(nodes...)})
		},
		"flow": func() (agent.Agent, error) {
			return flow.Agent(workflowagent.Config{Name: "w", Edges: workflow.Chain(nodes...)})
		},
		"graph": g.Agent,
	} {
		a, err := build()
		if err != nil {
			t.Fatal(err)
		}
		agents[name] = a
	}
	return agents
}

// runChain runs the chain in a session of its own and returns the number of events.
func runChain(t testing.TB, a agent.Agent) int {
	r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	events, err := adktest.TryRun(t.Context(), r, "alice", "s1", adktest.UserText("go"))
	if err != nil {
		t.Fatal(err)
	}
	return len(events)
}

// TestOverhead: a node of a graph costs at most 25 allocations over ADK's, and not one event.
func TestOverhead(t *testing.T) {
	agents := chains(t)
	want := runChain(t, agents["adk"])
	base := testing.AllocsPerRun(50, func() { runChain(t, agents["adk"]) })
	for _, name := range []string{"flow", "graph"} {
		if got := runChain(t, agents[name]); got != want {
			t.Errorf("%s: %d events, ADK has %d", name, got, want)
		}
		more := (testing.AllocsPerRun(50, func() { runChain(t, agents[name]) }) - base) / chained
		t.Logf("%s: %.1f allocations a node over ADK", name, more)
		if more > 25 {
			t.Errorf("%s: %.1f allocations a node over ADK, want at most 25", name, more)
		}
	}
}
