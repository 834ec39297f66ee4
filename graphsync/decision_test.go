// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

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

// A row after the decision neither removes nor changes what the decision rests on.
func TestLaterSightingsChangeNothing(t *testing.T) {
	r := decidedBetween(t)
	before := fold(t, stateRules(), r.rows).Graph()
	wantWhy, want := why(t, before, r.key("H")), evidence(t, before, r.key("H"))
	diff(t, "why before", []string{"Budget $50,000 0: (action) H", "Product Reels 0: (named) A / T / H"}, wantWhy)
	reels := want[1]
	if got := reels.Attributes["price"].Canonical() + " " + reels.Attributes["status"].Canonical(); got != "money:40000:USD text:new" {
		t.Errorf("the decision rests on %s", got)
	}

	r.after()
	after := fold(t, stateRules(), r.rows).Graph()
	diff(t, "why after", wantWhy, why(t, after, r.key("H")))
	diff(t, "evidence after", want, evidence(t, after, r.key("H")))
	// The session as a whole knows the latest.
	all := after.Canonical()
	if len(all) != 3 || all[2].Attributes["price"].Canonical() != "money:52000:USD" || all[2].Attributes["status"].Canonical() != "text:gone" {
		t.Errorf("%v", all)
	}
	if len(after.Entities()) != 3 {
		t.Errorf("%d entities of the spans, want 3", len(after.Entities()))
	}
}

// An exact sighting after the decision does not take a model's place before it.
func TestModelSightingBeforeAnExactOne(t *testing.T) {
	r := decidedBetween(t)
	r.after()
	r.found(r.rows[4].EventID, m{"type": "Product", "value": "Later", "confidence": 0.6})
	got := evidence(t, fold(t, stateRules(), r.rows).Graph(), r.key("H"))
	if len(got) != 3 || got[1].Value != "Later" || got[1].Confidence != 0.6 || !slices.Equal(got[1].Sources, []entity.Source{entity.SourceModel}) {
		t.Errorf("evidence %v", got)
	}
}

// A row that fails gives nothing, and takes nothing from the other rows of its span. Those after the
// decision do not stand in for it.
func TestFailedRowBesideOthers(t *testing.T) {
	r := decidedBetween(t)
	r.after()
	for i := range r.rows {
		if r.rows[i].EventType == record.StateDelta {
			r.rows[i].Content = []byte("cut off")
			break
		}
	}
	s := graphsync.Fold(compile(t, stateRules()), r.rows)
	if c := s.Counts(); c.Failed != 1 {
		t.Fatalf("%d rows failed: %s", c.Failed, c.Error)
	}
	got := evidence(t, s.Graph(), r.key("H"))
	if len(got) != 2 || len(got[1].Attributes) != 1 || got[1].Attributes["price"].Canonical() != "money:40000:USD" {
		t.Errorf("the decision rests on %v", got)
	}
}
