// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

var testTime = time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)

func node(name string) graphsync.TechNode {
	return graphsync.TechNode{
		Key: graphsync.TechNodeKey(testSession, "t", name), Session: testSession, TraceID: "t", SpanID: name, ParentSpanID: "p",
		Kind: graphsync.KindTool, Name: name, Agent: "buyer", InvocationID: "inv", Branch: "a.b", CallID: "c",
		Start: testTime, End: testTime.Add(time.Second), Status: "ERROR", ErrorMessage: "no", LatencyMS: 1.5,
		EventTypes: []string{"TOOL_STARTING"}, EventIDs: []string{"e-" + name},
	}
}

func found(typ, value, span, eventID string, source entity.Source) entity.Entity {
	price, err := entity.Money("40000", "USD")
	if err != nil {
		panic(err)
	}
	return entity.Entity{
		Type: typ, Value: value, Norm: price, Attributes: map[string]entity.Value{"price": price, "availability": entity.Bool(true)},
		ArtifactURI: "gs://x", Confidence: 0.5, Source: source, EventID: eventID,
		TechNode: graphsync.TechNodeKey(testSession, "t", span), SpanID: span, SeenAt: testTime,
	}
}

func edge(from, to string, kind graphsync.EdgeKind) graphsync.Edge {
	return graphsync.Edge{From: graphsync.TechNodeKey(testSession, "t", from), To: graphsync.TechNodeKey(testSession, "t", to), Kind: kind}
}

func publication(watermark int64, es ...entity.Entity) graphsync.Publication {
	return graphsync.Publication{
		Session: testSession, Entities: es, At: testTime,
		Nodes: []graphsync.TechNode{node("a"), node("b")}, Edges: []graphsync.Edge{edge("a", "b", graphsync.Informs)},
		Receipt: graphsync.Receipt{Watermark: watermark, RowsRead: int(watermark), Version: "v"},
	}
}

func publish(t *testing.T, j *journal.Journal, p graphsync.Publication) {
	t.Helper()
	if err := j.Publish(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// graphOf reads everything that was published.
func graphOf(t *testing.T, j *journal.Journal) (p graphsync.Publication) {
	t.Helper()
	var errs [4]error
	p.Session, p.At = testSession, testTime
	p.Nodes, errs[0] = j.Nodes(t.Context(), testSession)
	p.Edges, errs[1] = j.Edges(t.Context(), testSession)
	p.Entities, errs[2] = j.Entities(t.Context(), testSession)
	p.Receipt, _, errs[3] = j.LastReceipt(t.Context(), testSession)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestPublishRoundTrip(t *testing.T) {
	j := openJournal(t, nil)
	bare := graphsync.TechNode{Key: "k", Session: testSession, Kind: graphsync.KindOther}
	plain := entity.Entity{Type: "Product", Value: "x", EventID: "e9", Source: entity.SourceDeclared, TechNode: "k"}
	repeated := found("Product", "y", "b", "e-b", entity.SourceRule)
	repeated.Echoes = []string{"availability", "price"}
	p := publication(7, found("Budget", "$40,000", "a", "e-a", entity.SourceRule), plain, repeated)
	p.Nodes = append(p.Nodes, bare)
	p.Receipt.Failed, p.Receipt.Truncated, p.Receipt.Errors = 2, 1, []string{"row e: bad", "row f: bad"}
	if _, ok, err := j.LastReceipt(t.Context(), testSession); ok || err != nil {
		t.Errorf("a receipt before anything was published: %v", err)
	}
	publish(t, j, p)
	for range 2 { // the second time nothing differs
		if d := cmp.Diff(p, graphOf(t, j)); d != "" {
			t.Fatalf("graph differs (-want +got):\n%s", d)
		}
		publish(t, j, p)
	}

	conn := connect(t, j.Path())
	for want, query := range map[int64]string{
		1: `SELECT count(*) FROM extracted_biz_nodes AS n JOIN context_cross_links AS l ON l.node = n.id
			WHERE n.biz_node_id = 'a:Budget:$40,000' AND l.link_id = n.biz_node_id AND l.biz_node_id = n.biz_node_id
			AND l.span_id = 'a' AND l.session_id = 's-1' AND l.link_type = 'EVALUATED' AND l.artifact_uri = 'gs://x'
			AND l.tech_node_key = n.tech_node_key AND l.created_at = n.created_at AND n.trace_id = 't'
			AND n.canonical_key = 'Budget:money:40000:USD'`,
		testTime.UnixMicro(): `SELECT max(created_at) FROM extracted_biz_nodes`,
		2:                    `SELECT count(*) FROM context_cross_links WHERE link_type = 'EVALUATED'`,
		3:                    `SELECT count(*) FROM context_cross_links WHERE link_type = 'EVALUATED' OR link_type = 'NAMED' AND span_id = 'b'`,
	} {
		if got := selectInt(t, conn, query); got != want {
			t.Errorf("%s = %d, want %d", query, got, want)
		}
	}
}

// names returns the entities as type/value/span/source, in the order stored.
func names(es []entity.Entity) []string {
	var out []string
	for _, e := range es {
		out = append(out, fmt.Sprintf("%s/%s/%s/%s", e.Type, e.Value, e.SpanID, e.Source))
	}
	return out
}

func TestPublishEntities(t *testing.T) {
	rule, model := entity.SourceRule, entity.SourceModel
	a := found("Product", "A", "a", "e1", rule)
	b := found("Product", "B", "b", "e2", rule)
	changed := a
	changed.Confidence = 0.9
	tests := []struct {
		name      string
		before    []entity.Entity
		watermark int64 // of the second publication; the first has 5
		after     []entity.Entity
		extracted []string
		failed    []string // spans with a row that failed
		want      []string
	}{
		{"vanished from a row that was read", []entity.Entity{a, b}, 6, []entity.Entity{a}, []string{"e1", "e2"}, nil,
			[]string{"Product/A/a/rule"}},
		{"kept for a row that failed", []entity.Entity{a, b}, 6, []entity.Entity{a}, []string{"e1"}, nil,
			[]string{"Product/A/a/rule", "Product/B/b/rule"}},
		{"kept when another row of its span failed", []entity.Entity{a, b}, 6, nil, []string{"e1", "e2"}, []string{"b"},
			[]string{"Product/B/b/rule"}},
		{"kept when a model found it", []entity.Entity{a, found("Product", "M", "b", "e2", model)}, 6, []entity.Entity{a}, []string{"e1", "e2"}, nil,
			[]string{"Product/A/a/rule", "Product/M/b/model"}},
		{"an exact source replaces a model", []entity.Entity{found("Product", "A", "a", "e1", model)}, 6, []entity.Entity{a}, []string{"e1"}, nil,
			[]string{"Product/A/a/rule"}},
		{"a model does not replace an exact source", []entity.Entity{a}, 6, []entity.Entity{found("Product", "A", "a", "e1", model)}, nil, nil,
			[]string{"Product/A/a/rule"}},
		{"the same thing in two spans", nil, 6, []entity.Entity{a, found("Product", "A", "b", "e2", rule)}, nil, nil,
			[]string{"Product/A/a/rule", "Product/A/b/rule"}},
		{"moved to another row", []entity.Entity{a}, 6, []entity.Entity{found("Product", "A", "a", "e2", rule)}, []string{"e1", "e2"}, nil,
			[]string{"Product/A/a/rule"}},
		{"a publication from fewer rows adds only", []entity.Entity{a}, 4, []entity.Entity{b}, []string{"e1", "e2"}, nil,
			[]string{"Product/A/a/rule", "Product/B/b/rule"}},
		{"a publication from fewer rows replaces nothing", []entity.Entity{changed}, 4, []entity.Entity{a}, []string{"e1", "e2"}, nil,
			[]string{"Product/A/a/rule"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, nil)
			publish(t, j, publication(5, tt.before...))
			p := publication(tt.watermark, tt.after...)
			p.Extracted = tt.extracted
			for _, span := range tt.failed {
				p.Failed = append(p.Failed, graphsync.TechNodeKey(testSession, "t", span))
			}
			publish(t, j, p)
			got := graphOf(t, j)
			if d := cmp.Diff(tt.want, names(got.Entities)); d != "" {
				t.Errorf("entities differ (-want +got):\n%s", d)
			}
			if got.Receipt.Watermark != max(5, tt.watermark) {
				t.Errorf("watermark %d", got.Receipt.Watermark)
			}
			links := selectInt(t, connect(t, j.Path()), "SELECT count(*) FROM context_cross_links")
			if links != int64(len(tt.want)) {
				t.Errorf("%d links for %d entities", links, len(tt.want))
			}
			if strings.HasSuffix(tt.name, "replaces nothing") && got.Entities[0].Confidence != changed.Confidence {
				t.Error("an older extraction replaced a newer one")
			}
		})
	}
}

func TestPublishReplacesNodesAndEdges(t *testing.T) {
	j := openJournal(t, nil)
	publish(t, j, publication(5))
	p := publication(6)
	p.Nodes = []graphsync.TechNode{node("a"), node("c")}
	p.Nodes[0].Status, p.Nodes[0].EventIDs = "OK", []string{"e-a", "e-a2"}
	p.Edges = []graphsync.Edge{edge("a", "c", graphsync.Contains), edge("a", "c", graphsync.Informs)}
	publish(t, j, p)
	if d := cmp.Diff(p, graphOf(t, j)); d != "" {
		t.Errorf("graph differs (-want +got):\n%s", d)
	}

	older := publication(5)
	older.Nodes, older.Edges = []graphsync.TechNode{node("a"), node("d")}, nil
	publish(t, j, older)
	got := graphOf(t, j)
	if len(got.Nodes) != 3 || len(got.Edges) != 2 || got.Nodes[0].Status != "OK" {
		t.Errorf("an older publication replaced or removed something: %+v", got)
	}
}

func TestPublishIsAllOrNothing(t *testing.T) {
	j := openJournal(t, nil)
	want := publication(5, found("Product", "A", "a", "e1", entity.SourceRule))
	publish(t, j, want)
	old := graphOf(t, j)

	late := publication(6)
	late.Nodes, late.Extracted = []graphsync.TechNode{node("a")}, []string{"e1"}
	late.Edges = []graphsync.Edge{edge("a", "nowhere", graphsync.Informs)}
	foreign := publication(6)
	foreign.Nodes[1].Session.User = "bob"
	invalid := publication(6, entity.Entity{Type: "Product", TechNode: "k", EventID: "e"})
	for name, tt := range map[string]struct {
		p    graphsync.Publication
		want string
	}{
		"edge to nowhere":         {late, "unknown node"},
		"node of another session": {foreign, "belongs to session"},
		"entity without a value":  {invalid, "value is empty"},
	} {
		err := j.Publish(t.Context(), tt.p)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if d := cmp.Diff(old, graphOf(t, j)); d != "" {
			t.Errorf("%s left a trace (-want +got):\n%s", name, d)
		}
	}
}

func TestPublishKeepsSessionsApart(t *testing.T) {
	j := openJournal(t, nil)
	publish(t, j, publication(5, found("Product", "A", "a", "e1", entity.SourceRule)))
	other := testSession
	other.User = "bob"
	empty := graphsync.Publication{Session: other, Extracted: []string{"e1"}, At: testTime, Receipt: graphsync.Receipt{Watermark: 9}}
	publish(t, j, empty)
	got := graphOf(t, j)
	if len(got.Nodes) != 2 || len(got.Edges) != 1 || len(got.Entities) != 1 || got.Receipt.Watermark != 5 {
		t.Errorf("a publication of another session changed %+v", got)
	}
}

// TestPublishNoticesEveryChange changes one field at a time: what is not written
// again must not have changed.
func TestPublishNoticesEveryChange(t *testing.T) {
	nodes := map[string]func(*graphsync.TechNode){
		"parent":       func(n *graphsync.TechNode) { n.ParentSpanID = "q" },
		"kind":         func(n *graphsync.TechNode) { n.Kind = graphsync.KindHITL },
		"name":         func(n *graphsync.TechNode) { n.Name = "other" },
		"agent":        func(n *graphsync.TechNode) { n.Agent = "other" },
		"invocation":   func(n *graphsync.TechNode) { n.InvocationID = "other" },
		"branch":       func(n *graphsync.TechNode) { n.Branch = "" },
		"call":         func(n *graphsync.TechNode) { n.CallID = "other" },
		"start":        func(n *graphsync.TechNode) { n.Start = n.Start.Add(time.Microsecond) },
		"end":          func(n *graphsync.TechNode) { n.End = n.End.Add(time.Microsecond) },
		"status":       func(n *graphsync.TechNode) { n.Status = "OK" },
		"error":        func(n *graphsync.TechNode) { n.ErrorMessage = "" },
		"latency":      func(n *graphsync.TechNode) { n.LatencyMS = 1.25 },
		"event types":  func(n *graphsync.TechNode) { n.EventTypes = []string{"TOOL_STARTING", "TOOL_ERROR"} },
		"event ids":    func(n *graphsync.TechNode) { n.EventIDs = []string{"e"} },
		"moved fields": func(n *graphsync.TechNode) { n.Branch, n.CallID = n.CallID, n.Branch },
	}
	for name, change := range nodes {
		t.Run("node "+name, func(t *testing.T) {
			j := openJournal(t, nil)
			p := publication(5)
			publish(t, j, p)
			change(&p.Nodes[1])
			publish(t, j, p)
			if d := cmp.Diff(p, graphOf(t, j)); d != "" {
				t.Errorf("graph differs (-want +got):\n%s", d)
			}
		})
	}
	entities := map[string]func(*entity.Entity){
		"norm":       func(e *entity.Entity) { e.Norm = entity.Value{} },
		"attributes": func(e *entity.Entity) { e.Attributes = map[string]entity.Value{"availability": entity.Bool(false)} },
		"artifact":   func(e *entity.Entity) { e.ArtifactURI = "" },
		"confidence": func(e *entity.Entity) { e.Confidence = 0.25 },
		"source":     func(e *entity.Entity) { e.Source = entity.SourceDeclared },
		"event":      func(e *entity.Entity) { e.EventID = "e2" },
		"time":       func(e *entity.Entity) { e.SeenAt = e.SeenAt.Add(time.Microsecond) },
	}
	for name, change := range entities {
		t.Run("entity "+name, func(t *testing.T) {
			j := openJournal(t, nil)
			p := publication(5, found("Product", "A", "a", "e1", entity.SourceRule))
			publish(t, j, p)
			change(&p.Entities[0])
			publish(t, j, p)
			if d := cmp.Diff(p, graphOf(t, j)); d != "" {
				t.Errorf("graph differs (-want +got):\n%s", d)
			}
		})
	}
}
