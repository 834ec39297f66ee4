// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestEventAttributes(t *testing.T) {
	ev := &session.Event{
		ID: "e1", Branch: "a.b", IsolationScope: "wf@1/task@2", Routes: []string{"yes", "no"},
		LLMResponse: model.LLMResponse{CustomMetadata: m{"tenant": "t1", "trace:id": 7.0, "other": "x"}},
		Actions:     session.EventActions{StateDelta: m{"k": "v"}},
	}
	sink, r := recorded(t, recorder.Config{Record: config.Record{Metadata: []string{"tenant", "trace:*"}}}, emits(t, "root", ev))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	diff(t, "row", shape{
		Type: record.StateDelta, Agent: "root", Status: "OK",
		Attributes: m{
			"adk": m{
				"source_event_id": fresh, "branch": "a.b",
				"scope": m{"id": "wf@1/task@2", "kind": "node_run"}, "route": []any{"yes", "no"},
			},
			"state_delta":     m{"k": "v"},
			"custom_metadata": m{"tenant": "t1", "trace:id": 7.0},
		},
	}, shapeOf(t, one(t, sink, record.StateDelta)))
}

// The step of a flow is written without being listed: not what the run began with, which the message has, and what an
// edge read only where payload may be written.
func TestFlowMetadata(t *testing.T) {
	for _, c := range []struct {
		policy config.ContentPolicy
		want   m
	}{
		{"", m{"run": "r1", "to": "b", "read": m{"valid": true}}},
		{config.ContentNone, m{"run": "r1", "to": "b"}},
	} {
		ev := &session.Event{
			ID: "e1", Actions: session.EventActions{StateDelta: m{"k": "v"}},
			LLMResponse: model.LLMResponse{CustomMetadata: m{"other": 1, "flow": m{"run": "r1", "to": "b", "input": "secretplan", "read": m{"valid": true}}}},
		}
		rec := config.Record{Content: map[string]config.ContentPolicy{}}
		if c.policy != "" {
			rec.Content[record.StateDelta] = c.policy
		}
		sink, r := recorded(t, recorder.Config{Record: rec}, emits(t, "root", ev))
		adktest.Run(t, r, "u", "s", adktest.UserText("go"))
		got := shapeOf(t, one(t, sink, record.StateDelta))
		diff(t, "metadata", m{"flow": c.want}, got.Attributes["custom_metadata"])
	}
}

// A step of a flow that has no output and changes nothing has a row all the same: it may hold the graph.
func TestSilentFlowStep(t *testing.T) {
	ev := func(id string) *session.Event {
		return &session.Event{
			ID: id, NodeInfo: &session.NodeInfo{Path: "w@1/a@1"},
			LLMResponse: model.LLMResponse{CustomMetadata: m{"flow": m{"run": "r1", "done": true}}},
		}
	}
	sink, r := recorded(t, recorder.Config{}, emits(t, "root", ev("e1"), ev("e2")))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	var spans []string
	for _, row := range sink.Rows() {
		if row.EventType != record.StateDelta {
			continue
		}
		got := shapeOf(t, row)
		diff(t, "metadata", m{"flow": m{"run": "r1", "done": true}}, got.Attributes["custom_metadata"])
		if got.Attributes["state_delta"] != nil {
			t.Errorf("the row has a state: %v", got.Attributes)
		}
		spans = append(spans, row.SpanID)
	}
	if len(spans) != 2 || spans[0] == spans[1] {
		t.Errorf("the rows of two steps have the spans %q, want two", spans)
	}
}

// A policy that leaves a payload out leaves it out where it stands under attributes.
func TestPolicyOfEventRows(t *testing.T) {
	ev := &session.Event{
		ID: "e1", Actions: session.EventActions{StateDelta: m{"secretplan": "v"}},
		LLMResponse: model.LLMResponse{
			Content:        genai.NewContentFromText("secretplan", genai.RoleModel),
			CustomMetadata: m{"a2a:request": m{"secretplan": 1}, "a2a:response": m{"secretplan": 2}, "a2a:task_id": "t1"},
		},
	}
	none := config.ContentNone
	sink, r := recorded(t, recorder.Config{Record: config.Record{Content: map[string]config.ContentPolicy{
		record.StateDelta: none, record.AgentResponse: none, record.A2AInteraction: none,
	}}}, emits(t, "root", ev))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	for _, typ := range []string{record.StateDelta, record.AgentResponse, record.A2AInteraction} {
		e := one(t, sink, typ)
		if s := string(e.Content) + string(e.Attributes); len(e.Content) > 0 || strings.Contains(s, "secretplan") {
			t.Errorf("%s: content %s, attributes %s; want no payload", typ, e.Content, e.Attributes)
		}
	}
}
