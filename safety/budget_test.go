// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// plan is three placements in the arguments of the action and one that was only looked
// at, under the budget.
func plan() []entity.Canonical {
	available := func(price string) values { return values{"price": usd(price), "availability": entity.Bool(true)} }
	return []entity.Canonical{
		budget,
		bought("Product", "ESPN", available("$70,000"), nil),
		bought("Product", "Strava", available("$40,000"), nil),
		bought("Product", "Yahoo", available("$90,000"), nil),
		thing("Product", "Hulu", available("$80,000")),
	}
}

// within gives the guard budget rules.
func within(rules ...safety.BudgetRule) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) { cfg.Policy.Budgets = rules }
}

func find(t *testing.T, b *bench, value string) entity.Canonical {
	t.Helper()
	for _, e := range b.record.snap.Entities {
		if e.Value == value {
			return e
		}
	}
	t.Fatalf("no %s", value)
	return entity.Canonical{}
}

func TestBudgetExceeded(t *testing.T) {
	b := newBench(t, within(fits), plan()...)
	b.ask()
	wantSafe(t, b.check()) // exactly at the budget
	b.world.put(find(t, b, "Strava"), "price", usd("$52,000"))
	b.world.put(find(t, b, "Yahoo"), "availability", entity.Bool(false))
	out := b.answer(true)
	r := out.Report
	wantDrift(t, r, safety.PriceChanged, safety.Unavailable, safety.BudgetExceeded)
	if r.StaleEntities() != 2 || r.CheckFailed() || out.Reason != safety.CodeDrift {
		t.Errorf("%s", r.Summary())
	}
	want := safety.Alert{
		EntityType: "Budget", Entity: "$200,000", Attribute: "cost", Drift: safety.BudgetExceeded, Before: "$200,000", After: "$212,000",
		ChangePercent: new(6.0), Severity: 0.85,
		Recommendation: "Change the plan so that it costs no more than $200,000 (Budget $200,000), and ask for approval of the new plan.",
	}
	if diff := cmp.Diff(want, r.Alerts()[2]); diff != "" {
		t.Errorf("alert (-want +got):\n%s", diff)
	}
	if line := "  [budget_exceeded] Budget: $200,000: $200,000 -> $212,000 (+6%) (severity=0.85)\n"; !strings.HasSuffix(r.Summary(), line) {
		t.Errorf("summary:\n%s", r.Summary())
	}
}

// A plan may grow beyond its budget although no entity is stale.
func TestBudgetWithinTolerances(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		within(fits)(cfg)
		cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Tolerance: safety.Tolerance{Percent: 5}}
	}, plan()...)
	b.ask()
	b.world.put(find(t, b, "Strava"), "price", usd("$40,000.01"))
	r := b.check()
	wantDrift(t, r, safety.BudgetExceeded)
	if r.StaleEntities() != 0 || r.Alerts()[0].After != "$200,000.01" {
		t.Errorf("%s", r.Summary())
	}
	b.world.put(find(t, b, "ESPN"), "price", usd("$69,999.99"))
	wantSafe(t, b.check())
	// What was only looked at costs nothing.
	b.world.put(find(t, b, "Hulu"), "price", usd("$83,000"))
	wantSafe(t, b.check())
}

func TestBudgetSums(t *testing.T) {
	number := number[float64]
	for _, test := range []struct {
		name     string
		change   func(*safety.BudgetRule)
		entities []entity.Canonical
		now      map[string]entity.Value // price by value
		before   string                  // "" for safe
		after    string
	}{
		{name: "everything", change: func(b *safety.BudgetRule) { b.Everything = true }, entities: plan(),
			before: "$280,000", after: "$280,000"},
		{name: "quantities of the action", change: func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, entities: []entity.Canonical{
			budget, bought("Product", "P", values{"price": usd("$0.10")}, values{"quantity": number(2000001)}),
		}, before: "$200,000.10", after: "$200,000.10"},
		{name: "named twice", entities: []entity.Canonical{
			budget, sighted("Product", "P",
				entity.Entity{Attributes: values{"price": usd("$100,001")}, Source: entity.SourceRule, TechNode: "node-0"},
				entity.Entity{Source: entity.SourceAction, TechNode: "node-1", Repeats: 1}),
		}, before: "$200,002", after: "$200,002"},
		{name: "named twice by another action", entities: []entity.Canonical{
			budget, sighted("Product", "P",
				entity.Entity{Attributes: values{"price": usd("$100,001")}, Source: entity.SourceRule, TechNode: "node-0"},
				entity.Entity{Attributes: values{"price": usd("$100,001")}, Source: entity.SourceAction, TechNode: "node-0", Repeats: 1},
				entity.Entity{Source: entity.SourceAction, TechNode: "node-1"}),
		}},
		{name: "quantities that fit", change: func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, entities: []entity.Canonical{
			budget, bought("Product", "P", values{"price": usd("$0.10")}, values{"quantity": number(2000000)}),
		}},
		{name: "quantity that was seen", change: func(b *safety.BudgetRule) { b.QuantityAttribute, b.Everything = "quantity", true }, entities: []entity.Canonical{
			budget, thing("Product", "P", values{"price": usd("$1"), "quantity": number(1.5)}),
		}, now: map[string]entity.Value{"P": usd("$133,334")}, before: "$1.50", after: "$200,001"},
		{name: "quantities of this action, not of another", change: func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" },
			entities: []entity.Canonical{
				thing("Budget", "b", values{"amount": usd("$2")}),
				sighted("Product", "P",
					entity.Entity{Source: entity.SourceRule, TechNode: "node-0", Attributes: values{"price": usd("$1")}},
					entity.Entity{Source: entity.SourceAction, TechNode: "node-1", Attributes: values{"price": usd("$1"), "quantity": number(3)}},
					entity.Entity{Source: entity.SourceAction, TechNode: "node-0", Attributes: values{"quantity": number(1)}}),
			}, before: "$3", after: "$3"},
		{name: "of nothing", change: func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, entities: []entity.Canonical{
			budget, bought("Product", "P", values{"price": usd("$1")}, values{"quantity": number(0)}),
		}},
		{name: "a budget by its value", change: func(b *safety.BudgetRule) { b.LimitAttribute = "" }, entities: []entity.Canonical{
			sighted("Budget", "$5", entity.Entity{Norm: usd("$5"), Source: entity.SourceRule, Attributes: values{"amount": usd("$9")}}),
			bought("Product", "P", values{"price": usd("$5.01")}, nil),
		}, before: "$5.01", after: "$5.01"},
		{name: "the budget of the action", entities: []entity.Canonical{
			budget, bought("Budget", "mine", values{"amount": usd("$5")}, nil), bought("Product", "P", values{"price": usd("$6")}, nil),
		}, before: "$6", after: "$6"},
		{name: "the budget as it was approved", entities: []entity.Canonical{
			thing("Budget", "b", values{"amount": usd("$5")}), bought("Product", "P", values{"price": usd("$5")}, nil),
		}, now: map[string]entity.Value{"P": usd("$5")}},
		{name: "plain numbers", entities: []entity.Canonical{
			thing("Budget", "hours", values{"amount": number(40)}), bought("Product", "P", values{"price": number(40.5)}, nil),
		}, before: "40.5", after: "40.5"},
		{name: "exact decimals", change: func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, entities: []entity.Canonical{
			thing("Budget", "b", values{"amount": usd("$0.3")}), bought("Product", "P", values{"price": usd("$0.1"), "quantity": number(3)}, nil),
		}},
		{name: "a cost nobody saw", entities: []entity.Canonical{
			thing("Budget", "b", values{"amount": usd("$5")}), bought("Product", "P", values{"x": number(1)}, nil),
		}, now: map[string]entity.Value{"P": usd("$6")}, before: "not known", after: "$6"},
		{name: "a cost seen in another currency", entities: []entity.Canonical{
			thing("Budget", "b", values{"amount": usd("$5")}), bought("Product", "P", values{"price": usd("€4")}, nil),
			bought("Product", "Q", values{"price": usd("$4")}, nil),
		}, now: map[string]entity.Value{"P": usd("$4")}, before: "not known", after: "$8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := fits
			if test.change != nil {
				test.change(&rule)
			}
			b := newBench(t, func(cfg *safety.GuardConfig) {
				within(rule)(cfg)
				cfg.Policy.Rules["quantity"] = safety.Rule{Drift: safety.Changed, Optional: true}
			}, test.entities...)
			b.ask()
			for name, v := range test.now {
				b.world.put(find(t, b, name), "price", v)
			}
			r := b.check()
			var got []safety.Alert
			for _, a := range r.Alerts() {
				if a.Drift == safety.BudgetExceeded {
					got = append(got, a)
				}
			}
			switch {
			case r.CheckFailed():
				t.Errorf("%s", r.Summary())
			case test.after == "":
				if len(got) > 0 {
					t.Errorf("%s", r.Summary())
				}
			case len(got) != 1 || got[0].Before != test.before || got[0].After != test.after:
				t.Errorf("%s -> %s is what it costs; got\n%s", test.before, test.after, r.Summary())
			}
		})
	}
}

// What was found after the request costs something now, and cost nothing when it was
// approved; a budget that was found later is none.
func TestBudgetUnseen(t *testing.T) {
	b := newBench(t, within(fits), plan()...)
	b.ask()
	late := bought("Product", "Late", values{"price": usd("$1")}, nil)
	rich := bought("Budget", "Rich", values{"amount": usd("$900,000")}, nil)
	b.record.snap.Entities = append(slices.Clone(b.record.snap.Entities), late, rich)
	for _, e := range []entity.Canonical{late, rich} {
		b.world.states[e.Key] = safety.State{Attributes: maps.Clone(e.Attributes)}
	}
	r := b.check()
	wantDrift(t, r, safety.BudgetExceeded)
	if a := r.Alerts()[0]; a.Before != "$200,000" || a.After != "$200,001" || a.Entity != budget.Value {
		t.Errorf("%+v", a)
	}

	// An entity that turns out to be of the action later costs something too.
	b = newBench(t, within(fits), plan()...)
	b.ask()
	b.record.snap.Entities = slices.Clone(b.record.snap.Entities)
	b.record.snap.Entities[4] = bought("Product", "Hulu", values{"price": usd("$80,000")}, nil)
	r = b.check()
	wantDrift(t, r, safety.BudgetExceeded)
	if a := r.Alerts()[0]; a.After != "$280,000" {
		t.Errorf("%+v", a)
	}
}

func TestBudgetCannotBeEvaluated(t *testing.T) {
	line := func(attributes, arguments values) entity.Canonical {
		return bought("Product", "P", attributes, arguments)
	}
	fine := line(values{"price": usd("$5")}, nil)
	long, err := entity.ParseNumber("1." + strings.Repeat("1", 60))
	if err != nil {
		t.Fatal(err)
	}
	optional := func(cfg *safety.GuardConfig) {
		cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {Optional: true}}
	}
	answers := func(s safety.State, err error) func(*safety.GuardConfig) {
		return func(cfg *safety.GuardConfig) {
			optional(cfg)
			cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) { return s, err })
		}
	}
	good := safety.State{Attributes: values{"price": usd("$5")}, AsOf: epoch}
	for _, test := range []struct {
		name     string
		change   func(*safety.GuardConfig)
		rule     func(*safety.BudgetRule)
		entities []entity.Canonical
		want     string
	}{
		{"no budget", nil, nil, []entity.Canonical{fine}, "no Budget was approved with it: add a rule that finds it, and require it"},
		{"two budgets", nil, nil, []entity.Canonical{fine, budget, thing("Budget", "b", budget.Attributes)}, "2 entities are a Budget: name the one that counts"},
		{"two budgets of the action", nil, nil, []entity.Canonical{
			fine, bought("Budget", "a", budget.Attributes, nil), bought("Budget", "b", budget.Attributes, nil),
		}, "2 entities are a Budget"},
		{"a budget that is not required", func(cfg *safety.GuardConfig) { cfg.Policy.Require = safety.RequireNamed }, nil,
			[]entity.Canonical{fine, budget}, "and require it"},
		{"a budget without the attribute", nil, nil, []entity.Canonical{fine, thing("Budget", "b", values{"x": usd("$5")})}, "amount of Budget b is not known"},
		{"a budget without a value", nil, func(b *safety.BudgetRule) { b.LimitAttribute = "" }, []entity.Canonical{fine, budget},
			"its value of Budget $200,000 is not known"},
		{"a budget in words", nil, nil, []entity.Canonical{fine, thing("Budget", "b", values{"amount": entity.Text("much")})},
			"amount of Budget b is a text where a number is expected"},
		{"another currency", nil, nil, []entity.Canonical{fine, thing("Budget", "b", values{"amount": usd("€9")})},
			"the plan costs a money in USD, the budget is a money in EUR"},
		{"no currency", nil, nil, []entity.Canonical{fine, thing("Budget", "b", values{"amount": noCurrency("9")})}, "the budget is a money"},
		{"a number", nil, nil, []entity.Canonical{fine, thing("Budget", "b", values{"amount": number(9)})}, "the budget is a number"},
		{"an amount without a currency, a number", nil, nil, []entity.Canonical{
			line(values{"price": noCurrency("5")}, nil), thing("Budget", "b", values{"amount": number(9)}),
		}, "the plan costs a money, the budget is a number"},
		{"two currencies", nil, nil, []entity.Canonical{budget, fine, bought("Product", "Q", values{"price": usd("€5")}, nil)},
			"price of Product Q is a money in EUR, and that of another is a money in USD"},
		{"nothing of the action", nil, nil, []entity.Canonical{budget, thing("Product", "P", values{"price": usd("$5")})},
			"the arguments of provision_campaign name no Product: add a rule with in: action"},
		{"of an earlier action", nil, nil, []entity.Canonical{
			budget, sighted("Product", "P", entity.Entity{Source: entity.SourceAction, TechNode: "node-0", Attributes: values{"price": usd("$5")}}),
		}, "name no Product"},
		{"nothing of all", nil, func(b *safety.BudgetRule) { b.Everything = true }, []entity.Canonical{budget}, "no Product was found"},
		{"a price in words", nil, nil, []entity.Canonical{budget, line(values{"price": entity.Text("5")}, nil)},
			"price of Product P is a text where a number is expected"},
		{"a negative price", nil, nil, []entity.Canonical{budget, line(values{"price": usd("-$5")}, nil)}, "price of Product P is negative: -$5"},
		{"no price", nil, nil, []entity.Canonical{budget, line(values{"x": number(5)}, nil)}, "the present price of Product P could not be read"},
		{"no quantity", nil, func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, []entity.Canonical{budget, fine},
			"quantity of Product P is not known"},
		{"a quantity in money", nil, func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, []entity.Canonical{
			budget, line(values{"price": usd("$5")}, values{"quantity": usd("$5")}),
		}, "quantity of Product P is a money in USD where a number is expected"},
		{"a negative quantity", nil, func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, []entity.Canonical{
			budget, line(values{"price": usd("$5")}, values{"quantity": number(-1)}),
		}, "quantity of Product P is negative: -1"},
		{"a quantity of what is named twice", nil, func(b *safety.BudgetRule) { b.QuantityAttribute = "quantity" }, []entity.Canonical{
			budget, sighted("Product", "P",
				entity.Entity{Attributes: values{"price": usd("$5"), "quantity": number(1)}, Source: entity.SourceAction, TechNode: "node-1", Repeats: 2}),
		}, "the action names Product P 3 times: it has to name it once, with its quantity"},
		{"too many digits", nil, func(b *safety.BudgetRule) { b.QuantityAttribute = "price" }, []entity.Canonical{
			thing("Budget", "b", values{"amount": number(1)}), line(values{"price": long}, nil),
		}, "significant digits"},
		{"no checker", func(cfg *safety.GuardConfig) {
			optional(cfg)
			delete(cfg.Checkers, "Product")
		}, nil, []entity.Canonical{budget, fine}, "the present price of Product P could not be read"},
		{"an answer beside an error", answers(good, errors.New("boom")), nil, []entity.Canonical{budget, fine}, "could not be read"},
		{"an old answer", answers(safety.State{Attributes: good.Attributes, AsOf: epoch.Add(-time.Hour)}, nil), nil,
			[]entity.Canonical{budget, fine}, "could not be read"},
		{"an answer without a time", answers(safety.State{Attributes: good.Attributes}, nil), nil, []entity.Canonical{budget, fine}, "could not be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := fits
			if test.rule != nil {
				test.rule(&rule)
			}
			b := newBench(t, func(cfg *safety.GuardConfig) {
				within(rule)(cfg)
				if test.change != nil {
					test.change(cfg)
				}
			}, test.entities...)
			b.ask()
			out := b.answer(true)
			r := out.Report
			wantFailure(t, r, safety.ReasonPolicy)
			i := slices.IndexFunc(r.Failures(), func(f safety.Failure) bool { return f.Reason == safety.ReasonPolicy })
			if f := r.Failures()[i]; !strings.Contains(f.Detail, test.want) || !strings.HasPrefix(f.Detail, "it cannot be shown that what the plan costs now fits its Budget: ") {
				t.Errorf("%s; want %s", f, test.want)
			}
			if out.Accepted || out.Reason != safety.CodeCheckFailed || len(r.Alerts()) > 0 {
				t.Errorf("%s: %s", out.Reason, r.Summary())
			}
		})
	}
}

// A rule that cannot be evaluated does not hide what another finds.
func TestBudgetRules(t *testing.T) {
	all, broken := fits, fits
	all.Everything, broken.LimitType = true, "Nothing"
	b := newBench(t, within(broken, all), plan()...)
	b.ask()
	r := b.check()
	wantDrift(t, r, safety.BudgetExceeded)
	wantFailure(t, r, safety.ReasonPolicy)
}

func TestRefusalWarns(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Effect: safety.Warn}
	}, yahoo, strava)
	b.approved()
	b.world.put(strava, "price", usd("$52,000"))
	p, r, err := b.permit()
	if err != nil || p == nil {
		t.Fatalf("a warning blocks: %v\n%s", err, r.Summary())
	}
	b = newBench(t, func(cfg *safety.GuardConfig) { cfg.Policy = b.cfg.Policy }, yahoo, strava)
	b.approved()
	b.world.put(strava, "price", usd("$52,000"))
	b.world.put(yahoo, "availability", entity.Bool(false))
	_, _, err = b.permit()
	m := wantRefusal(t, err, safety.CodeDrift).Map()
	alerts, warnings := m["alerts"].([]any), m["warnings"].([]any)
	if len(alerts) != 1 || len(warnings) != 1 || warnings[0].(map[string]any)["entity"] != strava.Value {
		t.Errorf("alerts %v, warnings %v", alerts, warnings)
	}
}
