// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"encoding/json"
	"os"
	"path/filepath"
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
		{"a tool that saves", []string{record.ToolStarting, record.ToolCompleted, record.ArtifactDelta}, nil, graphsync.KindTool, "some_tool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 {
				r := &recorder{t: t, run: "1"}
				for _, typ := range tt.types {
					e := r.add(typ, "root", "S", "", m{"tool": "some_tool"}, nil)
					e.Attributes = r.json(m{"adk": tt.adk})
				}
				nodes := graphsync.Fold(nil, r.rows).Graph().Nodes()
				if len(nodes) != 1 || nodes[0].Kind != tt.kind || nodes[0].Name != tt.named {
					t.Errorf("%+v, want one %s %s", nodes, tt.kind, tt.named)
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

// An answer leads back to its request, whatever was asked for.
func TestRequestsAreResumed(t *testing.T) {
	for _, tt := range []struct{ request, answer string }{
		{record.HITLInputRequest, record.HITLInputRequestCompleted},
		{record.HITLCredentialRequest, record.HITLCredentialRequestCompleted},
	} {
		r := &recorder{t: t}
		r.turn("1", "R1")
		r.add(tt.request, "root", "Q", "R1", m{"tool": "ask"}, m{"call_id": "c1"})
		from := r.key("Q")
		r.turn("2", "R2")
		r.add(tt.answer, "root", "R2", "", m{"tool": "ask"}, m{"call_id": "c1"})
		to := r.key("R2")
		want := graphsync.Edge{From: from, To: to, Kind: graphsync.Resumes}
		if edges := graphsync.Fold(nil, r.rows).Graph().Edges(); !slices.Contains(edges, want) {
			t.Errorf("%s: edges %v, want %v", tt.request, edges, want)
		}
	}
}

// Rows that only the Python plugin writes may stand in one table with ours.
func TestRowsOfThePythonPlugin(t *testing.T) {
	files, err := filepath.Glob("../tests/contract/testdata/python/*.json")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []struct {
			EventID    string          `json:"event_id"`
			EventType  string          `json:"event_type"`
			Agent      string          `json:"agent"`
			TraceID    string          `json:"trace_id"`
			SpanID     string          `json:"span_id"`
			Content    json.RawMessage `json:"content"`
			Attributes json.RawMessage `json:"attributes"`
			Status     string          `json:"status"`
		}
		if err := json.Unmarshal(data, &rows); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, row := range rows {
			if row.EventType != record.AgentStateCheckpoint && row.EventType != record.EventCompaction {
				continue
			}
			found[row.EventType] = true
			nodes := graphsync.Fold(nil, []record.Event{{
				EventID: row.EventID, EventType: row.EventType, Agent: row.Agent, TraceID: row.TraceID, SpanID: row.SpanID,
				Content: row.Content, Attributes: row.Attributes, Status: row.Status,
			}}).Graph().Nodes()
			if len(nodes) != 1 || nodes[0].Kind != graphsync.KindAgent || nodes[0].Name != row.Agent {
				t.Errorf("%s: %s is %+v, want the agent's span", file, row.EventType, nodes)
			}
		}
	}
	if len(found) != 2 {
		t.Errorf("the fixtures have rows of %v, want both types that ADK for Go has no source for", found)
	}
}
