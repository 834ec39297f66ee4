// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What one branch of a dynamic node hands to another stands on no edge of the graph: the plan of the
// second rests on it all the same. Flows have the nodes that stand in a chain.
func TestEvidenceHandedOnInAWorkflow(t *testing.T) {
	const own = "Reels"
	m := newMarket(t)
	m.set(own, "$40,000")
	h := cgtest.New(t, m.open)
	find := agentNode(t, llmagent.Config{Name: "finder", Tools: h.Tools[:1],
		Model: scripted(calls("search", map[string]any{"query": cgtest.Item}), says("Found."))})
	buy := agentNode(t, llmagent.Config{Name: "buyer", Tools: h.Tools[:2],
		Model: scripted(calls("search", map[string]any{"query": own}), buys, says("Done."))})
	lead := workflow.NewDynamicNode("lead", func(ctx agent.Context, in any, _ func(*session.Event) error) (any, error) {
		if _, err := workflow.RunNode[any](ctx, find, "find something", workflow.WithUseSubBranch()); err != nil {
			return nil, err
		}
		return workflow.RunNode[any](ctx, buy, "buy "+cgtest.Item, workflow.WithUseSubBranch())
	}, workflow.NodeConfig{})
	cgtest.ServeWorkflow(t, h, workflow.Chain(workflow.Start, lead), func(*runner.Config) {})
	asked := adktest.Confirmations(h.Say("go"))
	if len(asked) != 1 {
		t.Fatalf("%d confirmations, want 1", len(asked))
	}
	m.rise()
	h.Answer(cgtest.SessionID, asked[0].ID, true)
	h.WantBought(0)
	h.WantStates(safety.StateBlocked)
}

func agentNode(t *testing.T, cfg llmagent.Config) workflow.Node {
	t.Helper()
	n, err := workflow.NewAgentNode(cgtest.NewAgent(t, cfg), workflow.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
