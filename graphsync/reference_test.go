// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"strings"
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
		r := &recorder{t: t}
		r.end("sp", "", "c1=find", m{"name": "Yahoo Homepage", "slot": "top"}, nil)
		rule := config.Extract{Name: "placement", Tool: "find", Type: "Product", Value: "$.name", Confidence: confidence, Attributes: attributes}
		got := fold(t, []config.Extract{rule}, r.rows).Graph().Entities()
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

	// spans folds rows, each "span parent", and returns its spans, "span parent" as well, in order.
	spans := func(t *testing.T, rows ...string) (*graphsync.Graph, []string) {
		r := &recorder{t: t}
		for _, row := range rows {
			span, parent, _ := strings.Cut(row, " ")
			r.add(record.AgentStarting, "", span, parent, nil, nil)
		}
		g := graphsync.Fold(nil, r.rows).Graph()
		var out []string
		for _, n := range g.Nodes() {
			out = append(out, strings.TrimSpace(n.SpanID+" "+n.ParentSpanID))
		}
		return g, out
	}
	t.Run("96_spans_without_an_edge_are_kept", func(t *testing.T) {
		g, got := spans(t, "s1", "s2 s1", "s3")
		diff(t, "spans", []string{"s1", "s2 s1", "s3"}, got)
		diff(t, "edges", []string{"s1>s2"}, edges(g, graphsync.Contains))
		if tr := g.Trace(); len(tr.Timeline) != 3 || len(tr.Roots) != 2 {
			t.Errorf("%d rows, %d roots", len(tr.Timeline), len(tr.Roots))
		}
	})
	t.Run("97_a_parent_that_is_learned_late_is_kept", func(t *testing.T) {
		// s2 is first named as a parent, then has a row without its own parent, then one with it.
		g, got := spans(t, "s3 s2", "s2", "s2 s1", "s1")
		diff(t, "spans", []string{"s3 s2", "s2 s1", "s1"}, got)
		if roots := g.Trace().Roots; len(roots) != 1 || roots[0].Node.SpanID != "s1" {
			t.Errorf("roots %v", roots)
		}
	})
	t.Run("98_rows_in_reverse_come_out_by_time", func(t *testing.T) {
		r := &recorder{t: t}
		for _, span := range []string{"s1", "s2", "s3"} {
			r.add(record.AgentStarting, "", span, "", nil, nil)
		}
		slices.Reverse(r.rows)
		for i := range r.rows {
			r.rows[i].Seq = 0
		}
		var got []string
		for _, e := range graphsync.Fold(nil, r.rows).Graph().Trace().Timeline {
			got = append(got, e.SpanID)
		}
		diff(t, "timeline", []string{"s1", "s2", "s3"}, got)
	})
}
