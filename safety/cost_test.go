// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A person sees the cost of a plan against its budgets in the request and in the report of a check.
func TestCosts(t *testing.T) {
	everything, elsewhere, unknown := fits, fits, fits
	everything.Everything, elsewhere.Tool, unknown.LimitType = true, "other_*", "Quota"
	hidden := claimed("Budget", "b", values{"amount": usd("$9")})
	long, err := entity.ParseNumber("1." + strings.Repeat("1", 60))
	if err != nil {
		t.Fatal(err)
	}
	squared := fits
	squared.QuantityAttribute = "price"
	for _, tt := range []struct {
		name     string
		rules    []safety.BudgetRule
		entities []entity.Canonical
		now      map[string]entity.Value // price by value
		asked    []safety.Cost
		checked  []safety.Cost // nil for what was asked, and seen
		hint     string
	}{
		{name: "no rule", entities: plan()},
		{name: "a rule for another tool", rules: []safety.BudgetRule{elsewhere}, entities: plan()},
		{name: "at the budget", rules: []safety.BudgetRule{fits}, entities: plan(),
			asked:   []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$200,000"}},
			checked: []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$200,000", Now: "$200,000"}},
			hint:    "Planned cost: $200,000 of Budget $200,000."},
		{name: "beyond the budget", rules: []safety.BudgetRule{fits}, entities: plan(), now: map[string]entity.Value{"Strava": usd("$52,000")},
			asked:   []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$200,000"}},
			checked: []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$200,000", Now: "$212,000", Exceeded: true}},
			hint:    "Planned cost: $200,000 of Budget $200,000."},
		{name: "several rules", rules: []safety.BudgetRule{unknown, everything, elsewhere, fits}, entities: plan(),
			asked: []safety.Cost{
				{BudgetType: "Quota", Seen: "$200,000"},
				{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$280,000"},
				{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$200,000"},
			},
			checked: []safety.Cost{
				{BudgetType: "Quota", Seen: "$200,000"},
				{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$280,000", Now: "$280,000", Exceeded: true},
				{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$200,000", Now: "$200,000"},
			},
			hint: "Planned cost: $280,000 of Budget $200,000, $200,000 of Budget $200,000."},
		{name: "a budget that nothing has shown", rules: []safety.BudgetRule{fits}, entities: []entity.Canonical{hidden, plan()[1]},
			asked: []safety.Cost{{BudgetType: "Budget", Budget: "b", Seen: "$70,000"}}},
		{name: "a budget in words", rules: []safety.BudgetRule{fits},
			entities: []entity.Canonical{thing("Budget", "b", values{"amount": entity.Text("much")}), plan()[1]},
			asked:    []safety.Cost{{BudgetType: "Budget", Budget: "b", Seen: "$70,000"}}},
		{name: "another currency", rules: []safety.BudgetRule{fits},
			entities: []entity.Canonical{thing("Budget", "b", values{"amount": usd("€9")}), plan()[1]},
			asked:    []safety.Cost{{BudgetType: "Budget", Budget: "b", Limit: "€9", Seen: "$70,000"}},
			hint:     "Planned cost: $70,000 of Budget €9."},
		{name: "nothing of the action", rules: []safety.BudgetRule{fits}, entities: []entity.Canonical{budget, plan()[4]},
			asked: []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000"}}},
		{name: "a price that was not read", rules: []safety.BudgetRule{fits},
			entities: []entity.Canonical{budget, bought("Product", "P", values{"x": number(1)}, nil)}, now: map[string]entity.Value{"P": usd("$6")},
			asked:   []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000"}},
			checked: []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Now: "$6"}}},
		{name: "a price that cannot be read now", rules: []safety.BudgetRule{fits}, entities: plan(), now: map[string]entity.Value{"Strava": {}},
			asked: []safety.Cost{{BudgetType: "Budget", Budget: "$200,000", Limit: "$200,000", Seen: "$200,000"}},
			hint:  "Planned cost: $200,000 of Budget $200,000."},
		{name: "too many digits", rules: []safety.BudgetRule{squared},
			entities: []entity.Canonical{thing("Budget", "b", values{"amount": number(2)}), bought("Product", "P", values{"price": long}, nil)},
			asked:    []safety.Cost{{BudgetType: "Budget", Budget: "b", Limit: "2"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, within(tt.rules...), tt.entities...)
			a := b.ask()
			if diff := cmp.Diff(tt.asked, a.Costs); diff != "" {
				t.Errorf("costs of the request (-want +got):\n%s", diff)
			}
			if got := a.Hint("Buy"); tt.hint != "" && !strings.Contains(got, ". "+tt.hint+" ") || tt.hint == "" && strings.Contains(got, "Planned cost") {
				t.Errorf("hint %q, want %q in it", got, tt.hint)
			}
			var shown []safety.Cost
			data, err := json.Marshal(a.Shown()["costs"])
			if err = errors.Join(err, json.Unmarshal(data, &shown)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.asked, shown); diff != "" {
				t.Errorf("costs that a person is shown (-want +got):\n%s", diff)
			}
			for name, v := range tt.now {
				b.world.put(find(t, b, name), "price", v)
			}
			r := b.check()
			want := tt.checked
			if want == nil {
				want = tt.asked
			}
			if diff := cmp.Diff(want, r.Costs()); diff != "" {
				t.Errorf("costs of the check (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCostsAreACopy(t *testing.T) {
	b := newBench(t, within(fits), plan()...)
	a := b.ask()
	a.Clone().Costs[0].Seen = "$1"
	r := b.check()
	r.Costs()[0].Now = "$1"
	if a.Costs[0].Seen != "$200,000" || r.Costs()[0].Now != "$200,000" {
		t.Errorf("asked %+v, checked %+v", a.Costs, r.Costs())
	}
}

// The ledger has no costs: they are computed from what it has.
func TestCostsAreNotStored(t *testing.T) {
	b := newBench(t, within(fits), plan()...)
	a := b.ask()
	stored, err := b.ledger.Get(t.Context(), a.ID)
	if err != nil || stored.Costs != nil || stored.Shown()["costs"] != nil {
		t.Errorf("costs %+v, error %v", stored.Costs, err)
	}
}
