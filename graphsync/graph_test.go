// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestTechNodeKey(t *testing.T) {
	s := record.Session{App: "a", User: "b", ID: "c"}
	key := graphsync.TechNodeKey(s, "t", "p")
	if len(key) != 32 || key != graphsync.TechNodeKey(s, "t", "p") {
		t.Errorf("key %q", key)
	}
	for _, other := range []string{
		graphsync.TechNodeKey(record.Session{App: "ab", User: "", ID: "c"}, "t", "p"),
		graphsync.TechNodeKey(s, "tp", ""),
		graphsync.TechNodeKey(s, "t", "q"),
		graphsync.TechNodeKey(record.Session{App: "a", User: "B", ID: "c"}, "t", "p"),
	} {
		if other == key {
			t.Error("two spans have one key")
		}
	}
}

func TestSpans(t *testing.T) {
	r := &recorder{t: t}
	r.run, r.branch = "1", "par.a"
	r.add(record.ToolStarting, "", "T", "", m{"tool": "query", "args": m{}}, m{"call_id": "c1"})
	r.branch = ""
	r.add(record.ToolError, "root", "T", "P1", m{"tool": "query"}, nil)
	r.add(record.ToolCompleted, "root", "T", "P2", m{"tool": "query"}, nil)
	r.rows[1].Status, r.rows[1].ErrorMessage = record.StatusError, "boom"
	r.rows[1].LatencyMS = []byte(`{"total_ms":12.5}`)
	r.rows[2].Status, r.rows[2].LatencyMS = "", []byte(`{"total_ms":null}`)
	// Rows are folded in the order of recording, which time need not follow.
	r.rows[2].Timestamp = r.rows[0].Timestamp - 1000

	nodes := graphsync.Fold(nil, r.rows).Graph().Nodes()
	want := []graphsync.TechNode{{
		Key: r.key("T"), Session: testSession, TraceID: "trace-1", SpanID: "T", ParentSpanID: "P1", Kind: graphsync.KindTool, Name: "query",
		Agent: "root", InvocationID: "inv-1", Branch: "par.a", CallID: "c1",
		Start: time.UnixMicro(baseTime).UTC(), End: time.UnixMicro(baseTime + 2000).UTC(),
		Status: record.StatusError, ErrorMessage: "boom", LatencyMS: 12.5,
		EventTypes: []string{record.ToolStarting, record.ToolError, record.ToolCompleted},
		EventIDs:   []string{r.rows[0].EventID, r.rows[1].EventID, r.rows[2].EventID},
	}}
	diff(t, "nodes", want, nodes)

	r.rows[2].Status = record.StatusOK
	if n := graphsync.Fold(nil, r.rows).Graph().Nodes()[0]; n.Status != record.StatusOK || n.ErrorMessage != "" {
		t.Errorf("status %s %q, want that of the last row", n.Status, n.ErrorMessage)
	}
	r.rows[1].LatencyMS = nil
	if n := graphsync.Fold(nil, r.rows).Graph().Nodes()[0]; n.LatencyMS != 2 {
		t.Errorf("latency %v ms, want the time between the rows", n.LatencyMS)
	}
}

// Rows of a warehouse have no journal number, and several can share a microsecond.
func TestRowsOfOneInstant(t *testing.T) {
	r := &recorder{t: t}
	r.run = "1"
	for _, eventType := range []string{
		record.InvocationCompleted, record.AgentCompleted, record.StateDelta, record.ToolCompleted, record.ToolStarting,
		record.LLMResponse, record.LLMRequest, record.AgentStarting, record.InvocationStarting,
		record.HITLConfirmationRequestCompleted, record.UserMessageReceived,
	} {
		r.add(eventType, "root", "S", "", nil, nil)
	}
	want := []string{}
	for i := range r.rows {
		r.rows[i].Seq, r.rows[i].Timestamp = 0, baseTime
		want = append(want, r.rows[len(r.rows)-1-i].EventType)
	}
	diff(t, "order", want, graphsync.Fold(nil, r.rows).Graph().Nodes()[0].EventTypes)
}

func TestSameSpanIDInTwoTraces(t *testing.T) {
	r := &recorder{t: t}
	for _, run := range []string{"1", "2"} {
		r.turn(run, "R")
		r.llm("L", "R", "c"+run+"=query_ad_inventory")
		r.tool("T", "R", "c"+run+"=query_ad_inventory", m{}, placements("P"+run))
	}
	g := build(t, r.rows)
	if len(g.Nodes()) != 6 || len(g.Entities()) != 2 {
		t.Fatalf("%d nodes, %d entities, want 6 and 2", len(g.Nodes()), len(g.Entities()))
	}
	diff(t, "contains", []string{"R>L", "R>L", "R>T", "R>T"}, edges(g, graphsync.Contains))
	diff(t, "why of the first", []string{"Product P1 0: T"}, why(t, g, graphsync.TechNodeKey(testSession, "trace-1", "T")))
	diff(t, "why of the second", []string{"Product P2 0: T", "Product P1 2: T > L > T"}, why(t, g, graphsync.TechNodeKey(testSession, "trace-2", "T")))
}

func TestRowsWithoutASpan(t *testing.T) {
	r := delegate(t)
	before := build(t, r.rows)
	r.add(record.StateDelta, "", "", "", nil, nil)
	r.end("", "", "c77=query_ad_inventory", placements("Nowhere"), nil)
	last := r.add(record.AgentResponse, "", "", "missing", nil, nil)
	last.TraceID, last.InvocationID, last.Attributes, last.Content = "", "", nil, nil
	g := build(t, r.rows)
	diff(t, "edges", before.Edges(), g.Edges())
	nodes := g.Nodes()[len(before.Nodes()):]
	if len(nodes) != 3 {
		t.Errorf("%d nodes more, want 3", len(nodes))
	}
	for _, n := range nodes {
		if n.Kind != graphsync.KindOther || n.SpanID != "" || len(n.EventIDs) != 1 {
			t.Errorf("node %+v", n)
		}
	}
	found := g.Entities()
	if e := found[len(found)-1]; e.Value != "Nowhere" || e.BizNodeID() != ":Product:Nowhere" {
		t.Errorf("entity %+v", e)
	}
}

func TestNoEdgeGoesBack(t *testing.T) {
	r := &recorder{t: t}
	r.run = "1"
	r.add(record.AgentStarting, "a", "child", "parent", nil, nil)
	r.add(record.AgentStarting, "a", "self", "self", nil, nil)
	r.add(record.AgentStarting, "a", "parent", "child", nil, nil)
	r.tool("T0", "gone", "c1=query_audience", m{}, m{"audience": "x"}) // before it was asked for
	r.llm("L1", "parent", "c1=query_audience")
	r.add(record.HITLConfirmationRequestCompleted, "", "answer", "", nil, m{"confirmation_id": "conf"})
	r.add(record.HITLConfirmationRequest, "", "H", "", nil, m{"confirmation_id": "conf"})
	g := build(t, r.rows)
	order := map[string]int{}
	for i, n := range g.Nodes() {
		order[n.Key] = i
	}
	for _, e := range g.Edges() {
		if order[e.From] >= order[e.To] {
			t.Errorf("edge %v goes back", e)
		}
	}
	diff(t, "contains", []string{"child>parent", "parent>L1"}, edges(g, graphsync.Contains))
	diff(t, "informs", []string{"T0>L1"}, edges(g, graphsync.Informs))
	diff(t, "resumes", []string(nil), edges(g, graphsync.Resumes))
}

func TestCausesAndEffects(t *testing.T) {
	r := delegate(t)
	g := build(t, r.rows)
	names := func(nodes []graphsync.TechNode) []string {
		out := []string{}
		for _, n := range nodes {
			out = append(out, n.SpanID)
		}
		return out
	}
	diff(t, "causes", []string{"T3", "A2", "L4"}, names(g.Causes(r.key("H"), 2)))
	diff(t, "effects", []string{"A", "L1", "X1", "P"}, names(g.Effects(r.key("R"), 2)))
	diff(t, "effects of the last step", []string{}, names(g.Effects(r.key("H"), 5)))
	all := names(g.Causes(r.key("H"), 0))
	slices.Sort(all)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(g.Nodes())-1 || len(all) != len(once) {
		t.Errorf("causes %q, want each other of %d nodes once", all, len(g.Nodes()))
	}

	chain := &recorder{t: t, run: "1"}
	for i := range 30 {
		chain.add(record.AgentStarting, "a", fmt.Sprint("S", i), fmt.Sprint("S", i-1), nil, nil)
	}
	if got := build(t, chain.rows).Causes(chain.key("S29"), 0); len(got) != graphsync.DefaultHops {
		t.Errorf("%d causes within the default limit", len(got))
	}
}

// A later sighting without a typed value does not take the typed value away.
func TestTypedValueStays(t *testing.T) {
	r := &recorder{t: t, run: "1"}
	r.end("T", "", "c1=estimate", m{"cost": "$5"}, nil)
	r.add(record.EntitiesDeclared, "", "T", "", m{"tool": "estimate"}, m{"entities": []m{{"type": "Budget", "value": "$5"}}})
	r.end("T", "", "c1=estimate", m{"error": "gone"}, nil)
	rule := config.Extract{Name: "cost", Tool: "estimate", Type: "Budget", Value: "$.cost", ValueType: entity.KindMoney, Currency: "USD"}
	norm, err := entity.Money("5", "USD")
	if err != nil {
		t.Fatal(err)
	}
	got := fold(t, []config.Extract{rule}, r.rows).Graph().Entities()
	if len(got) != 1 || !got[0].Norm.Equal(norm) || got[0].Source != entity.SourceDeclared {
		t.Errorf("entities %+v", got)
	}
}

// What a model found in a span adds to what rules found there, in an earlier row and in a later one.
func TestModelAddsOnly(t *testing.T) {
	rules := adRules()
	rules[0].Confidence = 0.4
	rules[0].Attributes["status"] = config.Attribute{Path: "$.status"}
	for about := range 3 {
		r := &recorder{t: t, run: "1"}
		r.tool("T", "A", "c1=query_ad_inventory", m{}, m{"placements": []m{{"name": "Reels", "status": "open"}}})
		r.add(record.StateDelta, "", "T", "A", m{}, nil)
		text := func(s string) m { return m{"kind": "text", "value": s} }
		r.found(r.rows[about].EventID, m{
			"type": "Product", "value": "Reels", "confidence": 0.9, "artifact_uri": "gs://m",
			"attributes": m{"status": text("closed"), "reach": text("7")},
		})
		got := fold(t, rules, r.rows).Graph().Entities()
		diff(t, fmt.Sprint("found in row ", about), []string{"Product Reels (rule 0.9) reach=text:7 status=text:open gs://m"}, shown(got))
	}
}
