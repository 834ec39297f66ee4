// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// nodeShape is the shape of a row of a workflow node.
func nodeShape(typ, path, run, parentRun string, content any, adk m) shape {
	node := m{"path": path}
	if run != "" {
		node["run_id"] = run
	}
	if parentRun != "" {
		node["parent_run_id"] = parentRun
	}
	all := m{"source_event_id": fresh, "node": node}
	for k, v := range adk {
		all[k] = v
	}
	return shape{Type: typ, Agent: "wf", Status: "OK", Content: content, Attributes: m{"adk": all}}
}

// The children of a dynamic node have their outputs before it has one, so they stand
// beside it, below the agent. A node that ran before has a row to stand below.
func TestDynamicNodes(t *testing.T) {
	child := constant("child", "c")
	root := workflow.NewDynamicNode("root", func(ctx agent.Context, _ any, emit func(*session.Event) error) (string, error) {
		if _, err := workflow.RunNode[m](ctx, child, nil); err != nil {
			return "", err
		}
		ev := session.NewEvent(ctx, ctx.InvocationID())
		ev.Actions.StateDelta = m{"half": true}
		if err := emit(ev); err != nil {
			return "", err
		}
		_, err := workflow.RunNode[m](ctx, child, nil)
		return "all", err
	}, workflow.NodeConfig{})
	sink, r := recorded(t, recorder.Config{}, workflowOf(t, workflow.Chain(workflow.Start, root)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rows := sink.Of(record.NodeOutput)
	diff(t, "rows", []shape{
		nodeShape(record.NodeOutput, "wf@1/root@1/child@1", "1", "1", m{"is": "c"}, nil),
		nodeShape(record.NodeOutput, "wf@1/root@1/child@2", "2", "1", m{"is": "c"}, nil),
		nodeShape(record.NodeOutput, "wf@1/root@1", "1", "1", "all", nil),
	}, shapesOf(t, rows))
	wf, delta := one(t, sink, record.AgentStarting).SpanID, one(t, sink, record.StateDelta)
	if rows[0].ParentSpanID != wf || rows[1].ParentSpanID != rows[2].SpanID || rows[2].ParentSpanID != wf {
		t.Errorf("parents %s, %s, %s", rows[0].ParentSpanID, rows[1].ParentSpanID, rows[2].ParentSpanID)
	}
	if delta.SpanID != rows[2].SpanID {
		t.Error("what the dynamic node emits does not stand on its span")
	}
	checkParents(t, sink.Rows())
}

// A loop runs a node again under the same path. Each activation is a span.
func TestLoopedNode(t *testing.T) {
	n := 0
	body := workflow.NewEmittingFunctionNode("body", func(ctx agent.Context, _ any, emit func(*session.Event) error) (int, error) {
		n++
		if n < 3 {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Routes = []string{"again"}
			if err := emit(ev); err != nil {
				return 0, err
			}
		}
		return n, nil
	}, workflow.NodeConfig{})
	edges := workflow.NewEdgeBuilder().Add(workflow.Start, body).AddRoute(body, body, workflow.StringRoute("again")).Build()
	sink, r := recorded(t, recorder.Config{}, workflowOf(t, edges))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	spans := make(map[string]bool)
	for _, e := range sink.Of(record.NodeOutput) {
		spans[e.SpanID] = true
	}
	if n != 3 || len(spans) != 3 {
		t.Errorf("%d activations on %d spans, want three on three", n, len(spans))
	}
}

func TestNodeErrors(t *testing.T) {
	failed := func(message string) []shape {
		s := nodeShape(record.NodeError, "wf@1/fails@1", "1", "1", m{"error_code": "QUOTA"}, nil)
		s.Status, s.Message = "ERROR", message
		return []shape{s}
	}
	for _, tt := range []struct {
		code, message string
		want          []shape
	}{
		{"SAFETY", "", nil},
		{string(genai.BlockedReasonJailbreak), "", nil},
		{"QUOTA", "no more today", failed("no more today")},
		{"QUOTA", "", failed("QUOTA")},
	} {
		t.Run(tt.code+tt.message, func(t *testing.T) {
			fails := workflow.NewEmittingFunctionNode("fails", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
				ev := session.NewEvent(ctx, ctx.InvocationID())
				ev.ErrorCode, ev.ErrorMessage = tt.code, tt.message
				return nil, emit(ev)
			}, workflow.NodeConfig{})
			sink, r := recorded(t, recorder.Config{}, workflowOf(t, workflow.Chain(workflow.Start, fails)))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rows := sink.Of(record.NodeError)
			diff(t, "rows", tt.want, shapesOf(t, rows))
			for _, e := range rows {
				if start := one(t, sink, record.AgentStarting); e.SpanID == start.SpanID || e.ParentSpanID != start.SpanID {
					t.Error("the error does not stand on a span of its own below the workflow agent's")
				}
			}
			checkParents(t, sink.Rows())
		})
	}
}

func TestMessageAsOutput(t *testing.T) {
	sink, r := recorded(t, recorder.Config{}, emits(t, "root", &session.Event{
		ID: "e1", Output: "hello", NodeInfo: &session.NodeInfo{Path: "wf@1/root@1", MessageAsOutput: true},
	}))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	if n := len(sink.Of(record.NodeOutput)); n != 0 {
		t.Errorf("%d rows of NODE_OUTPUT, want none", n)
	}
}
