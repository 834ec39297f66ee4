// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"cmp"
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

// A row after the decision neither removes nor changes what the decision rests on, and takes no place
// of what a model found before it.
func TestLaterSightingsChangeNothing(t *testing.T) {
	r := decidedBetween(t)
	want := evidence(t, fold(t, stateRules(), r.rows).Graph(), r.key("H"))
	if reels := want[1].Attributes; reels["price"].String() != "$40,000" || reels["status"].String() != "new" {
		t.Errorf("the decision rests on %v", reels)
	}
	r.after()
	g := fold(t, stateRules(), r.rows).Graph()
	diff(t, "evidence", want, evidence(t, g, r.key("H")))
	// The session as a whole knows the latest.
	all := g.Canonical()
	if len(all) != 3 || len(g.Entities()) != 3 || all[2].Attributes["price"].String() != "$52,000" || all[2].Attributes["status"].String() != "gone" {
		t.Errorf("the session knows %v", all)
	}
	r.found(r.rows[4].EventID, m{"type": "Product", "value": "Later", "confidence": 0.6})
	got := evidence(t, fold(t, stateRules(), r.rows).Graph(), r.key("H"))
	if len(got) != 3 || got[1].Value != "Later" || got[1].Confidence != 0.6 || !slices.Equal(got[1].Sources, []entity.Source{entity.SourceModel}) {
		t.Errorf("with what a model found: %v", got)
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
