// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestReference holds what comes back from a dataset against what the tests of the
// Python implementation say of it, by the numbers of docs/internal/reference-behaviours.md.
func TestReference(t *testing.T) {
	x := newExtractTest(t, func(c *config.BigQuery) { c.Graph.GQL = new(false) })
	declared := `{"entities": [{"type": "Campaign", "value": "Summer", "artifact_uri": "gs://plans/summer.json"}]}`
	x.insert(
		extractRow{id: "e1", typ: record.UserMessageReceived, span: "s1", second: 1, content: `{"text_summary": "plan"}`},
		extractRow{id: "e2", typ: record.ToolCompleted, span: "s2", second: 2, content: `{"tool": "plan", "result": {"ok": true}}`, attributes: declared},
		extractRow{id: "e3", typ: record.StateDelta, span: "s3", second: 3, attributes: `{"state_delta": {"a": 1}}`},
		extractRow{id: "f1", typ: record.UserMessageReceived, session: "flat", span: "s1", second: 1, content: `{"text_summary": "alone"}`},
		extractRow{id: "f2", typ: record.StateDelta, session: "flat", span: "s2", second: 2},
	)
	x.exec("UPDATE " + x.names.Quote(x.names.Events()) + " SET parent_span_id = 's1' WHERE event_id = 'e2'")
	since, to := extractStart.Add(-time.Hour), extractStart.Add(time.Hour)
	flat := record.Session{App: "media", User: "ann", ID: "flat"}
	sync := func(t *testing.T, s record.Session) bigquery.SyncReport {
		t.Helper()
		rows, err := x.dataset.ReadSession(t.Context(), s, since, to)
		if err != nil {
			t.Fatal(err)
		}
		g, err := warehouse.NewSessionGraph(s, graphsync.Fold(nil, rows))
		if err != nil {
			t.Fatal(err)
		}
		w := x.dataset.GraphWriter()
		defer w.Close()
		r, err := w.Write(t.Context(), from(g, warehouse.WriterDataset, "", 1))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	counted := func() string {
		return strings.Join(append(x.rows("SELECT COUNT(*) FROM "+x.names.Quote(warehouse.BizNodes)), x.rows("SELECT COUNT(*) FROM "+x.names.Quote(warehouse.CrossLinks))...), " ")
	}
	t.Run("28_entities_are_linked_to_their_steps", func(t *testing.T) {
		if r := sync(t, extractSession); r.Entities != 1 {
			t.Errorf("%+v", r)
		}
		got := x.rows("SELECT l.link_type, n.span_id, e.node_value FROM " + x.names.Quote(warehouse.CrossLinks) + " AS l JOIN " + x.names.Quote(warehouse.TechNodes) + " AS n ON n.node_key = l.node_key JOIN " +
			x.names.Quote(warehouse.BizNodes) + " AS e ON e.biz_key = l.biz_key")
		if !slices.Equal(got, []string{"EVALUATED | s2 | Summer"}) {
			t.Errorf("links %v", got)
		}
	})
	t.Run("23_storing_twice_changes_nothing", func(t *testing.T) {
		before := counted()
		sync(t, extractSession)
		if after := counted(); before != "1 1" || after != before {
			t.Errorf("%s rows, then %s", before, after)
		}
	})
	scope := func(s record.Session) ask.Scope { return ask.Scope{Session: s, From: since, To: to} }
	t.Run("36_a_trace_has_the_edge_between_two_steps", func(t *testing.T) {
		g, err := x.dataset.Graph(t.Context(), scope(extractSession))
		if err != nil {
			t.Fatal(err)
		}
		tr := g.Trace()
		if len(g.Edges()) != 1 || len(tr.Roots) != 2 || tr.Roots[0].Node.SpanID != "s1" || tr.Roots[0].Children[0].Node.SpanID != "s2" || g.Edges()[0].To != tr.Roots[0].Children[0].Node.Key {
			t.Errorf("%+v", tr)
		}
	})
	seen := x.names.Quote(warehouse.BizNodes) + " WHERE session_id = '" + extractSession.ID + "'"
	t.Run("40_the_document_of_an_entity_is_read_back", func(t *testing.T) {
		if got := x.rows("SELECT artifact_uri FROM " + seen); !slices.Equal(got, []string{"gs://plans/summer.json"}) {
			t.Errorf("%q", got)
		}
	})
	t.Run("41_the_document_is_among_the_inputs_of_a_check", func(t *testing.T) {
		steps := x.rows("SELECT node_key FROM " + seen)
		if len(steps) != 1 {
			t.Fatalf("%q", steps)
		}
		g, err := x.dataset.Graph(t.Context(), scope(extractSession))
		if err != nil {
			t.Fatal(err)
		}
		seen, err := g.SeenBefore(steps[0])
		if err != nil || len(seen) != 1 || seen[0].ArtifactURI != "gs://plans/summer.json" || seen[0].LastSeen.IsZero() {
			t.Fatalf("%+v, %v", seen, err)
		}
		if key := (entity.Entity{Type: "Campaign", Value: "Summer"}).CanonicalKey(); seen[0].Key != key {
			t.Errorf("key %s, want %s", seen[0].Key, key)
		}
	})
	t.Run("95_a_trace_without_edges_has_all_events", func(t *testing.T) {
		rows, err := x.dataset.ReadSession(t.Context(), flat, since, to)
		if err != nil {
			t.Fatal(err)
		}
		g := graphsync.Fold(nil, rows).Graph()
		if len(g.Edges()) != 0 || len(g.Trace().Timeline) != 2 {
			t.Errorf("%+v", g.Trace())
		}
	})
}
