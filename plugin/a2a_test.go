// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestA2ARowsOfEvents(t *testing.T) {
	metadata := func(m map[string]any) *session.Event {
		return &session.Event{ID: "e", LLMResponse: model.LLMResponse{CustomMetadata: m}}
	}
	partial := metadata(m{"a2a:response": m{"n": 0}})
	partial.Partial = true
	sink, r := recorded(t, recorder.Config{}, emits(t, "root",
		partial,
		metadata(m{"a2a:task_id": "t1"}),
		metadata(m{"a2a:task_id": "t1", "a2a:response": m{"n": 1}, "other": 1}),
		metadata(m{"a2a:task_id": "t1", "a2a:response": m{"n": 1}}),
		metadata(m{"a2a:task_id": "t2", "a2a:response": m{"n": 1}}),
		metadata(m{"a2a:request": m{"q": 1}, "a2a:error": "gone"}),
	))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	row := func(content any, metadata m) shape {
		return shape{
			Type: record.A2AInteraction, Agent: "root", Status: "OK", Content: content,
			Attributes: m{"adk": m{"source_event_id": fresh}, "a2a_metadata": metadata},
		}
	}
	rows := sink.Of(record.A2AInteraction)
	diff(t, "rows", []shape{
		row(m{"n": 1.0}, m{"a2a:task_id": "t1", "a2a:response": m{"n": 1.0}}),
		row(m{"n": 1.0}, m{"a2a:task_id": "t2", "a2a:response": m{"n": 1.0}}),
		row(nil, m{"a2a:request": m{"q": 1.0}, "a2a:error": "gone"}),
	}, shapesOf(t, rows))
	if got := string(rows[2].Content); got != "null" {
		t.Errorf("content = %q, want null", got)
	}
}
