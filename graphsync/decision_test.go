// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// evidence returns all that led to a decision, by type, then key.
func evidence(t testing.TB, g *graphsync.Graph, decision string) []entity.Canonical {
	t.Helper()
	reasons, err := g.Why(decision, graphsync.WithHops(10_000))
	if err != nil {
		t.Fatal(err)
	}
	var out []entity.Canonical
	for _, r := range reasons {
		out = append(out, r.Entity)
	}
	slices.SortFunc(out, func(a, b entity.Canonical) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// Paths that share their ends are whole all the same, beyond the hop limit of Why too.
func TestWhyOfALongRun(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	for i := range 60 {
		call := fmt.Sprintf("c%d=query_ad_inventory", i)
		r.llm(fmt.Sprint("L", i), "R", call)
		r.tool(fmt.Sprint("T", i), "R", call, m{}, placements(fmt.Sprint("P", i)))
	}
	r.llm("last", "R", "ask=provision_campaign")
	r.ask("T", "R", "ask=provision_campaign", "H", "conf", m{"budget": 50000})
	g := build(t, r.rows)
	if got := why(t, g, r.key("H")); len(got) != 11 {
		t.Errorf("why gives %d reasons within its limit, want 11", len(got))
	}
	reasons, err := g.Why(r.key("H"), graphsync.WithHops(1000))
	if err != nil || len(reasons) != 61 {
		t.Fatalf("%d reasons, %v", len(reasons), err)
	}
	for _, reason := range reasons {
		first, last := reason.Path[0], reason.Path[len(reason.Path)-1]
		hops := 0
		for _, s := range reason.Path {
			if s.Edge == graphsync.Informs {
				hops++
			}
		}
		from := reason.Entity.Seen[0].TechNode
		if reason.Origin == graphsync.OriginAction {
			from = r.key("H")
		}
		if first.Node.Key != from || last.Node.SpanID != "H" || last.Edge != "" || hops != reason.Hops {
			t.Fatalf("%s: %d steps, %d of %d hops, from %s to %s", reason.Entity.Value, len(reason.Path), hops, reason.Hops, first.Node.SpanID, last.Node.SpanID)
		}
	}
}

// stateRules find products in the state of an agent, whose span holds many rows.
func stateRules() []config.Extract {
	return append(adRules(), config.Extract{
		Name: "state", In: config.InContent, Event: record.StateDelta, Each: "$.products[*]", Type: "Product", Value: "$.name",
		Attributes: map[string]config.Attribute{
			"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}, "status": {Path: "$.status", Optional: true},
		},
	})
}

// decidedBetween is a session whose agent writes its state before and after a
// request for approval.
func decidedBetween(t *testing.T) *recorder {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.agent("root", "A", "R")
	r.add(record.StateDelta, "root", "A", "R", m{"products": []any{m{"name": "Reels", "price": 10, "status": "new"}}}, nil)
	r.add(record.StateDelta, "root", "A", "R", m{"products": []any{m{"name": "Reels", "price": 40000}}}, nil)
	r.llm("L", "A", "c=provision_campaign")
	r.ask("T", "A", "c=provision_campaign", "H", "conf", m{"budget": 50000})
	return r
}

func (r *recorder) after() {
	r.add(record.StateDelta, "root", "A", "R", m{"products": []any{m{"name": "Reels", "price": 52000, "status": "gone"}, m{"name": "Later", "price": 1}}}, nil)
}

// A row after the decision neither removes nor changes what the decision rests on,
// whether the graph comes from the rows alone or over a store.
func TestLaterSightingsChangeNothing(t *testing.T) {
	x := compile(t, stateRules())
	r := decidedBetween(t)
	store := &memory{}
	sources := map[string]func() *graphsync.Graph{
		"rows": func() *graphsync.Graph { return graphsync.Build(r.rows, x.Extract(r.rows).Entities) },
		"store": func() *graphsync.Graph {
			store.rows = r.rows
			g, _, err := graphsync.NewSyncer(store, x).Sync(t.Context(), testSession)
			if err != nil {
				t.Fatal(err)
			}
			return g
		},
	}
	for name, graph := range sources {
		r.rows = decidedBetween(t).rows
		before := graph()
		wantWhy, want := why(t, before, r.key("H")), evidence(t, before, r.key("H"))
		diff(t, name+": why before", []string{"Budget $50,000 0: (action) H", "Product Reels 0: (named) A / T / H"}, wantWhy)
		reels := want[1]
		if got := reels.Attributes["price"].Canonical() + " " + reels.Attributes["status"].Canonical(); got != "money:40000:USD text:new" {
			t.Errorf("%s: the decision rests on %s", name, got)
		}

		r.after()
		for range 2 { // the second time over what the first one stored
			after := graph()
			diff(t, name+": why after", wantWhy, why(t, after, r.key("H")))
			diff(t, name+": evidence after", want, evidence(t, after, r.key("H")))
			// The session as a whole knows the latest.
			all := after.Canonical()
			if len(all) != 3 || all[2].Attributes["price"].Canonical() != "money:52000:USD" || all[2].Attributes["status"].Canonical() != "text:gone" {
				t.Errorf("%s: %v", name, all)
			}
			if len(after.Entities()) != 3 {
				t.Errorf("%s: %d entities of the spans, want 3", name, len(after.Entities()))
			}
		}
	}
}

// An exact sighting after the decision does not take a model's place before it.
func TestModelSightingBeforeAnExactOne(t *testing.T) {
	r := decidedBetween(t)
	r.after()
	found := compile(t, stateRules()).Extract(r.rows)
	said := entity.Entity{
		Type: "Product", Value: "Later", Source: entity.SourceModel, Confidence: 0.6, TechNode: r.key("A"),
		EventID: r.rows[4].EventID, SeenAt: time.UnixMicro(r.rows[4].Timestamp),
	}
	g := graphsync.Build(r.rows, append(found.Entities, said))
	got := evidence(t, g, r.key("H"))
	if len(got) != 3 || got[1].Value != "Later" || got[1].Confidence != 0.6 || !slices.Equal(got[1].Sources, []entity.Source{entity.SourceModel}) {
		t.Errorf("evidence %v", got)
	}
}

// A row that fails under new rules does not take away what it gave before, although
// a later row of its span was stored as the last one to give it.
func TestEntityOfAFailedRowIsKept(t *testing.T) {
	r := decidedBetween(t)
	r.after()
	store := &memory{rows: r.rows}
	sync := func(change func(*config.Extract)) (*graphsync.Graph, graphsync.Receipt) {
		rules := stateRules()
		change(&rules[len(rules)-1])
		g, receipt, err := graphsync.NewSyncer(store, compile(t, rules)).Sync(t.Context(), testSession)
		if err != nil {
			t.Fatal(err)
		}
		return g, receipt
	}
	values := func(g *graphsync.Graph) []string {
		out := []string{}
		for _, e := range evidence(t, g, r.key("H")) {
			out = append(out, e.Value)
		}
		return out
	}
	g, _ := sync(func(*config.Extract) {})
	diff(t, "under the old rules", []string{"$50,000", "Reels"}, values(g))

	// The first two rows fail, the last one, which gave Reels too, gives nothing. It
	// is not known any more that Later came from the last row alone, so it counts.
	strict := func(r *config.Extract) {
		r.Each = "$.products[?@.price < 50000 && @.name != 'Later']"
		r.Attributes["reach"] = config.Attribute{Path: "$.reach", Type: entity.KindNumber}
	}
	for range 2 {
		g, receipt := sync(strict)
		if receipt.Failed != 2 {
			t.Errorf("%d rows failed, want 2", receipt.Failed)
		}
		diff(t, "while rows fail", []string{"$50,000", "Later", "Reels"}, values(g))
	}
	// Once every row can be read, what none of them gives is out of date.
	g, receipt := sync(func(r *config.Extract) { r.Each = "$.nothing" })
	if receipt.Failed != 0 {
		t.Errorf("%d rows failed", receipt.Failed)
	}
	diff(t, "when all rows are read", []string{"$50,000"}, values(g))
}

// What is stored of an entity that the rows still give has the values of all its
// rows: next to a row that fails it must not stand in for the earlier ones.
func TestStoredValuesDoNotReplaceSightings(t *testing.T) {
	r := decidedBetween(t)
	r.after()
	for i := range r.rows {
		if r.rows[i].EventType == record.StateDelta {
			r.rows[i].Content = []byte("cut off")
			break
		}
	}
	g, receipt, err := graphsync.NewSyncer(&memory{rows: r.rows}, compile(t, stateRules())).Sync(t.Context(), testSession)
	if err != nil || receipt.Failed != 1 {
		t.Fatalf("%d rows failed, %v", receipt.Failed, err)
	}
	got := evidence(t, g, r.key("H"))
	if len(got) != 2 || len(got[1].Attributes) != 1 || got[1].Attributes["price"].Canonical() != "money:40000:USD" {
		t.Errorf("the decision rests on %v", got)
	}
}

// What is handed on beside models and tools is on no edge.
