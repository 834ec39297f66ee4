// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestReference holds entities and traces against what the tests of the Python
// implementation say of them, by the numbers of docs/internal/reference-behaviours.md.
func TestReference(t *testing.T) {
	found := func(t *testing.T, confidence float64, attributes map[string]config.Attribute) entity.Entity {
		t.Helper()
		x := compile(t, []config.Extract{{
			Name: "placement", Tool: "find", In: config.InResult, Type: "Product", Value: "$.name", Confidence: confidence, Attributes: attributes,
		}})
		got := graphsync.Fold(x, []record.Event{{
			EventID: "e1", EventType: record.ToolCompleted, AppName: "a", UserID: "u", SessionID: "s", TraceID: "t", SpanID: "sp", Status: record.StatusOK,
			Content: []byte(`{"tool": "find", "result": {"name": "Yahoo Homepage", "slot": "top"}}`),
		}}).Graph().Entities()
		if len(got) != 1 {
			t.Fatalf("found %+v", got)
		}
		return got[0]
	}
	t.Run("01_an_entity_is_certain_and_bare_by_default", func(t *testing.T) {
		e := found(t, 0, nil)
		if e.Confidence != 1 || len(e.Attributes) != 0 || e.Type != "Product" || e.Value != "Yahoo Homepage" || e.SpanID != "sp" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("02_an_entity_keeps_confidence_and_attributes", func(t *testing.T) {
		e := found(t, 0.92, map[string]config.Attribute{"slot": {Path: "$.slot"}})
		if e.Confidence != 0.92 || e.Attributes["slot"] != entity.Text("top") {
			t.Errorf("%+v", e)
		}
	})

	row := func(n int64, span, parent string) record.Event {
		return record.Event{
			EventID: span + parent + string(rune('a'+n)), EventType: record.AgentStarting, AppName: "a", UserID: "u", SessionID: "s", TraceID: "t",
			SpanID: span, ParentSpanID: parent, Timestamp: 1_000_000 * n, Status: record.StatusOK,
		}
	}
	spans := func(g *graphsync.Graph) (ids, parents []string) {
		for _, n := range g.Nodes() {
			ids, parents = append(ids, n.SpanID), append(parents, n.ParentSpanID)
		}
		return ids, parents
	}
	t.Run("96_spans_without_an_edge_are_kept", func(t *testing.T) {
		g := graphsync.Fold(nil, []record.Event{row(1, "s1", ""), row(2, "s2", "s1"), row(3, "s3", "")}).Graph()
		tr := g.Trace()
		if ids, _ := spans(g); !slices.Equal(ids, []string{"s1", "s2", "s3"}) || len(tr.Timeline) != 3 || len(tr.Roots) != 2 || len(edges(g, graphsync.Contains)) != 1 {
			t.Errorf("spans %v, %d roots, edges %v", ids, len(tr.Roots), edges(g, graphsync.Contains))
		}
	})
	t.Run("97_a_parent_that_is_learned_late_is_kept", func(t *testing.T) {
		// s2 is first named as a parent, then has a row without its own parent, then one with it.
		g := graphsync.Fold(nil, []record.Event{row(1, "s3", "s2"), row(2, "s2", ""), row(3, "s2", "s1"), row(4, "s1", "")}).Graph()
		for _, n := range g.Nodes() {
			if want := map[string]string{"s1": "", "s2": "s1", "s3": "s2"}[n.SpanID]; n.ParentSpanID != want {
				t.Errorf("the parent of %s is %q, want %q", n.SpanID, n.ParentSpanID, want)
			}
		}
		if roots := g.Trace().Roots; len(roots) != 1 || roots[0].Node.SpanID != "s1" {
			t.Errorf("roots %v", roots)
		}
	})
	t.Run("98_rows_in_reverse_come_out_by_time", func(t *testing.T) {
		g := graphsync.Fold(nil, []record.Event{row(3, "s3", "s2"), row(2, "s2", "s1"), row(1, "s1", "")}).Graph()
		if ids, _ := spans(g); !slices.Equal(ids, []string{"s1", "s2", "s3"}) {
			t.Errorf("spans %v", ids)
		}
		var timeline []string
		for _, e := range g.Trace().Timeline {
			timeline = append(timeline, e.SpanID)
		}
		if !slices.Equal(timeline, []string{"s1", "s2", "s3"}) {
			t.Errorf("timeline %v", timeline)
		}
	})
}
