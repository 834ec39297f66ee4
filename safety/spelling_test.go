// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// spelt is one entity that was seen at $10 and that the action names in each of the ways.
func spelt(values ...string) entity.Canonical {
	list := []entity.Entity{{Value: "A1", Attributes: map[string]entity.Value{"price": usd("$10")}, Source: entity.SourceRule, TechNode: "node-0"}}
	for _, v := range values {
		list = append(list, entity.Entity{Value: v, Source: entity.SourceAction, TechNode: "node-1"})
	}
	list = append(list, entity.Entity{Value: "a 1", Source: entity.SourceModel, TechNode: "node-0"})
	for i := range list {
		list[i].Type, list[i].Confidence, list[i].SeenAt = "Product", 1, epoch.Add(-time.Second)
	}
	for _, e := range entity.Canonicalize(list) {
		if e.Key == "Product:text:a1" {
			return e
		}
	}
	panic("no such entity")
}

// A source may tell things apart that differ in their spelling alone.
func TestEachSpellingIsChecked(t *testing.T) {
	for _, require := range []safety.Requirement{safety.RequireEverything, safety.RequireNamed} {
		for _, moved := range []string{"", "a1", "A1"} {
			var mu sync.Mutex
			var asked []string
			price := map[string]string{"a1": "$10", "A1": "$10"}
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Policy.Require = require
				cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, e.Value)
					return safety.State{AsOf: epoch, Attributes: values{"price": usd(price[e.Value])}}, nil
				})
			}, spelt("A1", "a1"))
			a := b.ask()
			if moved != "" {
				price[moved] = "$20"
			}
			r := b.check()
			slices.Sort(asked)
			if !slices.Equal(asked, []string{"A1", "a1"}) {
				t.Errorf("%s: the checker was asked for %q", require, asked)
			}
			if r.Fingerprint() != a.Fingerprint {
				t.Errorf("%s: fingerprint %s, the request has %s", require, r.Fingerprint(), a.Fingerprint)
			}
			if moved == "" {
				wantSafe(t, r)
			} else {
				wantDrift(t, r, safety.PriceChanged)
			}
			if moved != "" && r.Alerts()[0].Entity != moved {
				t.Errorf("%s: alert %+v", require, r.Alerts()[0])
			}
		}
	}
}

// What the plan names in two spellings is bought twice, each at its own price; what was
// only looked at under another one costs nothing more.
func TestBudgetOfSpellings(t *testing.T) {
	for name, test := range map[string]struct {
		action    []string
		evaluated bool
		want      string // of the sum, "" for safe
	}{
		"both bought":           {[]string{"a1", "A1"}, false, "$23"},
		"both, and evaluated":   {[]string{"a1", "A1"}, true, "$23"},
		"one bought":            {[]string{"a1"}, false, ""},
		"one, and evaluated":    {[]string{"a1"}, true, ""},
		"the other is the last": {[]string{"A1"}, true, ""},
	} {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			rule := safety.BudgetRule{CostType: "Product", CostAttribute: "price", LimitType: "Budget", LimitAttribute: "amount", Severity: 0.5, Everything: test.evaluated}
			within(rule)(cfg)
			cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Tolerance: safety.Tolerance{Percent: 50}}
			cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
				return safety.State{AsOf: epoch, Attributes: values{"price": usd(map[string]string{"a1": "$12", "A1": "$11"}[e.Value])}}, nil
			})
		}, spelt(test.action...), thing("Budget", "q3", values{"amount": usd("$20")}))
		b.ask()
		switch r := b.check(); {
		case test.want == "":
			wantSafe(t, r)
		default:
			wantDrift(t, r, safety.BudgetExceeded)
			if got := r.Alerts()[0].After; got != test.want {
				t.Errorf("%s: the plan costs %s, want %s", name, got, test.want)
			}
		}
	}
}

// spellings is one entity that was seen under each text at the price behind it.
func spellings(prices ...string) entity.Canonical {
	var list []entity.Entity
	for i := 0; i < len(prices); i += 2 {
		list = append(list, entity.Entity{Type: "Product", Value: prices[i], Confidence: 1, Source: entity.SourceRule, TechNode: "node-0",
			SeenAt: epoch.Add(time.Duration(i-100) * time.Second), Attributes: map[string]entity.Value{"price": usd(prices[i+1])}})
	}
	return entity.Canonicalize(list)[0]
}

func sells(price map[string]string) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) {
		cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
			return safety.State{AsOf: epoch, Attributes: values{"price": usd(price[e.Value])}}, nil
		})
	}
}

// What was seen under one spelling is not forgotten for what was seen under another.
func TestSpellingsHaveValuesOfTheirOwn(t *testing.T) {
	price := map[string]string{"a1": "$10", "A1": "$20"}
	b := newBench(t, sells(price), spellings("a1", "$10", "A1", "$20"))
	b.ask()
	wantSafe(t, b.check())
	price["a1"] = "$20"
	r := b.check()
	wantDrift(t, r, safety.PriceChanged)
	if a := r.Alerts()[0]; a.Entity != "a1" || a.Before != "$10" {
		t.Errorf("alert %+v", a)
	}
}

// The record may name a thing in another way after the request.
func TestSpellingSeenAfterTheRequest(t *testing.T) {
	price := map[string]string{"a1": "$10", "A1": "$10"}
	b := newBench(t, sells(price), spellings("a1", "$10"))
	a := b.ask()
	b.record.snap.Entities = []entity.Canonical{spellings("a1", "$10", "A1", "$10")}
	r := b.check()
	wantSafe(t, r)
	if r.Fingerprint() != a.Fingerprint {
		t.Errorf("fingerprint %s, the request has %s", r.Fingerprint(), a.Fingerprint)
	}
	price["A1"] = "$20"
	r = b.check()
	wantDrift(t, r, safety.PriceChanged)
	if got := r.Alerts()[0].Entity; got != "A1" {
		t.Errorf("alert of %q", got)
	}
}

// seenAs is one entity that was seen under each text, the last one latest; what begins
// with "!" the action says.
func seenAs(texts ...string) entity.Canonical {
	var list []entity.Entity
	for i, v := range texts {
		e := entity.Entity{Type: "Product", Value: v, Confidence: 1, Source: entity.SourceRule, TechNode: "node-0", SeenAt: epoch.Add(time.Duration(i-100) * time.Second)}
		if said, ok := strings.CutPrefix(v, "!"); ok {
			e.Value, e.Source, e.TechNode = said, entity.SourceAction, "node-1"
		} else {
			e.Attributes = values{"price": usd("$10")}
		}
		list = append(list, e)
	}
	return entity.Canonicalize(list)[0]
}

// Which spellings cost something, and how much: those that the action has, as often as it
// has them, or else the one seen last.
func TestSpellingsInASum(t *testing.T) {
	repeated := seenAs("ab", "Ab", "!ab", "!Ab")
	for i := range repeated.Seen {
		if s := &repeated.Seen[i]; s.Source == entity.SourceAction && s.Value == "ab" {
			s.Repeats = 1
		}
	}
	for name, test := range map[string]struct {
		product   entity.Canonical
		evaluated bool
		gone      bool // the record has it no more at the check
		want      string
	}{
		"the first is bought":           {seenAs("Ab", "ab", "!ab"), true, false, "$12"},
		"the other is bought":           {seenAs("Ab", "!Ab", "ab"), true, false, "$11"},
		"the other, in the action":      {seenAs("Ab", "!Ab", "ab"), false, false, "$11"},
		"none is bought":                {seenAs("Ab", "ab"), true, false, "$12"},
		"none of three":                 {seenAs("AB", "Ab", "ab"), true, false, "$12"},
		"one of three":                  {seenAs("AB", "!Ab", "ab"), true, false, "$11"},
		"one twice":                     {repeated, false, false, "$35"},
		"both, and the record forgot":   {seenAs("Ab", "ab", "!ab", "!Ab"), false, true, "$23"},
		"the other, and it was forgot":  {seenAs("Ab", "!Ab", "ab"), false, true, "$11"},
		"bought under one name alone":   {seenAs("ab", "!ab"), true, false, "$12"},
		"looked at under one name only": {seenAs("ab"), true, false, "$12"},
	} {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			within(safety.BudgetRule{CostType: "Product", CostAttribute: "price", LimitType: "Budget", LimitAttribute: "amount", Severity: 0.5, Everything: test.evaluated})(cfg)
			cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Tolerance: safety.Tolerance{Percent: 50}}
			cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
				return safety.State{AsOf: epoch, Attributes: values{"price": usd(map[string]string{"ab": "$12", "Ab": "$11", "AB": "$10"}[e.Value])}}, nil
			})
		}, test.product, thing("Budget", "q3", values{"amount": usd("$1")}))
		b.ask()
		if test.gone {
			b.record.snap.Entities = slices.DeleteFunc(b.record.snap.Entities, func(e entity.Canonical) bool { return e.Type == "Product" })
		}
		r := b.check()
		wantDrift(t, r, safety.BudgetExceeded)
		if got := r.Alerts()[0].After; got != test.want {
			t.Errorf("%s: the plan costs %s, want %s", name, got, test.want)
		}
	}
}

// A spelling that the human did not see is said to be one, and no other.
func TestSpellingSeenLaterIsUnseen(t *testing.T) {
	b := newBench(t, sells(map[string]string{"a1": "$10", "A1": "$10"}), spellings("a1", "$10"))
	b.ask()
	b.record.snap.Entities = []entity.Canonical{spellings("a1", "$10", "A1", "$10")}
	unseen := make(map[string]bool)
	for _, e := range b.check().Entities() {
		unseen[e.Value] = e.Unseen
	}
	if diff := cmp.Diff(map[string]bool{"a1": false, "A1": true}, unseen); diff != "" {
		t.Errorf("unseen (-want +got):\n%s", diff)
	}
}

// A checker that is asked for one spelling sees which attributes were seen with it, so that it
// can tell where they came from.
func TestCheckerSeesWhatASpellingWasSeenWith(t *testing.T) {
	var mu sync.Mutex
	got := make(map[string][]string)
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, s := range e.Seen {
				got[e.Value] = append(got[e.Value], fmt.Sprintf("%s with %d attributes", s.Value, len(s.Attributes)))
			}
			return safety.State{AsOf: epoch, Attributes: values{"price": e.Attributes["price"]}}, nil
		})
	}, spellings("a1", "$10", "A1", "$20"))
	b.ask()
	wantSafe(t, b.check())
	want := map[string][]string{
		"a1": {"a1 with 1 attributes", "A1 with 0 attributes"},
		"A1": {"a1 with 0 attributes", "A1 with 1 attributes"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A text has spellings also where it was read as one; a number and an amount have none.
func TestSpellingsOfKinds(t *testing.T) {
	for _, test := range []struct {
		values []string
		norm   entity.Value
		asked  int
	}{
		{[]string{"a1", "A1"}, entity.Text("a1"), 2},
		{[]string{"a1", "A1"}, entity.Value{}, 2},
		{[]string{"$10", "10 USD"}, usd("$10"), 1},
		{[]string{"10", "10.0"}, number(10), 1},
	} {
		var list []entity.Entity
		for i, v := range test.values {
			list = append(list, entity.Entity{Type: "Product", Value: v, Norm: test.norm, Confidence: 1, Source: entity.SourceRule, TechNode: "node-0",
				SeenAt: epoch.Add(time.Duration(i-100) * time.Second), Attributes: values{"price": usd("$10")}})
		}
		one := entity.Canonicalize(list)
		if len(one) != 1 {
			t.Fatalf("%v are %d entities", test.values, len(one))
		}
		b := newBench(t, answering(safety.State{AsOf: epoch, Attributes: values{"price": usd("$10")}}, nil), one[0])
		b.ask()
		if r := b.check(); r.TotalEntities() != test.asked || !r.IsSafeToApprove() {
			t.Errorf("%v: %d were checked, want %d\n%s", test.values, r.TotalEntities(), test.asked, r.Summary())
		}
	}
}
