// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A span is what the row says that says most about it, in whatever order rows come.
func TestKindOfSpans(t *testing.T) {
	node := m{"node": m{"path": "wf@1/double@1"}}
	agent := m{"node": m{"path": "root"}}
	for _, tt := range []struct {
		name  string
		types []string
		adk   m
		kind  graphsync.NodeKind
		named string
	}{
		{"a node", []string{record.NodeOutput}, node, graphsync.KindNode, "double"},
		{"a node that failed", []string{record.NodeError}, node, graphsync.KindNode, "double"},
		{"a node with changes only", []string{record.StateDelta, record.ArtifactDelta}, node, graphsync.KindNode, "double"},
		{"a node without a path", []string{record.NodeOutput}, nil, graphsync.KindNode, "node"},
		{"an agent that is a node", []string{record.AgentStarting, record.StateDelta, record.NodeOutput, record.AgentCompleted}, agent, graphsync.KindAgent, "root"},
		{"an agent called by another node's name", []string{record.AgentStarting, record.NodeOutput, record.StateDelta}, node, graphsync.KindAgent, "root"},
		{"an agent by what it emits", []string{
			record.AgentTransfer, record.ToolPaused, record.A2AInteraction, record.ArtifactDelta, record.AgentStateCheckpoint, record.EventCompaction,
		}, agent, graphsync.KindAgent, "root"},
		{"an agent that failed", []string{record.AgentError}, nil, graphsync.KindAgent, "root"},
		{"a run that failed", []string{record.InvocationError}, nil, graphsync.KindInvocation, "invocation"},
		{"a run that brings an input", []string{record.UserMessageReceived, record.HITLInputRequestCompleted}, nil, graphsync.KindInvocation, "invocation"},
		{"a run that brings a late result", []string{record.UserMessageReceived, record.ToolCompleted}, m{"pause_kind": "tool"}, graphsync.KindInvocation, "invocation"},
		{"a late result", []string{record.ToolCompleted}, m{"pause_kind": "tool"}, graphsync.KindTool, "some_tool"},
		{"a request for an input", []string{record.HITLInputRequest, record.ToolPaused}, node, graphsync.KindHITL, "some_tool"},
		{"a request for a credential", []string{record.HITLCredentialRequest, record.ToolPaused}, agent, graphsync.KindHITL, "some_tool"},
		{"an agent that writes its state and asks", []string{record.AgentStarting, record.StateDelta, record.HITLConfirmationRequest}, nil, graphsync.KindAgent, "root"},
		{"an agent that answers", []string{record.AgentResponse}, nil, graphsync.KindAgent, "root"},
		{"an answer to an input", []string{record.HITLInputRequestCompleted}, nil, graphsync.KindInvocation, "invocation"},
		{"a type that nobody knows", []string{"SOMETHING_NEW"}, nil, graphsync.KindOther, "SOMETHING_NEW"},
		{"a tool that saves", []string{record.ToolStarting, record.ToolCompleted, record.ArtifactDelta}, nil, graphsync.KindTool, "some_tool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 {
				r := &recorder{t: t, run: "1"}
				for _, typ := range tt.types {
					e := r.add(typ, "root", "S", "", m{"tool": "some_tool"}, nil)
					e.Attributes = r.json(m{"adk": tt.adk})
				}
				g := graphsync.Fold(nil, r.rows).Graph()
				nodes := g.Nodes()
				if len(nodes) != 1 || nodes[0].Kind != tt.kind || nodes[0].Name != tt.named {
					t.Errorf("%+v, want one %s %s", nodes, tt.kind, tt.named)
				}
				if _, asks := g.Decision(); asks != slices.Contains(tt.types, record.HITLConfirmationRequest) {
					t.Errorf("it asks for an approval: %t", asks)
				}
				slices.Reverse(tt.types)
			}
		})
	}
}

// The id of a call that an agent waits for is not the id of a call that the agent is.
func TestPausesNameNoCall(t *testing.T) {
	r := &recorder{t: t, run: "1"}
	r.add(record.AgentStarting, "root", "A", "", nil, nil)
	r.add(record.ToolPaused, "root", "A", "", m{"tool": "order"}, m{"function_call_id": "c1"})
	if n := graphsync.Fold(nil, r.rows).Graph().Nodes()[0]; n.CallID != "" {
		t.Errorf("the agent's span has call id %s", n.CallID)
	}
}
