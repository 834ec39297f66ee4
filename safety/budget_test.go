// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
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
func within(rules ...config.Budget) func(*safety.GuardConfig) {
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
	if got := r.Costs()[0].Unavailable; got != "Product Yahoo" {
		t.Errorf("the sum has %q, which cannot be had", got)
	}
	if r.StaleEntities() != 2 || r.CheckFailed() || out.Reason != safety.CodeDrift {
		t.Errorf("%s", r.Summary())
	}
	want := safety.Alert{
		EntityType: "Budget", Entity: "$200,000", Attribute: "cost", Drift: safety.BudgetExceeded, Before: "$200,000", After: "$212,000",
		ChangePercent: new(6.0), Severity: 0.85, Effect: config.EffectBlock,
		Recommendation: "Change the plan so that it costs no more than $200,000 (Budget $200,000), and ask for approval of the new plan.",
	}
	if diff := cmp.Diff(want, r.Alerts()[2]); diff != "" {
		t.Errorf("alert (-want +got):\n%s", diff)
	}
}

// TestBudget says what comes of the present cost of a plan, and where it cannot be shown that it fits.
func TestBudget(t *testing.T) {
	const unseen = "waived: nothing on record shows it: ..."
	const unknown = "policy: it cannot be shown that what the plan costs now fits its Budget: "
	type things = []entity.Canonical
	type prices = map[string]entity.Value
	dollars := func(s string) values { return values{"amount": usd(s)} }
	limit := func(amount entity.Value) entity.Canonical { return thing("Budget", "b", values{"amount": amount}) }
	line := func(price entity.Value, arguments values) entity.Canonical {
		return bought("Product", "P", values{"price": price}, arguments)
	}
	several := func(n entity.Value) values { return values{"quantity": n} }
	// seen is a product at one dollar that is named as the sightings say.
	seen := func(more ...entity.Entity) entity.Canonical {
		read := entity.Entity{Source: entity.SourceRule, TechNode: "node-0", Attributes: values{"price": usd("$1")}}
		return sighted("Product", "P", append([]entity.Entity{read}, more...)...)
	}
	named := func(node string, attributes values, repeats int) entity.Entity {
		return entity.Entity{Source: entity.SourceAction, TechNode: node, Attributes: attributes, Repeats: repeats}
	}
	// claims is a budget of nine dollars by its value.
	claims := func(sightings ...entity.Entity) entity.Canonical {
		e := sighted("Budget", "$9", sightings...)
		e.Norm = usd("$9")
		return e
	}
	everything := func(r *config.Budget) { r.Everything = true }
	quantity := func(r *config.Budget) { r.Cost.Quantity = "quantity" }
	byValue := func(r *config.Budget) { r.Limit.Attribute = "" }
	ofTool := func(pattern string) func(*config.Budget) {
		return func(r *config.Budget) { r.Tool = pattern }
	}
	tolerant := ruled("price", config.Drift{Tolerance: config.Tolerance{Percent: 5}})
	optional := ofType("Product", config.TypePolicy{Optional: true})
	says := func(s safety.State, err error) func(*safety.GuardConfig) {
		return all(optional, checking("Product", answer(s, err)))
	}
	unclaimed := ofType("Budget", config.TypePolicy{Optional: true})
	claimable := ofType("Budget", config.TypePolicy{Optional: true, Unseen: config.UnseenAllow})
	long := must(entity.ParseNumber("1." + strings.Repeat("1", 60)))
	five := values{"price": usd("$5")}
	fine, dear := line(usd("$5"), nil), called("x", readAt("$10"), inArgs(nil))
	for _, test := range []struct {
		name     string
		rule     func(*config.Budget)
		change   func(*safety.GuardConfig)
		entities things
		now      prices   // by the value of the entity
		want     []string // as in TestBasis
	}{
		{name: "beyond its budget within the tolerances", change: tolerant, entities: plan(), now: prices{"Strava": usd("$40,000.01")}, want: []string{"$200,000 -> $200,000.01: ..."}},
		{name: "moved, and within its budget", change: tolerant, entities: plan(), now: prices{"Strava": usd("$40,000.01"), "ESPN": usd("$69,999.99")}},
		{name: "what was only looked at costs nothing", change: tolerant, entities: plan(), now: prices{"Hulu": usd("$83,000")}},
		{name: "everything", rule: everything, entities: plan(), want: []string{"$280,000 -> $280,000: ..."}},
		{name: "a rule of this tool", rule: ofTool("provision_campaign"), change: tolerant, entities: plan(), now: prices{"Strava": usd("$41,000")}, want: []string{"$200,000 -> $201,000: ..."}},
		{name: "a rule of tools like this", rule: ofTool("provision_*"), change: tolerant, entities: plan(), now: prices{"Strava": usd("$41,000")}, want: []string{"$200,000 -> $201,000: ..."}},
		{name: "a rule of other tools", rule: ofTool("pause_*"), change: tolerant, entities: plan(), now: prices{"Strava": usd("$41,000")}},
		{name: "a rule of a tool with a part of the name", rule: ofTool("provision"), change: tolerant, entities: plan(), now: prices{"Strava": usd("$41,000")}},
		{name: "quantities of the action", rule: quantity, entities: things{budget, line(usd("$0.10"), several(number(2000001)))}, want: []string{"$200,000.10 -> $200,000.10: ..."}},
		{name: "quantities that fit", rule: quantity, entities: things{budget, line(usd("$0.10"), several(number(2000000)))}},
		{name: "exact decimals", rule: quantity, entities: things{limit(usd("$0.3")), line(usd("$0.1"), several(number(3)))}},
		{name: "named twice", entities: things{limit(usd("$1")), seen(named("node-1", nil, 1))}, want: []string{"$2 -> $2: ..."}},
		{name: "named twice by another action", entities: things{limit(usd("$1")), seen(named("node-0", nil, 1), named("node-1", nil, 0))}},
		{name: "a quantity that was seen", rule: func(r *config.Budget) { quantity(r); everything(r) },
			entities: things{limit(usd("$1.50")), thing("Product", "P", values{"price": usd("$1"), "quantity": number(1.5)})}, now: prices{"P": usd("$1.20")},
			want: []string{"$1 -> $1.20: ...", "$1.50 -> $1.80: ..."}},
		{name: "quantities of this action, not of another", rule: quantity, entities: things{limit(usd("$2")), seen(named("node-1", several(number(3)), 0), named("node-0", several(number(1)), 0))},
			want: []string{"$3 -> $3: ..."}},
		{name: "a quantity of nothing", rule: quantity, entities: things{limit(usd("$0")), line(usd("$1"), several(number(0)))}},
		{name: "what costs nothing", entities: things{limit(usd("$0")), line(usd("$0"), nil)}},
		{name: "a budget by its value", rule: byValue, entities: things{claims(entity.Entity{Source: entity.SourceRule, Attributes: dollars("$99")}), line(usd("$9.01"), nil)},
			want: []string{"$9.01 -> $9.01: ..."}},
		{name: "the budget of the action", entities: things{budget, bought("Budget", "mine", dollars("$4"), nil), fine}, want: []string{"$5 -> $5: ..."}},
		{name: "plain numbers", entities: things{limit(number(40)), line(number(40.5), nil)}, want: []string{"40.5 -> 40.5: ..."}},
		{name: "a cost nobody saw", entities: things{limit(usd("$5")), bought("Product", "P", values{"x": number(1)}, nil)}, now: prices{"P": usd("$6")}, want: []string{"not known -> $6: ..."}},
		{name: "a cost seen in another currency", entities: things{limit(usd("$5")), line(usd("€4"), nil), bought("Product", "Q", values{"price": usd("$4")}, nil)}, now: prices{"P": usd("$4")},
			want: []string{"€4 -> $4: ...", "not known -> $8: ..."}},

		{name: "no budget", entities: things{fine}, want: []string{unknown + "no Budget was approved with it: add a rule that finds it, and require it"}},
		{name: "a budget that is not required", change: requiring(config.RequireNamed), entities: things{fine, budget}, want: []string{unknown + "no Budget was approved with it..."}},
		{name: "two budgets", entities: things{fine, budget, limit(usd("$9"))}, want: []string{unknown + "2 entities are a Budget: name the one that counts in the arguments of the action"}},
		{name: "two budgets of the action", entities: things{fine, bought("Budget", "a", dollars("$9"), nil), bought("Budget", "b", dollars("$9"), nil)}, want: []string{unknown + "2 entities are a Budget..."}},
		{name: "a budget without the attribute", entities: things{fine, thing("Budget", "b", values{"x": usd("$5")})}, want: []string{unknown + "amount of Budget b is not known"}},
		{name: "a budget without a value", rule: byValue, entities: things{fine, budget}, want: []string{unknown + "its value of Budget $200,000 is not known"}},
		{name: "a budget in words", entities: things{fine, limit(entity.Text("much"))}, want: []string{unknown + "amount of Budget b is a text where a number is expected"}},
		{name: "another currency", entities: things{fine, limit(usd("€9"))}, want: []string{unknown + "the plan costs a money in USD, the budget is a money in EUR"}},
		{name: "no currency", entities: things{fine, limit(noCurrency("9"))}, want: []string{unknown + "the plan costs a money in USD, the budget is a money"}},
		{name: "an amount without a currency, a number", entities: things{line(noCurrency("5"), nil), limit(number(9))}, want: []string{unknown + "the plan costs a money, the budget is a number"}},
		{name: "two currencies", entities: things{budget, fine, bought("Product", "Q", values{"price": usd("€5")}, nil)}, want: []string{unknown + "price of Product Q is a money in EUR, and that of another is a money in USD"}},
		{name: "nothing of the action", entities: things{budget, thing("Product", "P", five)}, want: []string{unknown + "the arguments of provision_campaign name no Product: add a rule with in: action that finds it"}},
		{name: "named by an earlier action", entities: things{budget, seen(named("node-0", nil, 0))}, want: []string{unknown + "the arguments of provision_campaign name no Product..."}},
		{name: "nothing of all", rule: everything, entities: things{budget}, want: []string{unknown + "no Product was found"}},
		{name: "a price in words", entities: things{budget, line(entity.Text("5"), nil)}, want: []string{unknown + "price of Product P is a text where a number is expected"}},
		{name: "a negative price", entities: things{budget, line(usd("-$5"), nil)}, want: []string{unknown + "price of Product P is negative: -$5"}},
		{name: "no price", entities: things{budget, bought("Product", "P", values{"x": number(5)}, nil)}, want: []string{unknown + "the present price of Product P could not be read"}},
		{name: "no quantity", rule: quantity, entities: things{budget, fine}, want: []string{unknown + "quantity of Product P is not known"}},
		{name: "a quantity in money", rule: quantity, entities: things{budget, line(usd("$5"), several(usd("$5")))}, want: []string{unknown + "quantity of Product P is a money in USD where a number is expected"}},
		{name: "a negative quantity", rule: quantity, entities: things{budget, line(usd("$5"), several(number(-1)))}, want: []string{unknown + "quantity of Product P is negative: -1"}},
		{name: "a quantity of what is named three times", rule: quantity, entities: things{budget, seen(named("node-1", several(number(1)), 2))},
			want: []string{unknown + "the action names Product P 3 times: it has to name it once, with its quantity"}},
		{name: "too many digits", rule: func(r *config.Budget) { r.Cost.Quantity = "price" }, entities: things{limit(number(1)), line(long, nil)}, want: []string{unknown + "...significant digits..."}},
		{name: "no checker", change: all(optional, without("Product")), entities: things{budget, fine}, want: []string{unknown + "the present price of Product P could not be read"}},
		{name: "an answer beside an error", change: says(safety.State{Attributes: five, AsOf: epoch}, errors.New("boom")), entities: things{budget, fine}, want: []string{"error: it cannot be shown that ... could not be read"}},
		{name: "an old answer", change: says(safety.State{Attributes: five, AsOf: epoch.Add(-time.Hour)}, nil), entities: things{budget, fine}, want: []string{"stale_answer: it cannot be shown that ... could not be read"}},
		{name: "an answer without a time", change: says(safety.State{Attributes: five}, nil), entities: things{budget, fine}, want: []string{unknown + "... could not be read"}},

		// A budget and a quantity that are only claimed are none.
		{name: "read and claimed otherwise", change: unclaimed, entities: things{claims(saidBy(entity.SourceRule, dollars("$5")), saidBy(entity.SourceClaim, dollars("$10"))), dear}, want: []string{"$10 -> $10: ..."}},
		{name: "claimed", change: unclaimed, entities: things{claims(inArgs(dollars("$10"))), dear}, want: []string{unknown + "nothing has shown amount of Budget $9"}},
		{name: "claimed, and that is allowed", change: claimable, entities: things{claims(inArgs(dollars("$10"))), dear}, want: []string{unseen}},
		{name: "claimed, allowed and too small", change: claimable, entities: things{claims(inArgs(dollars("$9"))), dear}, want: []string{"$10 -> $10: ...", unseen}},
		{name: "a value that is claimed", rule: byValue, change: unclaimed, entities: things{claims(inArgs(dollars("$1"))), dear}, want: []string{unknown + "nothing has shown its value of Budget $9"}},
		{name: "a value that is claimed, and that is allowed", rule: byValue, change: claimable, entities: things{claims(inArgs(dollars("$1"))), dear}, want: []string{"$10 -> $10: ...", unseen}},
		{name: "a quantity that a person says", rule: quantity, entities: things{budget, called("x", readAt("$10"), saidBy(entity.SourceClaim, several(number(2))), inArgs(nil))},
			want: []string{unknown + "quantity of Product x is not known"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := fits
			if test.rule != nil {
				test.rule(&rule)
			}
			b := newBench(t, all(within(rule), ruled("quantity", config.Drift{Optional: true}), test.change), test.entities...)
			b.ask()
			for name, price := range test.now {
				b.world.put(find(t, b, name), "price", price)
			}
			out := b.answer(true)
			said(t, out.Report, test.want...)
			if out.Accepted != out.Report.IsSafeToApprove() {
				t.Errorf("accepted %t, reason %q", out.Accepted, out.Reason)
			}
		})
	}
}

// What was found after the request costs something now, and cost nothing when it was
// approved; a budget that was found later is none.
func TestBudgetUnseen(t *testing.T) {
	b := newBench(t, within(fits), plan()...)
	b.ask()
	asked := b.record.snap.Entities
	late := bought("Product", "Late", values{"price": usd("$1")}, nil)
	rich := bought("Budget", "Rich", values{"amount": usd("$900,000")}, nil)
	for _, e := range []entity.Canonical{late, rich} {
		b.world.states[e.Key] = safety.State{Attributes: maps.Clone(e.Attributes)}
	}
	b.record.snap.Entities = slices.Concat(asked, []entity.Canonical{late, rich})
	said(t, b.check(), "$200,000 -> $200,001: ...")

	// An entity that turns out to be of the action later costs something too.
	b.record.snap.Entities = slices.Concat(asked[:4], []entity.Canonical{bought("Product", "Hulu", values{"price": usd("$80,000")}, nil)})
	said(t, b.check(), "$280,000 -> $280,000: ...")
}

// Without a request every rule counts, and nothing is named by arguments.
func TestBudgetWithoutARequest(t *testing.T) {
	rule := fits
	rule.Tool = "pause_*"
	said(t, newBench(t, within(rule), plan()...).check(), "policy: ... there is no request whose arguments could name a Product")
	rule.Everything = true
	said(t, newBench(t, within(rule), plan()...).check(), "$280,000 -> $280,000: ...")
}

// A person sees the cost of a plan against its budgets in the request and in the report of a check.
func TestCosts(t *testing.T) {
	everything, elsewhere, unknown, squared := fits, fits, fits, fits
	everything.Everything, elsewhere.Tool, unknown.Limit.Type, squared.Cost.Quantity = true, "other_*", "Quota", "price"
	long := must(entity.ParseNumber("1." + strings.Repeat("1", 60)))
	cost := func(budget, limit, seen, now string) safety.Cost {
		return safety.Cost{BudgetType: "Budget", Budget: budget, Limit: limit, Seen: seen, Now: now}
	}
	exceeded := func(c safety.Cost) safety.Cost {
		c.Exceeded = true
		return c
	}
	const most = "$200,000"
	for _, tt := range []struct {
		name     string
		rules    []config.Budget
		entities []entity.Canonical
		now      map[string]entity.Value // price by value
		asked    []safety.Cost
		checked  []safety.Cost // nil for what was asked
		hint     string
	}{
		{name: "no rule", entities: plan()},
		{name: "several rules", rules: []config.Budget{unknown, everything, elsewhere, fits}, entities: plan(), now: map[string]entity.Value{"Strava": usd("$39,000")},
			asked:   []safety.Cost{{BudgetType: "Quota", Seen: most}, exceeded(cost(most, most, "$280,000", "")), cost(most, most, most, "")},
			checked: []safety.Cost{{BudgetType: "Quota", Seen: most}, exceeded(cost(most, most, "$280,000", "$279,000")), cost(most, most, most, "$199,000")},
			hint:    "Planned cost: $280,000 of Budget $200,000 (exceeded), $200,000 of Budget $200,000."},
		{name: "a budget that nothing has shown", rules: []config.Budget{fits}, entities: []entity.Canonical{claimed("Budget", "b", values{"amount": usd("$9")}), plan()[1]},
			asked: []safety.Cost{cost("b", "", "$70,000", "")}},
		{name: "a budget in words", rules: []config.Budget{fits}, entities: []entity.Canonical{thing("Budget", "b", values{"amount": entity.Text("much")}), plan()[1]},
			asked: []safety.Cost{cost("b", "", "$70,000", "")}},
		{name: "another currency", rules: []config.Budget{fits}, entities: []entity.Canonical{thing("Budget", "b", values{"amount": usd("€9")}), plan()[1]},
			asked: []safety.Cost{cost("b", "€9", "$70,000", "")}, hint: "Planned cost: $70,000 of Budget €9."},
		{name: "nothing of the action", rules: []config.Budget{fits}, entities: []entity.Canonical{budget, plan()[4]}, asked: []safety.Cost{cost(most, most, "", "")}},
		{name: "a price that was not read", rules: []config.Budget{fits}, entities: []entity.Canonical{budget, bought("Product", "P", values{"x": number(1)}, nil)},
			now: map[string]entity.Value{"P": usd("$6")}, asked: []safety.Cost{cost(most, most, "", "")}, checked: []safety.Cost{cost(most, most, "", "$6")}},
		{name: "a price that cannot be read now", rules: []config.Budget{fits}, entities: plan(), now: map[string]entity.Value{"Strava": {}},
			asked: []safety.Cost{cost(most, most, most, "")}, hint: "Planned cost: $200,000 of Budget $200,000."},
		{name: "too many digits", rules: []config.Budget{squared},
			entities: []entity.Canonical{thing("Budget", "b", values{"amount": number(2)}), bought("Product", "P", values{"price": long}, nil)},
			asked:    []safety.Cost{cost("b", "2", "", "")}},
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
			want := tt.checked
			if want == nil {
				want = tt.asked
			}
			r := b.check()
			if diff := cmp.Diff(want, r.Costs()); diff != "" {
				t.Errorf("costs of the check (-want +got):\n%s", diff)
			}
			var written struct{ Costs []safety.Cost }
			data, err = json.Marshal(r)
			if err = errors.Join(err, json.Unmarshal(data, &written)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, written.Costs); diff != "" {
				t.Errorf("costs in the JSON of the report (-want +got):\n%s", diff)
			}
			// The ledger has no costs: they are computed from what it has, and belong to the caller.
			if stored := b.stored(); stored.Costs != nil || stored.Shown()["costs"] != nil {
				t.Errorf("costs in the ledger: %+v", stored.Costs)
			}
			for i := range tt.asked {
				a.Clone().Costs[i].Seen = "spoilt"
				r.Costs()[i].Now = "spoilt"
			}
			if !slices.Equal(a.Costs, tt.asked) || !slices.Equal(r.Costs(), want) {
				t.Errorf("asked %+v, checked %+v", a.Costs, r.Costs())
			}
		})
	}
}
