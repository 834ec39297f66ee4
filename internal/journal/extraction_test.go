// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

func spanRow(n int64, typ, span, parent, content string) record.Event {
	e := event(testSession, "r", n, typ)
	e.TraceID, e.SpanID, e.ParentSpanID, e.Content = "t", span, parent, []byte(content)
	return e
}

// TestSync runs the extraction of package graphsync against a real journal.
func TestSync(t *testing.T) {
	x, err := graphsync.Compile([]config.Extract{{Name: "p", Tool: "query", Each: "$.items[*]", Type: "Product", Value: "$.name"}})
	if err != nil {
		t.Fatal(err)
	}
	j := openJournal(t, nil)
	appendAll(t, j,
		spanRow(1, record.UserMessageReceived, "root", "", `{"text_summary":"buy"}`),
		spanRow(2, record.ToolStarting, "tool", "root", `{"tool":"query","args":{}}`),
		spanRow(3, record.ToolCompleted, "tool", "root", `{"tool":"query","result":{"items":[{"name":"B"},{"name":"A"}]}}`),
	)
	g, receipt, err := graphsync.NewSyncer(j, x).Sync(t.Context(), testSession)
	if err != nil {
		t.Fatal(err)
	}
	got := graphOf(t, j)
	if d := cmp.Diff(g.Nodes(), got.Nodes); d != "" {
		t.Errorf("nodes differ (-graph +journal):\n%s", d)
	}
	if len(got.Edges) != len(g.Edges()) || len(got.Edges) == 0 {
		t.Errorf("%d edges stored, %d in the graph", len(got.Edges), len(g.Edges()))
	}
	if d := cmp.Diff(names(g.Entities()), names(got.Entities)); d != "" || len(got.Entities) != 2 {
		t.Errorf("%d entities differ (-graph +journal):\n%s", len(got.Entities), d)
	}
	if d := cmp.Diff(receipt, got.Receipt); d != "" || receipt.Watermark != 3 {
		t.Errorf("receipt differs (-graph +journal):\n%s", d)
	}
}

func syncWith(t *testing.T, j *journal.Journal, rules ...config.Extract) *graphsync.Graph {
	t.Helper()
	x, err := graphsync.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := graphsync.NewSyncer(j, x).Sync(t.Context(), testSession)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSyncAroundADecision reads a span with a row before and a row after a request
// for approval: what the journal keeps of the later row must not hide the earlier.
func TestSyncAroundADecision(t *testing.T) {
	rule := config.Extract{
		Name: "state", In: config.InContent, Event: record.StateDelta, Type: "Product", Value: "$.name",
		Attributes: map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindNumber}},
	}
	j := openJournal(t, nil)
	request := spanRow(3, record.HITLConfirmationRequest, "ask", "agent", `{"tool":"buy","args":{}}`)
	decision := graphsync.TechNodeKey(request.Session(), "t", "ask")
	// check wants one product with a price, as of the decision.
	check := func(when string, g *graphsync.Graph, want string) {
		t.Helper()
		found, err := g.Why(decision)
		if err != nil || len(found) != 1 || found[0].Entity.Attributes["price"].String() != want {
			t.Errorf("%s: %v, %v; want one product for %s", when, found, err, want)
		}
	}
	appendAll(t, j,
		spanRow(1, record.AgentStarting, "agent", "", `"buy"`),
		spanRow(2, record.StateDelta, "agent", "", `{"name":"A","price":40}`),
		request,
	)
	check("before the later row", syncWith(t, j, rule), "40")
	appendAll(t, j, spanRow(4, record.StateDelta, "agent", "", `{"name":"A","price":52}`))
	for range 2 {
		check("after the later row", syncWith(t, j, rule), "40")
	}
	stored, err := j.Entities(t.Context(), testSession)
	if err != nil || len(stored) != 1 || stored[0].Attributes["price"].String() != "52" {
		t.Errorf("stored %v, %v; want one entity with the latest price", stored, err)
	}

	// Under new rules the first row fails and the later one, the last that gave the
	// product, gives nothing: the product stays, with the values that are stored.
	stricter := rule
	stricter.Each = "$[?@ == 40]"
	stricter.Value = "$"
	stricter.Attributes = map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindNumber}}
	for range 2 {
		check("while a row fails", syncWith(t, j, stricter), "52")
	}
	none := rule
	none.Each = "$.nothing"
	if found, err := syncWith(t, j, none).Why(decision); err != nil || len(found) != 0 {
		t.Errorf("%v, %v; want nothing when all rows are read and give nothing", found, err)
	}
}
