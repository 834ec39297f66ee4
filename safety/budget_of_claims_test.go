// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

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
