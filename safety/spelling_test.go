// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Things that differ in case or white space alone may be two in the world: each is checked by
// its own name, against what was read of it.
func TestSpellingsAreThingsOfTheirOwn(t *testing.T) {
	for _, test := range []struct {
		name  string
		moved string // what costs more now
	}{{"neither", ""}, {"the one", "a1"}, {"the other", "A1"}} {
		small, capital := called("a1", readAt("$10"), inArgs(nil)), called("A1", readAt("$20"), inArgs(nil))
		b := newBench(t, nil, capital, small)
		a := b.ask()
		if len(a.Entities) != 2 {
			t.Fatalf("%d entities", len(a.Entities))
		}
		for _, e := range []entity.Canonical{small, capital} {
			if e.Value == test.moved {
				b.world.put(e, "price", usd("$99"))
			}
		}
		r := b.check()
		if test.moved == "" {
			wantSafe(t, r)
			continue
		}
		wantDrift(t, r, safety.PriceChanged)
		if got := r.Alerts()[0].Entity; got != test.moved {
			t.Errorf("%s: alert about %s", test.name, got)
		}
	}
}

// What the plan names in two spellings is bought twice, each at its own price; what was
// only looked at costs nothing.
func TestBudgetOfSpellings(t *testing.T) {
	for name, test := range map[string]struct {
		everything bool
		seen       []entity.Canonical
		want       string
	}{
		"both bought":              {false, []entity.Canonical{called("a1", readAt("$10"), inArgs(nil)), called("A1", readAt("$20"), inArgs(nil))}, "$30"},
		"one bought":               {false, []entity.Canonical{called("a1", readAt("$10"), inArgs(nil)), called("A1", readAt("$20"))}, "$10"},
		"everything":               {true, []entity.Canonical{called("a1", readAt("$10"), inArgs(nil)), called("A1", readAt("$20"))}, "$30"},
		"one bought, named twice":  {false, []entity.Canonical{called("a1", readAt("$10"), inArgs(nil), inArgs(nil)), called("A1", readAt("$20"))}, "$20"},
		"two readings, both alike": {false, []entity.Canonical{called("a1", readAt("$10"), readAt("$10"), inArgs(nil))}, "$10"},
	} {
		rule := fits
		rule.Everything = test.everything
		b := newBench(t, within(rule), append(test.seen, thing("Budget", "q3", values{"amount": usd("$1")}))...)
		b.ask()
		r := b.check()
		wantDrift(t, r, safety.BudgetExceeded)
		if a := r.Alerts()[0]; a.Before != test.want || a.After != test.want {
			t.Errorf("%s: the plan costs %s, want %s", name, a.After, test.want)
		}
	}
}

// A budget, a price and a quantity that are only claimed are none.
func TestBudgetOfClaims(t *testing.T) {
	budgetOf := func(seen ...entity.Entity) entity.Canonical {
		e := sighted("Budget", "$9", seen...)
		e.Norm = usd("$9")
		return e
	}
	amount := func(source entity.Source, v string) entity.Entity { return saidBy(source, values{"amount": usd(v)}) }
	product := called("x", readAt("$10"), inArgs(nil))
	for _, test := range []struct {
		name     string
		unseen   safety.Unseen
		budget   entity.Canonical
		byValue  bool
		product  entity.Canonical
		quantity string
		want     []string
	}{
		{name: "read", budget: budgetOf(amount(entity.SourceRule, "$10")), product: product},
		{name: "read and claimed otherwise", budget: budgetOf(amount(entity.SourceRule, "$5"), amount(entity.SourceClaim, "$10")), product: product,
			want: []string{"$10 -> $10: Change the plan ..."}},
		{name: "claimed", budget: budgetOf(amount(entity.SourceAction, "$10")), product: product,
			want: []string{"policy: it cannot be shown that what the plan costs now fits its Budget: nothing has shown amount of Budget $9"}},
		{name: "claimed, and that is allowed", unseen: safety.UnseenAllow, budget: budgetOf(amount(entity.SourceAction, "$10")), product: product},
		{name: "claimed, allowed and too small", unseen: safety.UnseenAllow, budget: budgetOf(amount(entity.SourceAction, "$9")), product: product,
			want: []string{"$10 -> $10: Change the plan ..."}},
		{name: "a value that was read", byValue: true, budget: budgetOf(amount(entity.SourceRule, "$1")), product: product, want: []string{"$10 -> $10: ..."}},
		{name: "a value that is claimed", byValue: true, budget: budgetOf(amount(entity.SourceAction, "$1")), product: product,
			want: []string{"policy: it cannot be shown that what the plan costs now fits its Budget: nothing has shown its value of Budget $9"}},
		{name: "a value that is claimed, and that is allowed", byValue: true, unseen: safety.UnseenAllow, budget: budgetOf(amount(entity.SourceAction, "$1")), product: product,
			want: []string{"$10 -> $10: ..."}},
		{name: "a quantity of the arguments", quantity: "quantity", budget: budgetOf(amount(entity.SourceRule, "$20")),
			product: called("x", readAt("$10"), inArgs(values{"quantity": number(2)}))},
		{name: "a quantity that a person says", quantity: "quantity", budget: budgetOf(amount(entity.SourceRule, "$20")),
			product: called("x", readAt("$10"), saidBy(entity.SourceClaim, values{"quantity": number(2)}), inArgs(nil)),
			want:    []string{"policy: it cannot be shown that what the plan costs now fits its Budget: quantity of Product x is not known"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				rule := fits
				rule.QuantityAttribute = test.quantity
				if test.byValue {
					rule.LimitAttribute = ""
				}
				within(rule)(cfg)
				cfg.Policy.Rules["quantity"] = safety.Rule{Drift: safety.Changed, Optional: true}
				cfg.Policy.Types = map[string]safety.TypePolicy{"Budget": {Optional: true, Unseen: test.unseen}}
			}, test.budget, test.product)
			b.ask()
			said(t, b.check(), test.want...)
		})
	}
}

// What it cost when it was approved is not known of what was only claimed then.
func TestBudgetOfAClaimedPrice(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		within(fits)(cfg)
		cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {Unseen: safety.UnseenAllow}}
	}, called("x", inArgs(values{"price": usd("$10")})), thing("Budget", "q3", values{"amount": usd("$1")}))
	b.ask()
	said(t, b.check(), "not known -> $10: Change the plan ...")
}
