// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestRule says what a check comes to of an attribute that was seen with a value and has one now.
// The zero value is none.
func TestRule(t *testing.T) {
	none, later, text := entity.Value{}, entity.Time(epoch.Add(time.Hour)), entity.Text
	yes, no := entity.Bool(true), entity.Bool(false)
	rise, fall := config.Drift{Direction: config.Rise}, config.Drift{Direction: config.Fall}
	warn, optional := config.Drift{Effect: config.EffectWarn}, config.Drift{Optional: true}
	within := func(absolute, percent float64) config.Drift {
		return config.Drift{Tolerance: config.Tolerance{Absolute: absolute, Percent: percent}}
	}
	risesBy1 := within(1, 0)
	risesBy1.Direction = config.Rise
	warnsBeyond1 := within(1, 0)
	warnsBeyond1.Effect = config.EffectWarn
	for _, test := range []struct {
		name      string
		attribute string
		rule      config.Drift
		seen, now entity.Value
		want      string
	}{
		{"up", "x", config.Drift{}, number(1), number(2), "1 -> 2 (+100%)"},
		{"down", "x", config.Drift{}, number(2), number(1), "2 -> 1 (-50%)"},
		{"later", "x", config.Drift{}, entity.Time(epoch), later, "2026-01-19T11:00:13Z -> 2026-01-19T12:00:13Z"},
		{"rise, up", "x", rise, number(1), number(2), "1 -> 2 (+100%)"},
		{"rise, down", "x", rise, number(2), number(1), "safe"},
		{"fall, up", "x", fall, usd("$1"), usd("$2"), "safe"},
		{"fall, down", "x", fall, usd("$2"), usd("$1.99"), "$2 -> $1.99 (-0.5%)"},
		{"rise, later", "x", rise, entity.Time(epoch), later, "2026-01-19T11:00:13Z -> 2026-01-19T12:00:13Z"},
		{"rise, earlier", "x", rise, later, entity.Time(epoch), "safe"},
		{"fall, later", "x", fall, entity.Time(epoch), later, "safe"},
		{"fall, earlier", "x", fall, later, entity.Time(epoch), "2026-01-19T12:00:13Z -> 2026-01-19T11:00:13Z"},
		{"rise, within the tolerance", "x", risesBy1, number(1), number(2), "safe"},
		{"rise, beyond it", "x", risesBy1, number(1), number(3), "1 -> 3 (+200%)"},
		{"rise, far down", "x", risesBy1, number(9), number(3), "safe"},
		{"rise, another currency", "x", rise, usd("$2"), usd("€1"), "$2 -> €1"},
		{"rise, text", "x", rise, text("b"), text("a"), "b -> a"},
		{"rise, boolean", "x", rise, yes, no, "true -> false"},

		{"a set in another order", "x", config.Drift{}, entity.Set("a", "b"), entity.Set("b", "a"), "safe"},
		{"what came", "x", config.Drift{}, entity.Set(), entity.Set("b", "a"), "[] -> a, b came"},
		{"what went", "x", config.Drift{}, entity.Set("a"), entity.Set(), "[a] -> a went"},
		{"what came and went", "x", config.Drift{}, entity.Set("a", "c"), entity.Set("c", "b"), "[a, c] -> b came; a went"},
		{"once more", "x", config.Drift{}, entity.Set("a"), entity.Set("a", "a"), "[a] -> a came"},
		{"rise, came", "x", rise, entity.Set("a"), entity.Set("a", "b"), "[a] -> b came"},
		{"rise, went", "x", rise, entity.Set("a", "b"), entity.Set("a"), "safe"},
		{"rise, came and went", "x", rise, entity.Set("a"), entity.Set("b"), "[a] -> b came; a went"},
		{"fall, came", "x", fall, entity.Set("a"), entity.Set("a", "b"), "safe"},
		{"fall, went", "x", fall, entity.Set("a", "b"), entity.Set("a"), "[a, b] -> b went"},
		{"a set, tolerance", "x", within(9, 9), entity.Set("a"), entity.Set("b"), "[a] -> b came; a went"},
		{"a set, now a text", "x", config.Drift{}, entity.Set("a"), text("a"), "type_mismatch"},

		{"equal", "x", config.Drift{}, usd("$100"), usd("$100.00"), "safe"},
		{"a cent", "x", config.Drift{}, usd("$100"), usd("$100.01"), "$100 -> $100.01 (+0.01%)"},
		{"absolute, at the limit", "x", within(0.1, 0), usd("$100"), usd("$100.10"), "safe"},
		{"absolute, downwards", "x", within(0.1, 0), usd("$100"), usd("$99.90"), "safe"},
		{"absolute, beyond", "x", within(0.1, 0), usd("$100"), usd("$100.11"), "$100 -> $100.11 (+0.11%)"},
		{"percent, at the limit", "x", within(0, 5), number(100), number(105), "safe"},
		{"percent, downwards", "x", within(0, 5), number(100), number(95), "safe"},
		{"percent, beyond", "x", within(0, 5), number(100), number(105.01), "100 -> 105.01 (+5.01%)"},
		{"percent of a negative", "x", within(0, 5), number(-100), number(-104), "safe"},
		{"percent of a negative, beyond", "x", within(0, 5), number(-100), number(-106), "-100 -> -106 (-6%)"},
		{"percent of zero", "x", within(0, 50), number(0), number(0.01), "0 -> 0.01"},
		{"both, within one", "x", within(1, 50), number(100), number(120), "100 -> 120 (+20%)"},
		{"both, within the other", "x", within(100, 1), number(100), number(120), "100 -> 120 (+20%)"},
		{"both", "x", within(20, 20), number(100), number(120), "safe"},
		{"tolerance, another currency", "x", within(9, 9), usd("$100"), usd("€100"), "$100 -> €100"},
		{"tolerance, text", "x", within(9, 9), text("a"), text("b"), "a -> b"},
		{"tolerance, time", "x", within(9, 9), entity.Time(epoch), entity.Time(epoch.Add(time.Second)), "2026-01-19T11:00:13Z -> 2026-01-19T11:00:14Z"},
		{"tolerance, boolean", "x", within(9, 9), yes, no, "true -> false"},

		{"two decimals of a percentage", "x", config.Drift{}, number(3), number(4), "3 -> 4 (+33.33%)"},
		{"no decimals of a percentage", "x", config.Drift{}, usd("$40,000"), usd("$40,000.01"), "$40,000 -> $40,000.01 (+0%)"},
		{"a percentage of a negative", "x", config.Drift{}, number(-10), number(-5), "-10 -> -5 (+50%)"},

		{"warning", "x", warn, number(1), number(2), "1 -> 2 (+100%) (warning)"},
		{"warning, unchanged", "x", warn, number(1), number(1), "safe"},
		{"warning, within the tolerance", "x", warnsBeyond1, number(1), number(2), "safe"},
		{"warning, another kind", "x", warn, number(1), text("2"), "type_mismatch"},
		{"warning, missing", "x", warn, number(1), none, "missing_attribute"},
		{"missing", "x", config.Drift{}, number(1), none, "missing_attribute"},
		{"optional and missing", "x", optional, number(1), none, "safe"},
		{"optional and unchanged", "x", optional, number(1), number(1), "safe"},
		{"optional and changed", "x", optional, number(1), number(3), "1 -> 3 (+200%)"},
		{"optional, another kind", "x", optional, number(1), text("1"), "type_mismatch"},

		// That something is not to be had is a change whatever tolerance and direction say.
		{"still available", "availability", config.Drift{}, yes, yes, "safe"},
		{"sold out", "availability", config.Drift{}, yes, no, "available -> unavailable"},
		{"seen sold out, still so", "availability", config.Drift{}, no, no, "unavailable -> unavailable"},
		{"back again", "availability", config.Drift{}, no, yes, "unavailable -> available"},
		{"not seen, available", "availability", config.Drift{}, none, yes, "safe"},
		{"not seen, sold out", "availability", config.Drift{}, none, no, "not seen -> unavailable"},
		{"not seen, a text", "availability", config.Drift{}, none, text("false"), "type_mismatch"},
		{"not seen, a number", "availability", config.Drift{}, none, number(0), "type_mismatch"},
		{"as text, the same", "availability", config.Drift{}, text("in stock"), text("in stock"), "safe"},
		{"as text, another", "availability", config.Drift{}, text("in stock"), text("sold out"), "in stock -> sold out"},
		{"as text, now false", "availability", config.Drift{}, text("in stock"), no, "type_mismatch, in stock -> unavailable"},
		{"as text, now true", "availability", config.Drift{}, text("in stock"), yes, "type_mismatch"},
		{"seen, not in the answer", "availability", config.Drift{}, yes, none, "missing_attribute"},
		{"sold out, tolerance", "availability", within(1, 100), yes, no, "available -> unavailable"},
		{"sold out, direction", "availability", rise, yes, no, "available -> unavailable"},
		{"sold out, optional", "availability", optional, yes, no, "available -> unavailable"},
		{"sold out, warning", "availability", warn, yes, no, "available -> unavailable (warning)"},
		{"not seen, sold out, warning", "availability", warn, none, no, "not seen -> unavailable (warning)"},
		{"as text, now false, warning", "availability", warn, text("yes"), no, "type_mismatch, yes -> unavailable (warning)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			attributes := values{"beside": number(7)}
			if !test.seen.IsZero() {
				attributes[test.attribute] = test.seen
			}
			e := thing("Product", "P", attributes)
			b := newBench(t, ruled(test.attribute, test.rule), e)
			b.world.put(e, test.attribute, test.now)
			r := b.check()
			if got := strings.ReplaceAll(changes(r), "[changed] Product: P: ", ""); got != test.want {
				t.Errorf("%s, want %s\n%s", got, test.want, r.Summary())
			}
		})
	}
}

// TestOutcome says what a check comes to of a product beside a budget, where the policy only warns of
// its reach and where its type is optional.
func TestOutcome(t *testing.T) {
	optional := ofType("Product", config.TypePolicy{Optional: true})
	bothOptional := all(optional, ofType("Budget", config.TypePolicy{Optional: true}))
	attributes := values{"price": usd("$40"), "availability": entity.Bool(true), "reach": number(1)}
	product := thing("Product", "P", attributes)
	boom := errors.New("boom")
	says := func(attributes values, age time.Duration, err error) func(*safety.GuardConfig) {
		return all(optional, checking("Product", answer(safety.State{Attributes: attributes, AsOf: epoch.Add(-age)}, err)))
	}
	put := func(name string, v entity.Value) func(*bench) {
		return func(b *bench) { b.world.put(product, name, v) }
	}
	further, dearer := put("reach", number(2)), put("price", usd("$50"))
	uncertain := seen(func(e *entity.Canonical) { e.Confidence = 0 })
	gap := snapped(func(s *safety.Snapshot) { s.Gaps = []string{"gap"} })
	for _, test := range []struct {
		name    string
		change  func(*safety.GuardConfig)
		spoil   []func(*bench)
		outcome string // of the product
		skipped string // the reason
		want    string
	}{
		{"fine", nil, nil, safety.EntityUnchanged, "", "safe"},
		{"warning", nil, []func(*bench){further}, safety.EntityWarned, "", "[changed] Product: P: 1 -> 2 (+100%) (warning)"},
		{"warning beside a failure", nil, []func(*bench){further, uncertain}, safety.EntityFailed, "", "low_confidence, [changed] Product: P: 1 -> 2 (+100%) (warning)"},
		{"warning beside a change", nil, []func(*bench){further, dearer}, safety.EntityChanged, "", "[price_changed] Product: P: $40 -> $50 (+25%), [changed] Product: P: 1 -> 2 (+100%) (warning)"},
		{"warning and a gap in the record", nil, []func(*bench){further, gap}, safety.EntityWarned, "", "incomplete_record, [changed] Product: P: 1 -> 2 (+100%) (warning)"},
		{"optional", optional, nil, safety.EntityUnchanged, "", "safe"},
		{"optional without a checker", all(optional, without("Product")), nil, safety.EntitySkipped, safety.ReasonNoChecker, "safe"},
		{"optional with an error", says(attributes, 0, boom), nil, safety.EntitySkipped, safety.ReasonError, "safe"},
		{"optional, and only the agent can ask", says(attributes, 0, &safety.AnswerError{Reason: safety.ReasonNeedsAgent, Err: boom}), nil, safety.EntityFailed, "", "needs_agent"},
		{"optional and uncertain", optional, []func(*bench){uncertain}, safety.EntitySkipped, safety.ReasonLowConfidence, "safe"},
		{"optional and unseen", optional, []func(*bench){seen(func(e *entity.Canonical) { e.Attributes = nil })}, safety.EntitySkipped, safety.ReasonNothingSeen, "safe"},
		{"optional and stale", says(attributes, time.Hour, nil), nil, safety.EntitySkipped, safety.ReasonStaleAnswer, "safe"},
		{"optional and changed", optional, []func(*bench){dearer}, safety.EntityChanged, "", "[price_changed] Product: P: $40 -> $50 (+25%)"},
		{"optional, changed, and something else is missing", optional, []func(*bench){dearer, put("reach", entity.Value{})},
			safety.EntityChanged, safety.ReasonMissingAttribute, "[price_changed] Product: P: $40 -> $50 (+25%)"},
		{"optional, changed beside an error", says(values{"price": usd("$50"), "availability": entity.Bool(true), "reach": number(1)}, 0, boom), nil,
			safety.EntityChanged, safety.ReasonError, "[price_changed] Product: P: $40 -> $50 (+25%)"},
		{"optional, and the other one fails", all(optional, without("Product", "Budget")), nil, safety.EntitySkipped, safety.ReasonNoChecker, "no_checker"},
		{"both are optional, one is left", all(bothOptional, without("Product")), nil, safety.EntitySkipped, safety.ReasonNoChecker, "safe"},
		{"both are optional, none is left", all(bothOptional, without("Product", "Budget")), nil, safety.EntitySkipped, safety.ReasonNoChecker, "no_entities"},
		{"optional and a gap in the record", all(optional, without("Product")), []func(*bench){gap}, safety.EntitySkipped, safety.ReasonNoChecker, "incomplete_record"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, all(ruled("reach", config.Drift{Effect: config.EffectWarn}), test.change), product, budget)
			for _, spoil := range test.spoil {
				spoil(b)
			}
			r := b.check()
			e := r.Entities()[0]
			if got := changes(r); got != test.want || e.Outcome != test.outcome || r.TotalEntities() != 2 {
				t.Errorf("%s, %s; want %s, %s\n%s", got, e.Outcome, test.want, test.outcome, r.Summary())
			}
			var skipped []string
			for i, f := range e.Skipped {
				skipped = append(skipped, f.Reason)
				e.Skipped[i].Reason = "spoilt"
			}
			if strings.Join(skipped, " ") != test.skipped {
				t.Errorf("skipped for %v, want %q", skipped, test.skipped)
			}
			if strings.Contains(r.Summary(), "  Skipped          : spoilt") || !strings.Contains(r.Summary(), "  Skipped          : "+test.skipped) != (test.skipped == "") {
				t.Errorf("the summary does not say why it was skipped:\n%s", r.Summary())
			}
			if n := strings.Count(r.Summary(), "  Warning  "); n != len(r.Warnings()) {
				t.Errorf("%d warnings in the summary:\n%s", n, r.Summary())
			}
			var back struct{ Alerts, Warnings []safety.Alert }
			data, err := json.Marshal(r)
			if err = errors.Join(err, json.Unmarshal(data, &back)); err != nil || len(back.Warnings) != len(r.Warnings()) || len(back.Alerts) != len(r.Alerts()) {
				t.Errorf("as JSON: %s, %v", data, err)
			}
		})
	}
}

// TestTypeRules says which rule an attribute of a type has.
func TestTypeRules(t *testing.T) {
	rule := func(drift string) config.Drift { return config.Drift{Type: drift} }
	type rules = map[string]config.Drift
	for name, test := range map[string]struct {
		policy, ofType rules
		want           []string // of cpm and price of a product, and of a room
	}{
		"defaults":                       {nil, nil, []string{safety.Changed, safety.PriceChanged, safety.Changed, safety.PriceChanged}},
		"of the policy":                  {rules{"price": rule("a"), "*": rule("b")}, nil, []string{"b", "a", "b", "a"}},
		"of the type":                    {rules{"price": rule("a"), "cpm": rule("b")}, rules{"price": rule("c"), "cpm": rule("d")}, []string{"d", "c", "b", "a"}},
		"a name comes before all others": {rules{"cpm": rule("a")}, rules{"*": rule("b")}, []string{"a", safety.PriceChanged, "a", safety.PriceChanged}},
		"all others, of policy and type": {rules{"*": rule("a")}, rules{"*": rule("b")}, []string{"b", safety.PriceChanged, "a", safety.PriceChanged}},
	} {
		t.Run(name, func(t *testing.T) {
			product := thing("Product", "P", values{"price": usd("$1"), "cpm": number(1)})
			room := thing("Room", "R", product.Attributes)
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Policy.Drift = test.policy
				cfg.Policy.Types = map[string]config.TypePolicy{"Product": {Drift: test.ofType}}
			}, product, room)
			for _, e := range []entity.Canonical{product, room} {
				b.world.put(e, "price", usd("$2"))
				b.world.put(e, "cpm", number(2))
			}
			wantDrift(t, b.check(), test.want...)
		})
	}
}

// TestTypeLimits holds what a type says of ages and confidence. A permit lasts no longer than the
// youngest answer has to be.
func TestTypeLimits(t *testing.T) {
	for name, test := range map[string]struct {
		policy config.TypePolicy
		age    time.Duration
		sure   float64
		want   string
		lasts  time.Duration
	}{
		"default":         {config.TypePolicy{}, 30 * time.Second, 0.5, "safe", 30 * time.Second},
		"default age":     {config.TypePolicy{}, 31 * time.Second, 0.5, "stale_answer", 0},
		"default floor":   {config.TypePolicy{}, 0, 0.49, "low_confidence", 0},
		"younger":         {config.TypePolicy{MaxAge: time.Second}, 2 * time.Second, 1, "stale_answer", 0},
		"young enough":    {config.TypePolicy{MaxAge: time.Second}, time.Second, 1, "safe", time.Second},
		"older":           {config.TypePolicy{MaxAge: time.Hour}, time.Hour, 1, "safe", 30 * time.Second},
		"too old":         {config.TypePolicy{MaxAge: time.Hour}, time.Hour + 1, 1, "stale_answer", 0},
		"surer":           {config.TypePolicy{MinConfidence: new(0.9)}, 0, 0.89, "low_confidence", 0},
		"sure enough":     {config.TypePolicy{MinConfidence: new(0.9)}, 0, 0.9, "safe", 30 * time.Second},
		"not sure at all": {config.TypePolicy{MinConfidence: new(0.0)}, 0, 0, "safe", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, all(ofType("Product", test.policy), ofType("Other", config.TypePolicy{MaxAge: 1})), strava, budget)
			b.record.snap.Entities[0].Confidence = test.sure
			b.world.states[strava.Key] = safety.State{Attributes: strava.Attributes, AsOf: epoch.Add(-test.age)}
			r := b.check()
			if got := changes(r); got != test.want || r.Entities()[1].Outcome != safety.EntityUnchanged {
				t.Errorf("%s, want %s of the product alone\n%s", got, test.want, r.Summary())
			}
			if test.lasts == 0 {
				return
			}
			if p := b.permitted(); !p.ExpiresAt().Equal(epoch.Add(test.lasts)) {
				t.Errorf("the permit ends at %v, want %v", p.ExpiresAt(), epoch.Add(test.lasts))
			}
		})
	}
}

// A guard keeps its configuration whatever happens to what it was made from.
func TestGuardKeepsItsConfiguration(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Types = map[string]config.TypePolicy{
			"Product": {MinConfidence: new(0.9), Drift: map[string]config.Drift{"price": {Type: "fare"}}},
		}
		cfg.Policy.Require, cfg.Policy.Listed = config.RequireListed, []string{"Product"}
		cfg.Policy.Budgets = []config.Budget{fits}
	}, strava)
	before := b.guard
	p := &b.cfg.Policy
	p.Types["Product"].Drift["price"] = config.Drift{Type: "x", Effect: config.EffectWarn}
	*p.Types["Product"].MinConfidence = 0
	p.Types["Product"] = config.TypePolicy{Optional: true}
	p.Listed[0], p.Budgets[0] = "Nothing", config.Budget{}
	b.cfg.Checkers["Product"] = safety.CheckerFunc(nil)
	b.record.snap.Entities[0].Confidence = 0.8
	b.world.put(strava, "price", usd("$1"))
	b.guard = before
	r := b.check()
	wantDrift(t, r, "fare")
	wantFailure(t, r, safety.ReasonLowConfidence)
	wantFailure(t, r, safety.ReasonPolicy)
}

// TestNames says how values are named. A value without a name reads as the strictest.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		v    fmt.Stringer
		want string
	}{
		{safety.CheckFailed, "check_failed"}, {safety.Drift, "drift"}, {safety.Safe, "safe"}, {safety.Verdict(3), "check_failed"}, {safety.Verdict(255), "check_failed"},
	} {
		if got := test.v.String(); got != test.want {
			t.Errorf("%T %d is %q, want %q", test.v, test.v, got, test.want)
		}
		if m, ok := test.v.(encoding.TextMarshaler); ok {
			if text, err := m.MarshalText(); string(text) != test.want || err != nil {
				t.Errorf("%T %d is written as %q, %v; want %q", test.v, test.v, text, err, test.want)
			}
		}
	}
}
