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

func TestDefaultPolicy(t *testing.T) {
	p := safety.DefaultPolicy()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if v := p.Version(); len(v) != 64 || v != safety.DefaultPolicy().Version() {
		t.Errorf("version %q is not a stable digest", v)
	}
	rules := map[string]safety.Rule{
		"availability": {Drift: safety.Unavailable, Severity: 0.95},
		"price":        {Drift: safety.PriceChanged, Severity: 0.72},
		"reach":        {Drift: safety.Changed, Severity: 0.60},
		"status":       {Drift: safety.StatusChanged, Severity: 0.90},
		config.Other:   {Drift: safety.Changed, Severity: 0.50},
	}
	if diff := cmp.Diff(rules, p.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	p.Rules["price"] = safety.Rule{Drift: "x"}
	if safety.DefaultPolicy().Rules["price"].Drift != safety.PriceChanged {
		t.Error("a default policy shares its rules with another")
	}
}

// The changes of a policy that the tests make: the policy of a type, its rules, budgets, approvals, and
// the listed types.
func typed(name string, r safety.TypePolicy) func(*safety.Policy) {
	return func(p *safety.Policy) { p.Types = map[string]safety.TypePolicy{name: r} }
}

func typeRules(rules map[string]safety.Rule) func(*safety.Policy) {
	return typed("T", safety.TypePolicy{Rules: rules})
}

func conditioned(attribute string, c safety.Condition) func(*safety.Policy) {
	return typeRules(map[string]safety.Rule{attribute: {Drift: "changed", Severity: 0.5, Condition: c}})
}

func budgeted(list ...safety.BudgetRule) func(*safety.Policy) {
	return func(p *safety.Policy) { p.Budgets = list }
}

func approvedBy(list ...safety.ApprovalRule) func(*safety.Policy) {
	return func(p *safety.Policy) { p.Approvals = list }
}

func listing(types ...string) func(*safety.Policy) {
	return func(p *safety.Policy) { p.Require, p.Listed = safety.RequireListed, types }
}

func TestPolicyValidate(t *testing.T) {
	rule := func(name string, r safety.Rule) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Rules[name] = r }
	}
	with := func(change func(*safety.BudgetRule)) safety.BudgetRule {
		b := fits
		change(&b)
		return b
	}
	two := []string{"eva", "tom"}
	for _, test := range []struct {
		want  string
		spoil func(*safety.Policy)
	}{
		{"MaxAge", func(p *safety.Policy) { p.MaxAge = 0 }},
		{"MaxAge", func(p *safety.Policy) { *p = safety.Policy{} }},
		{"Timeout", func(p *safety.Policy) { p.Timeout = -1 }},
		{"Deadline", func(p *safety.Policy) { p.Deadline = 0 }},
		{"RequestLifetime", func(p *safety.Policy) { p.RequestLifetime = 0 }},
		{"ClockSkew", func(p *safety.Policy) { p.ClockSkew = -1 }},
		{"Parallel", func(p *safety.Policy) { p.Parallel = 0 }},
		{"Parallel", func(p *safety.Policy) { p.Parallel = 1025 }},
		{"MinConfidence", func(p *safety.Policy) { p.MinConfidence = -0.1 }},
		{"MinConfidence", func(p *safety.Policy) { p.MinConfidence = 1.1 }},
		{"MinConfidence", func(p *safety.Policy) { p.MinConfidence = math.NaN() }},
		{`"a": drift type ""`, rule("a", safety.Rule{})},
		{`"a": drift type "A b"`, rule("a", safety.Rule{Drift: "A b"})},
		{`"a": severity is 7`, rule("a", safety.Rule{Drift: "x", Severity: 7})},
		{`"a": severity is NaN`, rule("a", safety.Rule{Drift: "x", Severity: math.NaN()})},
		{`"a": tolerance is -1 absolute`, rule("a", safety.Rule{Drift: "x", Tolerance: safety.Tolerance{Absolute: -1}})},
		{`"a": tolerance is 0 absolute, NaN`, rule("a", safety.Rule{Drift: "x", Tolerance: safety.Tolerance{Percent: math.NaN()}})},
		{`"a": tolerance is +Inf`, rule("a", safety.Rule{Drift: "x", Tolerance: safety.Tolerance{Absolute: math.Inf(1)}})},
		{`"a": direction is 3`, rule("a", safety.Rule{Drift: "x", Direction: 3})},
		{`"a": effect is 2`, rule("a", safety.Rule{Drift: "x", Effect: 2})},
		{`type "T": rule "a": condition: the operator is 0`, conditioned("a", safety.Condition{Literal: "8"})},
		{`type "T": rule "a": condition: the operator is 5`, conditioned("a", safety.Condition{Operator: 5, Literal: "8"})},
		{`condition: give either a literal or a path`, conditioned("a", safety.Condition{Operator: safety.AtLeast})},
		{`condition: give either a literal or a path`, conditioned("a", safety.Condition{Operator: safety.AtLeast, Literal: "8", Path: "$"})},
		{`condition: "cpus" is not an RFC 9535 JSONPath`, conditioned("a", safety.Condition{Operator: safety.AtLeast, Path: "cpus"})},
		{`condition: it is not JSON`, conditioned("a", literal(safety.AtLeast, "plenty"))},
		{`condition: it has a number that a float64 does not hold`, conditioned("a", literal(safety.AtLeast, "9007199254740993"))},
		{`condition: an object is no value`, conditioned("a", literal(safety.Equals, `{"a": 1}`))},
		{`condition: null is no value`, conditioned("a", literal(safety.Equals, "null"))},
		{`condition: it is not a list`, conditioned("a", literal(safety.OneOf, "8"))},
		{`condition: the list is empty`, conditioned("a", literal(safety.OneOf, "[]"))},
		{`rule "*": a condition is for one attribute of one type`, conditioned("*", literal(safety.AtLeast, "8"))},
		{`rule "a": a condition is for one attribute of one type`, rule("a", safety.Rule{Drift: "x", Condition: literal(safety.AtLeast, "8")})},
		{`condition beside a tolerance or a direction`, typeRules(map[string]safety.Rule{"a": {Drift: "x", Tolerance: safety.Tolerance{Percent: 1}, Condition: literal(safety.AtLeast, "8")}})},
		{`condition beside a tolerance or a direction`, typeRules(map[string]safety.Rule{"a": {Drift: "x", Direction: safety.Fall, Condition: literal(safety.AtLeast, "8")}})},
		{`type "": a type has a name`, typed("", safety.TypePolicy{})},
		{`type "T": MaxAge is -1ns`, typed("T", safety.TypePolicy{MaxAge: -1})},
		{`type "T": MinConfidence is NaN`, typed("T", safety.TypePolicy{MinConfidence: new(math.NaN())})},
		{`type "T": rule "a": drift type ""`, typeRules(map[string]safety.Rule{"a": {}})},
		{`type "T": Unseen is 2: use UnseenDeny or UnseenAllow`, typed("T", safety.TypePolicy{Unseen: 2})},
		{"Require is 3", func(p *safety.Policy) { p.Require = 3 }},
		{"Listed is empty", listing()},
		{`Listed has ["T"]: it is for RequireListed only`, func(p *safety.Policy) { p.Listed = []string{"T"} }},
		{`Listed has ""`, listing("")},
		{`budget 0: Tool "[" is no pattern`, budgeted(with(func(b *safety.BudgetRule) { b.Tool = "[" }))},
		{"budget 0: CostType and LimitType are required", budgeted(with(func(b *safety.BudgetRule) { b.CostType = "" }))},
		{"budget 0: CostType and LimitType are required", budgeted(with(func(b *safety.BudgetRule) { b.LimitType = "" }))},
		{`budget 0: CostAttribute ""`, budgeted(with(func(b *safety.BudgetRule) { b.CostAttribute = "" }))},
		{`budget 0: QuantityAttribute "A b"`, budgeted(with(func(b *safety.BudgetRule) { b.QuantityAttribute = "A b" }))},
		{`budget 0: LimitAttribute "A b"`, budgeted(with(func(b *safety.BudgetRule) { b.LimitAttribute = "A b" }))},
		{"budget 0: severity is 2", budgeted(with(func(b *safety.BudgetRule) { b.Severity = 2 }))},
		{"budget 1: it is there twice", budgeted(fits, fits)},
		{"approval rule 0: Approvers is 101", approvedBy(safety.ApprovalRule{Tool: "buy", Approvers: 101})},
		{"approval rule 0: Approvers is -1", approvedBy(safety.ApprovalRule{Tool: "buy", Approvers: -1})},
		{`approval rule 0: Tool "" is no pattern`, approvedBy(safety.ApprovalRule{})},
		{`approval rule 0: Tool "[" is no pattern`, approvedBy(safety.ApprovalRule{Tool: "["})},
		{"names one person", approvedBy(safety.ApprovalRule{Tool: "buy", Override: two[:1]})},
		{`names "Eva " twice`, approvedBy(safety.ApprovalRule{Tool: "buy", Override: []string{"eva", "Eva "}})},
		{"an empty name", approvedBy(safety.ApprovalRule{Tool: "buy", Override: []string{"eva", " "}})},
		{`budget 0: Everything sums every "Product"`, func(p *safety.Policy) {
			budgeted(with(func(b *safety.BudgetRule) { b.Everything = true }))(p)
			listing("Budget")(p)
		}},
	} {
		p := safety.DefaultPolicy()
		test.spoil(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one about %s", err, test.want)
		}
		if v := p.Version(); v != "" {
			t.Errorf("%s: a policy that is not valid has version %q", test.want, v)
		}
	}
	edge := safety.DefaultPolicy()
	edge.ClockSkew, edge.Parallel, edge.MinConfidence = 0, 1024, 1
	edge.Rules["a"] = safety.Rule{Drift: "x", Severity: 1}
	edge.Approvals = []safety.ApprovalRule{{Tool: "buy"}, {Tool: "buy_*", Approvers: 2, Override: two}, {Tool: "buy", Approvers: 100}}
	if err := edge.Validate(); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	edge.Parallel, edge.MinConfidence = 1, 0
	edge.MaxAge, edge.Timeout, edge.Deadline, edge.RequestLifetime = 1, 1, 1, 1
	if err := edge.Validate(); err != nil {
		t.Errorf("at the other limits: %v", err)
	}
}

// fits is a budget rule.
var fits = safety.BudgetRule{CostType: "Product", CostAttribute: "price", LimitType: "Budget", LimitAttribute: "amount", Severity: 0.85}

func TestPolicyVersion(t *testing.T) {
	price := func(change func(*safety.Rule)) func(*safety.Policy) {
		return func(p *safety.Policy) {
			r := p.Rules["price"]
			change(&r)
			p.Rules["price"] = r
		}
	}
	override := []string{"eva", "tom"}
	versions := map[string]string{safety.DefaultPolicy().Version(): "default"}
	for name, change := range map[string]func(*safety.Policy){
		"MaxAge":          func(p *safety.Policy) { p.MaxAge++ },
		"ClockSkew":       func(p *safety.Policy) { p.ClockSkew++ },
		"Timeout":         func(p *safety.Policy) { p.Timeout++ },
		"Deadline":        func(p *safety.Policy) { p.Deadline++ },
		"Parallel":        func(p *safety.Policy) { p.Parallel++ },
		"MinConfidence":   func(p *safety.Policy) { p.MinConfidence = 0.6 },
		"RequestLifetime": func(p *safety.Policy) { p.RequestLifetime++ },
		"drift":           price(func(r *safety.Rule) { r.Drift = "other" }),
		"severity":        price(func(r *safety.Rule) { r.Severity = 0.73 }),
		"absolute":        price(func(r *safety.Rule) { r.Tolerance.Absolute = 1 }),
		"percent":         price(func(r *safety.Rule) { r.Tolerance.Percent = 1 }),
		"direction":       price(func(r *safety.Rule) { r.Direction = safety.Rise }),
		"effect":          price(func(r *safety.Rule) { r.Effect = safety.Warn }),
		"optional":        price(func(r *safety.Rule) { r.Optional = true }),
		"one more":        func(p *safety.Policy) { p.Rules["cpm"] = safety.Rule{Drift: "changed", Severity: 0.6} },
		"another":         func(p *safety.Policy) { p.Rules["cpn"] = safety.Rule{Drift: "changed", Severity: 0.6} },
		"all others":      func(p *safety.Policy) { p.Rules["*"] = safety.Rule{Drift: "changed", Severity: 0.6} },
		"type":            typed("T", safety.TypePolicy{Optional: true}),
		"type age":        typed("T", safety.TypePolicy{MaxAge: time.Minute}),
		"type age of 1":   typed("T", safety.TypePolicy{MaxAge: 1}),
		"type floor":      typed("T", safety.TypePolicy{MinConfidence: new(0.0)}),
		"type rule":       typeRules(map[string]safety.Rule{"cpm": {Drift: "changed", Severity: 0.6}}),
		"type others":     typeRules(map[string]safety.Rule{"*": {Drift: "changed", Severity: 0.6}}),
		"type but one": func(p *safety.Policy) {
			typeRules(map[string]safety.Rule{"*": {Drift: "changed", Severity: 0.6}})(p)
			p.Rules["cpm"] = safety.Rule{Drift: "changed", Severity: 0.5}
		},
		"at least":     conditioned("cpm", literal(safety.AtLeast, "8")),
		"at least 9":   conditioned("cpm", literal(safety.AtLeast, "9")),
		"at most":      conditioned("cpm", literal(safety.AtMost, "8")),
		"one of":       conditioned("cpm", literal(safety.OneOf, "[8]")),
		"a path":       conditioned("cpm", along(safety.AtLeast, "$.a")),
		"another path": conditioned("cpm", along(safety.AtLeast, "$.b")),
		"the text":     conditioned("cpm", literal(safety.AtLeast, `"8"`)),
		"type unseen":  typed("T", safety.TypePolicy{Unseen: safety.UnseenAllow}),
		"another type": typed("U", safety.TypePolicy{Optional: true}),
		"named":        func(p *safety.Policy) { p.Require = safety.RequireNamed },
		"listed":       listing("T"),
		"listed two":   listing("T", "U"),
		"budget":       budgeted(fits),
		"two approve":  approvedBy(safety.ApprovalRule{Tool: "buy", Approvers: 2}),
		"three":        approvedBy(safety.ApprovalRule{Tool: "buy", Approvers: 3}),
		"an override":  approvedBy(safety.ApprovalRule{Tool: "sell", Override: override}),
		"others":       approvedBy(safety.ApprovalRule{Tool: "sell", Override: []string{"eva", "ann"}}),
		"both":         approvedBy(safety.ApprovalRule{Tool: "buy", Approvers: 2}, safety.ApprovalRule{Tool: "sell", Override: override}),
		"both of one":  approvedBy(safety.ApprovalRule{Tool: "sell", Approvers: 2, Override: override}),
		"budgets":      budgeted(fits, safety.BudgetRule{CostType: "T", CostAttribute: "a", LimitType: "U", Everything: true}),
	} {
		p := safety.DefaultPolicy()
		change(&p)
		if other, ok := versions[p.Version()]; ok {
			t.Errorf("%s has the version of %s", name, other)
		}
		versions[p.Version()] = name
	}
}

// Policies that mean the same have the same version.
func TestPolicyVersionIsOfTheMeaning(t *testing.T) {
	type rules = map[string]safety.Rule
	rule := func(severity float64) safety.Rule { return safety.Rule{Drift: "changed", Severity: severity} }
	oneOf := func(list string) func(*safety.Policy) { return conditioned("a", literal(safety.OneOf, list)) }
	asIs := func(*safety.Policy) {}
	def := safety.DefaultPolicy()
	other := fits
	other.Everything = true
	for _, test := range []struct {
		name string
		a, b func(*safety.Policy)
	}{
		{"defaults", func(p *safety.Policy) { p.Rules = nil }, asIs},
		{"a rule like that of all others", func(p *safety.Policy) { p.Rules["cpm"] = rule(0.5) }, asIs},
		{"a literal spelled otherwise", oneOf("[8.0, 1e1]"), oneOf("[8,10]")},
		{"an empty type", typed("T", safety.TypePolicy{}), asIs},
		{"a type that spells out", typed("T", safety.TypePolicy{
			MaxAge: def.MaxAge, MinConfidence: new(def.MinConfidence), Rules: rules{"price": def.Rules["price"], "cpm": rule(0.5), config.Other: rule(0.5)},
		}), asIs},
		{"an exception, in two places", func(p *safety.Policy) {
			p.Rules["cpm"] = rule(0.5)
			typeRules(rules{config.Other: rule(0.6)})(p)
		}, typeRules(rules{config.Other: rule(0.6), "cpm": rule(0.5)})},
		{"a list in another order", listing("U", "T", "U"), listing("T", "U")},
		{"one approver", approvedBy(safety.ApprovalRule{Tool: "buy", Approvers: 1}), asIs},
		{"no approver", approvedBy(safety.ApprovalRule{Tool: "buy"}), asIs},
		{"people in another order", approvedBy(safety.ApprovalRule{Tool: "buy", Approvers: 2}, safety.ApprovalRule{Tool: "sell", Override: []string{"eva", "tom"}}),
			approvedBy(safety.ApprovalRule{Tool: "sell", Approvers: 1, Override: []string{"TOM", "eva"}}, safety.ApprovalRule{Tool: "buy", Approvers: 2})},
		{"budgets in another order", budgeted(fits, other), budgeted(other, fits)},
	} {
		a, b := safety.DefaultPolicy(), safety.DefaultPolicy()
		test.a(&a)
		test.b(&b)
		if a.Version() == "" || a.Version() != b.Version() {
			t.Errorf("%s: versions %q and %q; errors %v, %v", test.name, a.Version(), b.Version(), a.Validate(), b.Validate())
		}
	}
}

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
		Approvals: map[string]config.Approvals{"sell": {Override: []string{"eva", "tom"}}, "buy_*": {Approvers: 2}},
		Require:   config.RequireListed,
		Listed:    []string{"Product"},
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
	guard := configured()
	got, err := safety.NewPolicy(guard)
	if err != nil {
		t.Fatal(err)
	}
	guard.Approvals["sell"].Override[0] = "mallory" // the policy has people of its own
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
	want.Approvals = []safety.ApprovalRule{{Tool: "buy_*", Approvers: 2}, {Tool: "sell", Approvers: 1, Override: []string{"eva", "tom"}}}
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
