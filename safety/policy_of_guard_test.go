// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// configured is a guard with something of everything.
func configured() config.Guard {
	return config.Guard{
		RequestLifetime: 20 * time.Second,
		CheckTimeout:    20 * time.Second,
		MinConfidence:   new(0.0),
		Drift: map[string]config.Drift{
			"price":  {Tolerance: config.Tolerance{Percent: 5}},
			"reach":  {Type: "reach_moved", Severity: new(0.0)},
			"pages":  {Tolerance: config.Tolerance{Absolute: 3}},
			"*":      {Type: "moved", Severity: new(0.1), Tolerance: config.Tolerance{Percent: 1}},
			"clicks": {Direction: config.Fall, Effect: config.EffectWarn, Optional: true},
		},
		Types: map[string]config.TypePolicy{
			"Product": {Optional: true, MaxAge: time.Second, MinConfidence: new(0.9), Unseen: config.UnseenAllow, Drift: map[string]config.Drift{
				"price": {Direction: config.Rise}, // what it leaves out is strict
				"pages": {Effect: config.EffectWarn},
				"words": {Tolerance: config.Tolerance{Absolute: 2}},
				"*":     {Type: "turned"},
			}},
			"Room": {Drift: map[string]config.Drift{"words": {}}},
		},
		Require: config.RequireListed,
		Listed:  []string{"Product"},
		Budgets: []config.Budget{
			{Cost: config.Cost{Type: "Product", Attribute: "price"}, Limit: config.Limit{Type: "Budget"}},
			{
				Tool: "buy_*", Cost: config.Cost{Type: "Product", Attribute: "price", Quantity: "pages"},
				Limit: config.Limit{Type: "Budget", Attribute: "amount"}, Everything: true, Severity: new(0.0),
			},
		},
	}
}

func TestNewPolicy(t *testing.T) {
	got, err := safety.NewPolicy(configured())
	if err != nil {
		t.Fatal(err)
	}
	want := safety.DefaultPolicy()
	want.RequestLifetime = 20 * time.Second
	want.MaxAge = 20 * time.Second // not longer than the request
	want.Timeout = 20 * time.Second
	want.Deadline = 20 * time.Second // not shorter than one check
	want.MinConfidence = 0
	want.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Severity: 0.72, Tolerance: safety.Tolerance{Percent: 5}}
	want.Rules["reach"] = safety.Rule{Drift: "reach_moved"}
	want.Rules["pages"] = safety.Rule{Drift: "moved", Severity: 0.1, Tolerance: safety.Tolerance{Absolute: 3}}
	want.Rules["clicks"] = safety.Rule{Drift: "moved", Severity: 0.1, Direction: safety.Fall, Effect: safety.Warn, Optional: true}
	want.Types = map[string]safety.TypePolicy{
		"Product": {Optional: true, MaxAge: time.Second, MinConfidence: new(0.9), Unseen: safety.UnseenAllow, Rules: map[string]safety.Rule{
			"price":      {Drift: safety.PriceChanged, Severity: 0.72, Direction: safety.Rise},
			"pages":      {Drift: "moved", Severity: 0.1, Effect: safety.Warn},
			"words":      {Drift: "turned", Severity: 0.1, Tolerance: safety.Tolerance{Absolute: 2}},
			config.Other: {Drift: "turned", Severity: 0.1},
		}},
		"Room": {Rules: map[string]safety.Rule{"words": {Drift: "moved", Severity: 0.1}}},
	}
	want.Require, want.Listed = safety.RequireListed, []string{"Product"}
	want.Budgets = []safety.BudgetRule{
		{CostType: "Product", CostAttribute: "price", LimitType: "Budget", Severity: 0.85},
		{
			Tool: "buy_*", CostType: "Product", CostAttribute: "price", QuantityAttribute: "pages",
			LimitType: "Budget", LimitAttribute: "amount", Everything: true,
		},
	}
	want.Rules[config.Other] = safety.Rule{Drift: "moved", Severity: 0.1, Tolerance: safety.Tolerance{Percent: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := safety.NewPolicy(config.Guard{CheckDeadline: time.Second}); got.Timeout != time.Second || err != nil {
		t.Errorf("timeout %v with a deadline of 1s, %v", got.Timeout, err)
	}
	if got, err := safety.NewPolicy(config.Guard{Require: config.RequireNamed}); got.Require != safety.RequireNamed || err != nil {
		t.Errorf("require %v, %v", got.Require, err)
	}
}

func TestNewPolicyOfConditions(t *testing.T) {
	for name, test := range map[string]struct {
		drift config.Drift
		want  safety.Condition
	}{
		"none":     {config.Drift{}, safety.Condition{}},
		"number":   {config.Drift{AtLeast: json.Number("8")}, safety.Condition{Operator: safety.AtLeast, Literal: "8"}},
		"amount":   {config.Drift{AtMost: "$50"}, safety.Condition{Operator: safety.AtMost, Literal: `"$50"`}},
		"list":     {config.Drift{OneOf: []any{"a", 2, true}}, safety.Condition{Operator: safety.OneOf, Literal: `["a",2,true]`}},
		"boolean":  {config.Drift{Equals: false}, safety.Condition{Operator: safety.Equals, Literal: "false"}},
		"path":     {config.Drift{OneOf: "$.zones"}, safety.Condition{Operator: safety.OneOf, Path: "$.zones"}},
		"brackets": {config.Drift{Equals: "$['a']"}, safety.Condition{Operator: safety.Equals, Path: "$['a']"}},
		"root":     {config.Drift{Equals: "$"}, safety.Condition{Operator: safety.Equals, Path: "$"}},
	} {
		p, err := safety.NewPolicy(config.Guard{Types: map[string]config.TypePolicy{"T": {Drift: map[string]config.Drift{"a": test.drift}}}})
		if got := p.Types["T"].Rules["a"].Condition; got != test.want || err != nil {
			t.Errorf("%s: %+v, want %+v; %v", name, got, test.want, err)
		}
	}
}

// A policy is not valid if its guard has what no configuration may have. No guard decides by
// it.
func TestNewPolicyOfWhatIsWrong(t *testing.T) {
	drift := func(d config.Drift) config.Guard {
		return config.Guard{Types: map[string]config.TypePolicy{"T": {Drift: map[string]config.Drift{"a": d}}}}
	}
	for name, g := range map[string]config.Guard{
		"a requirement without a name":   {Require: "everybody"},
		"a direction without a name":     drift(config.Drift{Direction: "up"}),
		"an effect without a name":       drift(config.Drift{Effect: "none"}),
		"an answer without a name":       {Types: map[string]config.TypePolicy{"T": {Unseen: "maybe"}}},
		"two conditions":                 drift(config.Drift{AtLeast: 1, AtMost: 2}),
		"a condition that is no JSON":    drift(config.Drift{AtLeast: math.NaN()}),
		"a condition that is not a list": drift(config.Drift{OneOf: 1}),
		"a condition of all attributes":  {Drift: map[string]config.Drift{"a": {Equals: 1}}},
		"a negative age":                 {CheckAge: -1},
		"a severity":                     drift(config.Drift{Severity: new(2.0)}),
		"a budget":                       {Budgets: []config.Budget{{Tool: "["}}},
	} {
		p, err := safety.NewPolicy(g)
		if err == nil || p.Version() != "" {
			t.Errorf("%s: it is valid: %+v", name, p)
		}
	}
}

// What a condition of a configuration says is held against the attribute that it is for.
func TestCheck(t *testing.T) {
	c := config.Config{
		Guard: config.Guard{
			Drift: map[string]config.Drift{"price": {AtLeast: 1}, "*": {Effect: config.EffectWarn}},
			Types: map[string]config.TypePolicy{
				"Any": {Drift: map[string]config.Drift{"*": {Equals: 1}}},
				"Two": {Drift: map[string]config.Drift{"a": {AtLeast: 1, AtMost: 2}}},
				"Beside": {Drift: map[string]config.Drift{
					"a": {AtLeast: 1, Tolerance: config.Tolerance{Percent: 1}, Direction: config.Rise}, "b": {AtLeast: 1, Direction: config.Either},
				}},
				"Path":  {Drift: map[string]config.Drift{"a": {Equals: "$["}, "b": {Equals: "$.b"}}},
				"Value": {Drift: map[string]config.Drift{"a": {OneOf: 1}, "b": {AtLeast: math.NaN()}, "c": {}}},
				"Kind":  {Drift: map[string]config.Drift{"a": {AtLeast: "x"}, "b": {AtLeast: 1}, "c": {AtMost: 1}, "d": {Equals: 1}}},
			},
		},
		Extract: []config.Extract{
			{Name: "kinds", Tool: "t", Type: "Kind", Value: "$.v", Attributes: map[string]config.Attribute{
				"a": {Path: "$.a"}, "b": {Path: "$.b", Type: entity.KindNumber},
			}},
			{Name: "others", Tool: "t", Type: "Other", Value: "$.v", Attributes: map[string]config.Attribute{"d": {Path: "$.d"}}},
		},
		Checkers: []config.Checker{
			{Type: "Other", Replay: &config.Replay{}},
			{Type: "Another", HTTP: &config.HTTP{URL: "http://x/{value}", Attributes: map[string]config.Answer{"b": {Path: "$.b"}}}},
			{Type: "Kind", HTTP: &config.HTTP{URL: "http://x/{value}", Attributes: map[string]config.Answer{
				"b": {Path: "$.b", Type: entity.KindNumber}, "c": {Path: "$.c", Type: entity.KindBool}, "d": {Path: "$.d", Type: entity.KindNumber},
			}}},
		},
	}
	want := strings.Split(`contextgraph: configuration:
Config.Guard.Drift["price"].AtLeast: a condition is for one attribute of one type; write it under guard.types, as in Cluster: {drift: {free: {at_least: 8}}}
Config.Guard.Types["Any"].Drift["*"].Equals: a condition is for one attribute of one type; write it under guard.types, as in Cluster: {drift: {free: {at_least: 8}}}
Config.Guard.Types["Beside"].Drift["a"].Tolerance: given beside at_least; keep one of them: with a condition the present value is not compared with what was read
Config.Guard.Types["Beside"].Drift["a"].Direction: given beside at_least; keep one of them: with a condition the present value is not compared with what was read
Config.Guard.Types["Kind"].Drift["a"].AtLeast: rule "kinds" gives a as text: a text has no order; use one_of or equals; write a value of that type, or correct the type of the attribute
Config.Guard.Types["Kind"].Drift["c"].AtMost: the checker of "Kind" gives c as boolean: a boolean has no order; use one_of or equals; write a value of that type, or correct the type of the attribute
Config.Guard.Types["Path"].Drift["a"].Equals: "$[" is not a JSONPath (RFC 9535): unexpected eof at position 3; write for example $.name or $.items[*]
Config.Guard.Types["Two"].Drift["a"].AtMost: given beside at_least; keep one of them
Config.Guard.Types["Value"].Drift["a"].OneOf: it is not a list, which one_of needs; write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus
Config.Guard.Types["Value"].Drift["b"].AtLeast: json: unsupported value: NaN; write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus`, "\n")
	err := c.Check(safety.Check)
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What only a policy knows to be wrong is an error of the guard, unless it has others.
func TestCheckOfThePolicy(t *testing.T) {
	twice := config.Budget{Cost: config.Cost{Type: "Product", Attribute: "price"}, Limit: config.Limit{Type: "Budget"}, Everything: true}
	c := config.Config{Guard: config.Guard{Budgets: []config.Budget{twice, twice}}}
	if err, want := c.Check(safety.Check), "Config.Guard: safety policy: budget 1: it is there twice; correct this part"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	c.Guard.MinConfidence = new(2.0)
	if err := c.Check(safety.Check); err == nil || strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v, want the confidence alone", err)
	}
	if err := new(config.Config).Check(safety.Check); err != nil {
		t.Error(err)
	}
}
