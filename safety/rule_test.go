// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// ruled gives the attribute x a rule.
func ruled(r safety.Rule) func(*safety.GuardConfig) {
	r.Drift, r.Severity = "moved", 0.5
	return func(cfg *safety.GuardConfig) { cfg.Policy.Rules["x"] = r }
}

func TestDirection(t *testing.T) {
	later := entity.Time(epoch.Add(time.Hour))
	for _, test := range []struct {
		name      string
		rule      safety.Rule
		seen, now entity.Value
		want      bool // counts as unchanged
	}{
		{"either, up", safety.Rule{}, number(1), number(2), false},
		{"either, down", safety.Rule{}, number(2), number(1), false},
		{"rise, up", safety.Rule{Direction: safety.Rise}, number(1), number(2), false},
		{"rise, down", safety.Rule{Direction: safety.Rise}, number(2), number(1), true},
		{"fall, up", safety.Rule{Direction: safety.Fall}, usd("$1"), usd("$2"), true},
		{"fall, down", safety.Rule{Direction: safety.Fall}, usd("$2"), usd("$1.99"), false},
		{"rise, later", safety.Rule{Direction: safety.Rise}, entity.Time(epoch), later, false},
		{"rise, earlier", safety.Rule{Direction: safety.Rise}, later, entity.Time(epoch), true},
		{"fall, later", safety.Rule{Direction: safety.Fall}, entity.Time(epoch), later, true},
		{"fall, earlier", safety.Rule{Direction: safety.Fall}, later, entity.Time(epoch), false},
		{"time, either", safety.Rule{}, later, entity.Time(epoch), false},
		{"rise, within the tolerance", safety.Rule{Direction: safety.Rise, Tolerance: safety.Tolerance{Absolute: 1}}, number(1), number(2), true},
		{"rise, beyond it", safety.Rule{Direction: safety.Rise, Tolerance: safety.Tolerance{Absolute: 1}}, number(1), number(3), false},
		{"rise, far down", safety.Rule{Direction: safety.Rise, Tolerance: safety.Tolerance{Absolute: 1}}, number(9), number(3), true},
		{"between currencies", safety.Rule{Direction: safety.Rise}, usd("$2"), usd("€1"), false},
		{"text", safety.Rule{Direction: safety.Rise}, entity.Text("b"), entity.Text("a"), false},
		{"boolean", safety.Rule{Direction: safety.Rise}, entity.Bool(true), entity.Bool(false), false},
		{"tolerance: equal", safety.Rule{}, usd("$100"), usd("$100.00"), true},
		{"tolerance: none", safety.Rule{}, usd("$100"), usd("$100.01"), false},
		{"tolerance: absolute, at the limit", safety.Rule{Tolerance: safety.Tolerance{Absolute: 0.1}}, usd("$100"), usd("$100.10"), true},
		{"tolerance: absolute, downwards", safety.Rule{Tolerance: safety.Tolerance{Absolute: 0.1}}, usd("$100"), usd("$99.90"), true},
		{"tolerance: absolute, beyond", safety.Rule{Tolerance: safety.Tolerance{Absolute: 0.1}}, usd("$100"), usd("$100.11"), false},
		{"tolerance: percent, at the limit", safety.Rule{Tolerance: safety.Tolerance{Percent: 5}}, number(100), number(105), true},
		{"tolerance: percent, downwards", safety.Rule{Tolerance: safety.Tolerance{Percent: 5}}, number(100), number(95), true},
		{"tolerance: percent, beyond", safety.Rule{Tolerance: safety.Tolerance{Percent: 5}}, number(100), number(105.01), false},
		{"tolerance: percent of a negative", safety.Rule{Tolerance: safety.Tolerance{Percent: 5}}, number(-100), number(-104), true},
		{"tolerance: percent of a negative, beyond", safety.Rule{Tolerance: safety.Tolerance{Percent: 5}}, number(-100), number(-106), false},
		{"tolerance: percent of zero", safety.Rule{Tolerance: safety.Tolerance{Percent: 50}}, number(0), number(0.01), false},
		{"tolerance: both, within one", safety.Rule{Tolerance: safety.Tolerance{Absolute: 1, Percent: 50}}, number(100), number(120), false},
		{"tolerance: both, within the other", safety.Rule{Tolerance: safety.Tolerance{Absolute: 100, Percent: 1}}, number(100), number(120), false},
		{"tolerance: both", safety.Rule{Tolerance: safety.Tolerance{Absolute: 20, Percent: 20}}, number(100), number(120), true},
		{"tolerance: another currency", safety.Rule{Tolerance: safety.Tolerance{Absolute: 9, Percent: 9}}, usd("$100"), usd("€100"), false},
		{"tolerance: text", safety.Rule{Tolerance: safety.Tolerance{Absolute: 9, Percent: 9}}, entity.Text("a"), entity.Text("b"), false},
		{"tolerance: time", safety.Rule{Tolerance: safety.Tolerance{Absolute: 9, Percent: 9}}, entity.Time(epoch), entity.Time(epoch.Add(time.Second)), false},
		{"tolerance: boolean", safety.Rule{Tolerance: safety.Tolerance{Absolute: 9, Percent: 9}}, entity.Bool(true), entity.Bool(false), false},
	} {
		e := thing("Product", "P", values{"x": test.seen})
		b := newBench(t, ruled(test.rule), e)
		b.world.put(e, "x", test.now)
		if r := b.check(); r.IsSafeToApprove() != test.want || r.CheckFailed() {
			t.Errorf("%s: unchanged %t, want %t\n%s", test.name, r.IsSafeToApprove(), test.want, r.Summary())
		}
	}
}

func TestWarning(t *testing.T) {
	warn := safety.Rule{Effect: safety.Warn}
	plain := thing("Product", "P", values{"x": number(1)})
	for _, test := range []struct {
		name     string
		rule     safety.Rule
		change   func(*bench)
		verdict  safety.Verdict
		outcome  safety.EntityOutcome
		warnings int
	}{
		{"nothing", warn, func(*bench) {}, safety.Safe, safety.EntityUnchanged, 0},
		{"a change", warn, func(b *bench) { b.world.put(plain, "x", number(2)) }, safety.Safe, safety.EntityWarned, 1},
		{"a change, optional", safety.Rule{Effect: safety.Warn, Optional: true}, func(b *bench) { b.world.put(plain, "x", number(2)) },
			safety.Safe, safety.EntityWarned, 1},
		{"within the tolerance", safety.Rule{Effect: safety.Warn, Tolerance: safety.Tolerance{Absolute: 1}},
			func(b *bench) { b.world.put(plain, "x", number(2)) }, safety.Safe, safety.EntityUnchanged, 0},
		{"another kind", warn, func(b *bench) { b.world.put(plain, "x", entity.Text("2")) }, safety.CheckFailed, safety.EntityFailed, 0},
		{"missing", warn, func(b *bench) {
			b.world.put(plain, "x", entity.Value{})
			b.world.put(plain, "availability", entity.Bool(true))
		}, safety.CheckFailed, safety.EntityFailed, 0},
		{"a failure beside it", warn, func(b *bench) {
			b.world.put(plain, "x", number(2))
			b.record.snap.Entities[0].Confidence = 0
		}, safety.CheckFailed, safety.EntityFailed, 1},
		{"a block beside it", warn, func(b *bench) {
			b.world.put(plain, "x", number(2))
			b.world.put(plain, "availability", entity.Bool(false))
		}, safety.Drift, safety.EntityChanged, 1},
		{"a gap in the record", warn, func(b *bench) {
			b.world.put(plain, "x", number(2))
			b.record.snap.Gaps = []string{"gap"}
		}, safety.CheckFailed, safety.EntityWarned, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, ruled(test.rule), plain)
			test.change(b)
			r := b.check()
			if r.Verdict() != test.verdict || r.Entities()[0].Outcome != test.outcome || len(r.Warnings()) != test.warnings {
				t.Errorf("%s, %s, %d warnings; want %s, %s, %d\n%s", r.Verdict(), r.Entities()[0].Outcome, len(r.Warnings()),
					test.verdict, test.outcome, test.warnings, r.Summary())
			}
			for _, w := range r.Warnings() {
				if w.Effect != safety.Warn || w.Drift != "moved" || w.Before != "1" || w.After != "2" {
					t.Errorf("warning %+v", w)
				}
			}
			if n := strings.Count(r.Summary(), "(warning)"); n != test.warnings {
				t.Errorf("%d warnings in the summary:\n%s", n, r.Summary())
			}
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var back struct{ Alerts, Warnings []safety.Alert }
			if err := json.Unmarshal(data, &back); err != nil {
				t.Fatal(err)
			}
			if len(back.Warnings) != test.warnings || len(back.Alerts) != len(r.Alerts()) {
				t.Errorf("as JSON: %s", data)
			}
		})
	}
}

// That something is not to be had is an alert whatever tolerance or direction says;
// only its effect can be less than to block.
func TestNotAvailable(t *testing.T) {
	for _, test := range []struct {
		name string
		rule safety.Rule
		seen values
		want safety.Verdict
	}{
		{"tolerance", safety.Rule{Tolerance: safety.Tolerance{Absolute: 1, Percent: 100}}, values{"availability": entity.Bool(true)}, safety.Drift},
		{"direction", safety.Rule{Direction: safety.Rise}, values{"availability": entity.Bool(true)}, safety.Drift},
		{"optional", safety.Rule{Optional: true}, values{"availability": entity.Bool(true)}, safety.Drift},
		{"warn", safety.Rule{Effect: safety.Warn}, values{"availability": entity.Bool(true)}, safety.Safe},
		{"warn, not seen", safety.Rule{Effect: safety.Warn}, values{"x": number(1)}, safety.Safe},
		{"warn, seen as a text", safety.Rule{Effect: safety.Warn}, values{"availability": entity.Text("yes")}, safety.CheckFailed},
	} {
		e := thing("Product", "P", test.seen)
		b := newBench(t, func(cfg *safety.GuardConfig) {
			test.rule.Drift = safety.Unavailable
			cfg.Policy.Rules["availability"] = test.rule
		}, e)
		b.world.put(e, "availability", entity.Bool(false))
		r := b.check()
		if r.Verdict() != test.want || len(r.Alerts())+len(r.Warnings()) != 1 {
			t.Errorf("%s: %s, want %s\n%s", test.name, r.Verdict(), test.want, r.Summary())
		}
	}
}

func TestOptionalAttribute(t *testing.T) {
	e := thing("Product", "P", values{"x": number(1), "y": number(2)})
	for _, test := range []struct {
		name   string
		rule   safety.Rule
		answer values
		want   string // the reason, "" for safe
	}{
		{"required and missing", safety.Rule{}, values{"y": number(2)}, safety.ReasonMissingAttribute},
		{"optional and missing", safety.Rule{Optional: true}, values{"y": number(2)}, ""},
		{"optional and there", safety.Rule{Optional: true}, values{"x": number(1), "y": number(2)}, ""},
		{"optional, of another kind", safety.Rule{Optional: true}, values{"x": entity.Text("1"), "y": number(2)}, safety.ReasonTypeMismatch},
		{"nothing else", safety.Rule{Optional: true}, values{"z": number(2)}, safety.ReasonNothingCompared},
	} {
		e := e
		if test.name == "nothing else" {
			e = thing("Product", "P", values{"x": number(1)})
		}
		b := newBench(t, ruled(test.rule), e)
		b.world.states[e.Key] = safety.State{Attributes: test.answer}
		r := b.check()
		if test.want == "" {
			wantSafe(t, r)
			continue
		}
		wantFailure(t, r, test.want)
	}
	b := newBench(t, ruled(safety.Rule{Optional: true}), e)
	b.world.put(e, "x", number(3))
	wantDrift(t, b.check(), "moved")
}

func TestTypeRules(t *testing.T) {
	rule := func(drift safety.DriftType) safety.Rule { return safety.Rule{Drift: drift} }
	for _, test := range []struct {
		name           string
		policy, ofType map[string]safety.Rule
		want           [2]safety.DriftType // of price, of cpm
	}{
		{"defaults", nil, nil, [2]safety.DriftType{safety.PriceChanged, safety.Changed}},
		{"the type names it", map[string]safety.Rule{"price": rule("a"), "cpm": rule("b")}, map[string]safety.Rule{"price": rule("c"), "cpm": rule("d")},
			[2]safety.DriftType{"c", "d"}},
		{"a name comes before all others", map[string]safety.Rule{"cpm": rule("b")}, map[string]safety.Rule{"*": rule("z")},
			[2]safety.DriftType{safety.PriceChanged, "b"}},
		{"all others of the type", map[string]safety.Rule{"*": rule("y")}, map[string]safety.Rule{"*": rule("z")},
			[2]safety.DriftType{safety.PriceChanged, "z"}},
		{"all others of the policy", map[string]safety.Rule{"*": rule("y")}, nil, [2]safety.DriftType{safety.PriceChanged, "y"}},
	} {
		product := thing("Product", "P", values{"price": usd("$1"), "cpm": number(1)})
		room := thing("Room", "R", product.Attributes)
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Rules = test.policy
			cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {Rules: test.ofType}}
		}, product, room)
		for _, e := range []entity.Canonical{product, room} {
			b.world.put(e, "price", usd("$2"))
			b.world.put(e, "cpm", number(2))
		}
		got := map[string]safety.DriftType{}
		for _, a := range b.check().Alerts() {
			got[a.EntityType+" "+a.Attribute] = a.Drift
		}
		if got["Product price"] != test.want[0] || got["Product cpm"] != test.want[1] {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if test.policy["price"].Drift == "" && got["Room price"] != safety.PriceChanged {
			t.Errorf("%s: another type has %v", test.name, got)
		}
	}
}

func TestTypeLimits(t *testing.T) {
	policy := func(p safety.TypePolicy) func(*safety.GuardConfig) {
		return func(cfg *safety.GuardConfig) { cfg.Policy.Types = map[string]safety.TypePolicy{"Product": p} }
	}
	for _, test := range []struct {
		name   string
		policy safety.TypePolicy
		age    time.Duration
		sure   float64
		want   string
	}{
		{"default", safety.TypePolicy{}, 30 * time.Second, 0.5, ""},
		{"default age", safety.TypePolicy{}, 31 * time.Second, 0.5, safety.ReasonStaleAnswer},
		{"default floor", safety.TypePolicy{}, 0, 0.49, safety.ReasonLowConfidence},
		{"younger", safety.TypePolicy{MaxAge: time.Second}, 2 * time.Second, 1, safety.ReasonStaleAnswer},
		{"young enough", safety.TypePolicy{MaxAge: time.Second}, time.Second, 1, ""},
		{"older", safety.TypePolicy{MaxAge: time.Hour}, time.Hour, 1, ""},
		{"too old", safety.TypePolicy{MaxAge: time.Hour}, time.Hour + 1, 1, safety.ReasonStaleAnswer},
		{"surer", safety.TypePolicy{MinConfidence: new(0.9)}, 0, 0.89, safety.ReasonLowConfidence},
		{"sure enough", safety.TypePolicy{MinConfidence: new(0.9)}, 0, 0.9, ""},
		{"not sure at all", safety.TypePolicy{MinConfidence: new(0.0)}, 0, 0, ""},
	} {
		b := newBench(t, policy(test.policy), strava, budget)
		b.record.snap.Entities[0].Confidence = test.sure
		b.world.states[strava.Key] = safety.State{Attributes: strava.Attributes, AsOf: epoch.Add(-test.age)}
		r := b.check()
		if test.want == "" {
			wantSafe(t, r)
			continue
		}
		if wantFailure(t, r, test.want); r.Entities()[1].Outcome != safety.EntityUnchanged {
			t.Errorf("%s: the other type has it too\n%s", test.name, r.Summary())
		}
	}
}

// A permit lasts no longer than the youngest answer has to be.
func TestPermitOfTypeMaxAge(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 5 * time.Second: 5 * time.Second, time.Hour: 30 * time.Second} {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {MaxAge: age}, "Other": {MaxAge: time.Second}}
		}, strava, budget)
		if p := b.permitted(); !p.ExpiresAt().Equal(epoch.Add(want)) {
			t.Errorf("MaxAge %v: the permit ends at %v, want %v", age, p.ExpiresAt(), epoch.Add(want))
		}
	}
}

func TestOptionalType(t *testing.T) {
	optional := func(types ...string) func(*safety.GuardConfig) {
		return func(cfg *safety.GuardConfig) {
			cfg.Policy.Types = map[string]safety.TypePolicy{}
			for _, typ := range types {
				cfg.Policy.Types[typ] = safety.TypePolicy{Optional: true}
			}
		}
	}
	broken := safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
		return safety.State{Attributes: e.Attributes, AsOf: epoch}, errors.New("boom")
	})
	for _, test := range []struct {
		name    string
		change  func(*safety.GuardConfig)
		spoil   func(*bench)
		verdict safety.Verdict
		outcome safety.EntityOutcome // of the product
		skipped string               // the reason
	}{
		{"fine", nil, nil, safety.Safe, safety.EntityUnchanged, ""},
		{"no checker", func(cfg *safety.GuardConfig) { delete(cfg.Checkers, "Product") }, nil, safety.Safe, safety.EntitySkipped, safety.ReasonNoChecker},
		{"error", func(cfg *safety.GuardConfig) { cfg.Checkers["Product"] = broken }, nil, safety.Safe, safety.EntitySkipped, safety.ReasonError},
		{"only the agent can ask", func(cfg *safety.GuardConfig) {
			cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
				return safety.State{}, &safety.AnswerError{Reason: safety.ReasonNeedsAgent, Err: errors.New("elsewhere")}
			})
		}, nil, safety.CheckFailed, safety.EntityFailed, ""},
		{"low confidence", nil, func(b *bench) { b.record.snap.Entities[0].Confidence = 0 }, safety.Safe, safety.EntitySkipped, safety.ReasonLowConfidence},
		{"stale", nil, func(b *bench) {
			b.world.states[strava.Key] = safety.State{Attributes: strava.Attributes, AsOf: epoch.Add(-time.Hour)}
		}, safety.Safe, safety.EntitySkipped, safety.ReasonStaleAnswer},
		{"changed", nil, func(b *bench) { b.world.put(strava, "price", usd("$1")) }, safety.Drift, safety.EntityChanged, ""},
		{"changed, and something else is missing", nil, func(b *bench) {
			b.world.put(strava, "price", usd("$1"))
			b.world.put(strava, "availability", entity.Value{})
		}, safety.Drift, safety.EntityChanged, safety.ReasonMissingAttribute},
		{"changed, beside an error", func(cfg *safety.GuardConfig) {
			cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
				return safety.State{Attributes: values{"price": usd("$1"), "availability": entity.Bool(true)}, AsOf: epoch}, errors.New("boom")
			})
		}, nil, safety.Drift, safety.EntityChanged, safety.ReasonError},
		{"the other one fails", func(cfg *safety.GuardConfig) {
			delete(cfg.Checkers, "Product")
			delete(cfg.Checkers, "Budget")
		}, nil, safety.CheckFailed, safety.EntitySkipped, safety.ReasonNoChecker},
		{"both are optional, one is left", func(cfg *safety.GuardConfig) {
			optional("Product", "Budget")(cfg)
			delete(cfg.Checkers, "Product")
		}, nil, safety.Safe, safety.EntitySkipped, safety.ReasonNoChecker},
		{"both are optional, none is left", func(cfg *safety.GuardConfig) {
			optional("Product", "Budget")(cfg)
			cfg.Checkers = nil
		}, nil, safety.CheckFailed, safety.EntitySkipped, safety.ReasonNoChecker},
		{"a gap in the record", func(cfg *safety.GuardConfig) { delete(cfg.Checkers, "Product") },
			func(b *bench) { b.record.snap.Gaps = []string{"gap"} }, safety.CheckFailed, safety.EntitySkipped, safety.ReasonNoChecker},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				optional("Product")(cfg)
				if test.change != nil {
					test.change(cfg)
				}
			}, strava, budget)
			if test.spoil != nil {
				test.spoil(b)
			}
			r := b.check()
			e := r.Entities()[0]
			if r.Verdict() != test.verdict || e.Outcome != test.outcome || r.TotalEntities() != 2 {
				t.Errorf("%s, %s; want %s, %s\n%s", r.Verdict(), e.Outcome, test.verdict, test.outcome, r.Summary())
			}
			var got []string
			for _, f := range e.Skipped {
				got = append(got, f.Reason)
			}
			if test.skipped == "" && got != nil || test.skipped != "" && !slices.Equal(got, []string{test.skipped}) {
				t.Errorf("skipped for %v, want %q", got, test.skipped)
			}
			if test.skipped != "" && !strings.Contains(r.Summary(), "  Skipped          : "+test.skipped) {
				t.Errorf("the summary does not say why:\n%s", r.Summary())
			}
			if len(e.Skipped) > 0 {
				e.Skipped[0].Reason = "x"
				if r.Entities()[0].Skipped[0].Reason == "x" {
					t.Error("the report can be changed")
				}
			}
		})
	}
}

// A guard keeps its configuration whatever happens to what it was made from.
func TestGuardKeepsItsConfiguration(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Types = map[string]safety.TypePolicy{
			"Product": {MinConfidence: new(0.9), Rules: map[string]safety.Rule{"price": {Drift: "fare"}}},
		}
		cfg.Policy.Require, cfg.Policy.Listed = safety.RequireListed, []string{"Product"}
		cfg.Policy.Budgets = []safety.BudgetRule{fits}
	}, strava)
	before := b.guard
	p := &b.cfg.Policy
	p.Types["Product"].Rules["price"] = safety.Rule{Drift: "x", Effect: safety.Warn}
	*p.Types["Product"].MinConfidence = 0
	p.Types["Product"] = safety.TypePolicy{Optional: true}
	p.Listed[0], p.Budgets[0] = "Nothing", safety.BudgetRule{}
	b.cfg.Checkers["Product"] = safety.CheckerFunc(nil)
	b.record.snap.Entities[0].Confidence = 0.8
	b.world.put(strava, "price", usd("$1"))
	b.guard = before
	r := b.check()
	wantDrift(t, r, "fare")
	wantFailure(t, r, safety.ReasonLowConfidence)
	wantFailure(t, r, safety.ReasonPolicy)
}

func TestNamesOfValues(t *testing.T) {
	for want, v := range map[string]fmt.Stringer{
		"either": safety.Either, "rise": safety.Rise, "fall": safety.Fall, "block": safety.Block, "warn": safety.Warn,
		"everything": safety.RequireEverything, "named": safety.RequireNamed, "listed": safety.RequireListed,
		"deny": safety.UnseenDeny, "allow": safety.UnseenAllow,
	} {
		if v.String() != want {
			t.Errorf("%v, want %q", v, want)
		}
	}
	// What has no name reads as the strictest.
	if got := []string{safety.Direction(3).String(), safety.Effect(2).String(), safety.Requirement(3).String(), safety.Unseen(2).String()}; !slices.Equal(got, []string{"either", "block", "everything", "deny"}) {
		t.Errorf("values without a name are %v", got)
	}
	e := safety.Block
	if text, err := safety.Warn.MarshalText(); string(text) != "warn" || err != nil || e.UnmarshalText(text) != nil || e != safety.Warn {
		t.Errorf("%s, %v is read as %v", text, err, e)
	}
	if err := e.UnmarshalText([]byte("Block\n")); err == nil || strings.Contains(err.Error(), "\n") || e != safety.Warn {
		t.Errorf("%v, %v", e, err)
	}
}

// TestRelaxing holds for random entities and answers that a policy which allows more
// never turns safe into anything else, and so one that allows less never makes
// something safe.
func TestRelaxing(t *testing.T) {
	var r *rand.Rand
	pick := func(list ...entity.Value) entity.Value { return list[r.IntN(len(list))] }
	attributes := []string{"price", "reach", "availability", "note"}
	value := func(name string) entity.Value {
		switch name {
		case "price":
			return pick(usd("$100"), usd("$100"), usd("$104"), usd("$96"), usd("$150"))
		case "reach":
			return pick(number(100), number(100), number(103), number(90))
		case "availability":
			return pick(entity.Bool(true), entity.Bool(true), entity.Bool(true), entity.Bool(false))
		default:
			return pick(entity.Text("a"), entity.Text("a"), entity.Text("b"))
		}
	}
	rule := func() safety.Rule {
		return safety.Rule{
			Drift: "moved", Tolerance: safety.Tolerance{Absolute: float64(r.IntN(3) * 2), Percent: float64(r.IntN(3) * 2)},
			Direction: safety.Direction(r.IntN(3)), Effect: safety.Effect(r.IntN(4) / 3), Optional: r.IntN(4) == 0,
		}
	}
	relax := func(p *safety.Policy) string {
		name := attributes[r.IntN(len(attributes))]
		rules := p.Rules
		if r.IntN(2) == 0 {
			rules = p.Types["Product"].Rules
		}
		x := rules[name]
		defer func() { rules[name] = x }()
		if limit, isCondition := strings.CutPrefix(x.Condition.Literal, "1"); isCondition && r.IntN(2) == 0 {
			x.Condition.Literal = "2" + limit
			return "condition on " + name
		} else if x.Condition.Operator != safety.NoCondition {
			x.Optional = true
			return "optional " + name
		}
		switch r.IntN(6) {
		case 0:
			if x.Tolerance == (safety.Tolerance{}) {
				x.Tolerance.Percent = 3
			}
			x.Tolerance.Absolute *= 2
			x.Tolerance.Percent *= 2
			return "tolerance of " + name
		case 1:
			x.Optional = true
			return "optional " + name
		case 2:
			x.Effect = safety.Warn
			return "warning of " + name
		case 3:
			if x.Direction != safety.Either {
				return "nothing"
			}
			x.Direction = safety.Rise
			return "direction of " + name
		case 4:
			of := p.Types["Product"]
			of.MaxAge, of.MinConfidence = time.Hour, new(0.0)
			p.Types["Product"] = of
			return "limits of Product"
		default:
			typ := []string{"Product", "Room"}[r.IntN(2)]
			of := p.Types[typ]
			of.Optional = true
			p.Types[typ] = of
			return "optional " + typ
		}
	}
	clone := func(p safety.Policy) safety.Policy {
		of := func(rules map[string]safety.Rule) map[string]safety.Rule {
			out := map[string]safety.Rule{}
			for _, name := range attributes {
				out[name] = rules[name]
			}
			return out
		}
		p.Rules = of(p.Rules)
		product, room := p.Types["Product"], p.Types["Room"]
		product.Rules = of(product.Rules)
		p.Types = map[string]safety.TypePolicy{"Product": product, "Room": room}
		return p
	}
	safe, unsafe, rounds := 0, 0, 0
	for seed := range testsize.Seeds(t, 600, 3000) {
		rounds++
		r = rand.New(rand.NewPCG(seed, 4))
		strict := safety.DefaultPolicy()
		ofType := map[string]safety.Rule{}
		for _, name := range attributes {
			strict.Rules[name], ofType[name] = rule(), rule()
		}
		if r.IntN(3) == 0 {
			x := ofType["reach"]
			x.Tolerance, x.Direction, x.Condition = safety.Tolerance{}, safety.Either, literal(safety.AtMost, []string{"100", "102", "105"}[r.IntN(3)])
			ofType["reach"] = x
		}
		strict.Types = map[string]safety.TypePolicy{"Product": {Rules: ofType}, "Room": {Optional: r.IntN(4) == 0}}
		loose := clone(strict)
		what := relax(&loose)

		var entities []entity.Canonical
		states := map[string]safety.State{}
		for _, name := range []string{"Product", "Room"} {
			seen, now := values{}, values{}
			for _, attribute := range attributes {
				seen[attribute] = value(attribute)
				if r.IntN(2) == 0 {
					now[attribute] = value(attribute)
				} else if now[attribute] = seen[attribute]; r.IntN(12) == 0 {
					delete(now, attribute)
				}
			}
			e := thing(name, "E", seen)
			e.Confidence = []float64{1, 1, 1, 0.2}[r.IntN(4)]
			entities = append(entities, e)
			states[e.Key] = safety.State{Attributes: now, AsOf: epoch.Add(-time.Minute * time.Duration(r.IntN(5)/4))}
		}
		report := func(p safety.Policy) safety.Report {
			b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Policy = p }, entities...)
			b.world.states = states
			return b.check()
		}
		before, after := report(strict), report(loose)
		if before.IsSafeToApprove() && !after.IsSafeToApprove() {
			t.Fatalf("%s turned safe into %s:\n%s\n%s", what, after.Verdict(), before.Summary(), after.Summary())
		}
		if before.IsSafeToApprove() {
			safe++
		} else if after.IsSafeToApprove() {
			unsafe++
		}
	}
	if least := testsize.Rounds(t, 10, 50); rounds > 1 && (safe < least || unsafe < least) {
		t.Errorf("%d were safe before, %d only after: the test tells nothing", safe, unsafe)
	}
}
