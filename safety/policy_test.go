// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
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

func TestPolicyValidate(t *testing.T) {
	rule := func(name string, r safety.Rule) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Rules[name] = r }
	}
	typed := func(name string, r safety.TypePolicy) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Types = map[string]safety.TypePolicy{name: r} }
	}
	budgets := func(list ...safety.BudgetRule) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Budgets = list }
	}
	with := func(change func(*safety.BudgetRule)) safety.BudgetRule {
		b := fits
		change(&b)
		return b
	}
	two := []string{"eva", "tom"}
	approvals := func(r safety.ApprovalRule) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Approvals = []safety.ApprovalRule{r} }
	}
	condition := func(attribute string, c safety.Condition) func(*safety.Policy) {
		return typed("T", safety.TypePolicy{Rules: map[string]safety.Rule{attribute: {Drift: "x", Condition: c}}})
	}
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
		{`type "T": rule "a": condition: the operator is 0`, condition("a", safety.Condition{Literal: "8"})},
		{`type "T": rule "a": condition: the operator is 5`, condition("a", safety.Condition{Operator: 5, Literal: "8"})},
		{`condition: give either a literal or a path`, condition("a", safety.Condition{Operator: safety.AtLeast})},
		{`condition: give either a literal or a path`, condition("a", safety.Condition{Operator: safety.AtLeast, Literal: "8", Path: "$"})},
		{`condition: "cpus" is not an RFC 9535 JSONPath`, condition("a", safety.Condition{Operator: safety.AtLeast, Path: "cpus"})},
		{`condition: it is not JSON`, condition("a", literal(safety.AtLeast, "plenty"))},
		{`condition: it has a number that a float64 does not hold`, condition("a", literal(safety.AtLeast, "9007199254740993"))},
		{`condition: an object is no value`, condition("a", literal(safety.Equals, `{"a": 1}`))},
		{`condition: null is no value`, condition("a", literal(safety.Equals, "null"))},
		{`condition: it is not a list`, condition("a", literal(safety.OneOf, "8"))},
		{`condition: the list is empty`, condition("a", literal(safety.OneOf, "[]"))},
		{`rule "*": a condition is for one attribute of one type`, condition("*", literal(safety.AtLeast, "8"))},
		{`rule "a": a condition is for one attribute of one type`, rule("a", safety.Rule{Drift: "x", Condition: literal(safety.AtLeast, "8")})},
		{`condition beside a tolerance or a direction`, typed("T", safety.TypePolicy{Rules: map[string]safety.Rule{"a": {Drift: "x", Tolerance: safety.Tolerance{Percent: 1}, Condition: literal(safety.AtLeast, "8")}}})},
		{`condition beside a tolerance or a direction`, typed("T", safety.TypePolicy{Rules: map[string]safety.Rule{"a": {Drift: "x", Direction: safety.Fall, Condition: literal(safety.AtLeast, "8")}}})},
		{`type "": a type has a name`, typed("", safety.TypePolicy{})},
		{`type "T": MaxAge is -1ns`, typed("T", safety.TypePolicy{MaxAge: -1})},
		{`type "T": MinConfidence is NaN`, typed("T", safety.TypePolicy{MinConfidence: new(math.NaN())})},
		{`type "T": rule "a": drift type ""`, typed("T", safety.TypePolicy{Rules: map[string]safety.Rule{"a": {}}})},
		{`type "T": Unseen is 2: use UnseenDeny or UnseenAllow`, typed("T", safety.TypePolicy{Unseen: 2})},
		{"Require is 3", func(p *safety.Policy) { p.Require = 3 }},
		{"Listed is empty", func(p *safety.Policy) { p.Require = safety.RequireListed }},
		{`Listed has ["T"]: it is for RequireListed only`, func(p *safety.Policy) { p.Listed = []string{"T"} }},
		{`Listed has ""`, func(p *safety.Policy) { p.Require, p.Listed = safety.RequireListed, []string{""} }},
		{`budget 0: Tool "[" is no pattern`, budgets(with(func(b *safety.BudgetRule) { b.Tool = "[" }))},
		{"budget 0: CostType and LimitType are required", budgets(with(func(b *safety.BudgetRule) { b.CostType = "" }))},
		{"budget 0: CostType and LimitType are required", budgets(with(func(b *safety.BudgetRule) { b.LimitType = "" }))},
		{`budget 0: CostAttribute ""`, budgets(with(func(b *safety.BudgetRule) { b.CostAttribute = "" }))},
		{`budget 0: QuantityAttribute "A b"`, budgets(with(func(b *safety.BudgetRule) { b.QuantityAttribute = "A b" }))},
		{`budget 0: LimitAttribute "A b"`, budgets(with(func(b *safety.BudgetRule) { b.LimitAttribute = "A b" }))},
		{"budget 0: severity is 2", budgets(with(func(b *safety.BudgetRule) { b.Severity = 2 }))},
		{"budget 1: it is there twice", budgets(fits, fits)},
		{"approval rule 0: Approvers is 101", approvals(safety.ApprovalRule{Tool: "buy", Approvers: 101})},
		{"approval rule 0: Approvers is -1", approvals(safety.ApprovalRule{Tool: "buy", Approvers: -1})},
		{`approval rule 0: Tool "" is no pattern`, approvals(safety.ApprovalRule{})},
		{`approval rule 0: Tool "[" is no pattern`, approvals(safety.ApprovalRule{Tool: "["})},
		{"names one person", approvals(safety.ApprovalRule{Tool: "buy", Override: two[:1]})},
		{`names "Eva " twice`, approvals(safety.ApprovalRule{Tool: "buy", Override: []string{"eva", "Eva "}})},
		{"an empty name", approvals(safety.ApprovalRule{Tool: "buy", Override: []string{"eva", " "}})},
		{`budget 0: Everything sums every "Product"`, func(p *safety.Policy) {
			budgets(with(func(b *safety.BudgetRule) { b.Everything = true }))(p)
			p.Require, p.Listed = safety.RequireListed, []string{"Budget"}
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
	typed := func(r safety.TypePolicy) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Types = map[string]safety.TypePolicy{"T": r} }
	}
	condition := func(c safety.Condition) func(*safety.Policy) {
		return typed(safety.TypePolicy{Rules: map[string]safety.Rule{"cpm": {Drift: "changed", Severity: 0.5, Condition: c}}})
	}
	approvals := func(rules ...safety.ApprovalRule) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Approvals = rules }
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
		"drift":           func(p *safety.Policy) { p.Rules["price"] = safety.Rule{Drift: "other", Severity: 0.72} },
		"severity":        func(p *safety.Policy) { p.Rules["price"] = safety.Rule{Drift: "price_changed", Severity: 0.73} },
		"absolute": func(p *safety.Policy) {
			p.Rules["price"] = safety.Rule{Drift: "price_changed", Severity: 0.72, Tolerance: safety.Tolerance{Absolute: 1}}
		},
		"percent": func(p *safety.Policy) {
			p.Rules["price"] = safety.Rule{Drift: "price_changed", Severity: 0.72, Tolerance: safety.Tolerance{Percent: 1}}
		},
		"direction": func(p *safety.Policy) {
			p.Rules["price"] = safety.Rule{Drift: "price_changed", Severity: 0.72, Direction: safety.Rise}
		},
		"effect": func(p *safety.Policy) {
			p.Rules["price"] = safety.Rule{Drift: "price_changed", Severity: 0.72, Effect: safety.Warn}
		},
		"optional": func(p *safety.Policy) {
			p.Rules["price"] = safety.Rule{Drift: "price_changed", Severity: 0.72, Optional: true}
		},
		"one more":      func(p *safety.Policy) { p.Rules["cpm"] = safety.Rule{Drift: "changed", Severity: 0.6} },
		"another":       func(p *safety.Policy) { p.Rules["cpn"] = safety.Rule{Drift: "changed", Severity: 0.6} },
		"all others":    func(p *safety.Policy) { p.Rules["*"] = safety.Rule{Drift: "changed", Severity: 0.6} },
		"type":          typed(safety.TypePolicy{Optional: true}),
		"type age":      typed(safety.TypePolicy{MaxAge: time.Minute}),
		"type age of 1": typed(safety.TypePolicy{MaxAge: 1}),
		"type floor":    typed(safety.TypePolicy{MinConfidence: new(0.0)}),
		"type rule":     typed(safety.TypePolicy{Rules: map[string]safety.Rule{"cpm": {Drift: "changed", Severity: 0.6}}}),
		"type others":   typed(safety.TypePolicy{Rules: map[string]safety.Rule{"*": {Drift: "changed", Severity: 0.6}}}),
		"type but one": func(p *safety.Policy) {
			typed(safety.TypePolicy{Rules: map[string]safety.Rule{"*": {Drift: "changed", Severity: 0.6}}})(p)
			p.Rules["cpm"] = safety.Rule{Drift: "changed", Severity: 0.5}
		},
		"at least":     condition(literal(safety.AtLeast, "8")),
		"at least 9":   condition(literal(safety.AtLeast, "9")),
		"at most":      condition(literal(safety.AtMost, "8")),
		"one of":       condition(literal(safety.OneOf, "[8]")),
		"a path":       condition(along(safety.AtLeast, "$.a")),
		"another path": condition(along(safety.AtLeast, "$.b")),
		"the text":     condition(literal(safety.AtLeast, `"8"`)),
		"type unseen":  typed(safety.TypePolicy{Unseen: safety.UnseenAllow}),
		"another type": func(p *safety.Policy) { p.Types = map[string]safety.TypePolicy{"U": {Optional: true}} },
		"named":        func(p *safety.Policy) { p.Require = safety.RequireNamed },
		"listed":       func(p *safety.Policy) { p.Require, p.Listed = safety.RequireListed, []string{"T"} },
		"listed two":   func(p *safety.Policy) { p.Require, p.Listed = safety.RequireListed, []string{"T", "U"} },
		"budget":       func(p *safety.Policy) { p.Budgets = []safety.BudgetRule{fits} },
		"two approve":  approvals(safety.ApprovalRule{Tool: "buy", Approvers: 2}),
		"three":        approvals(safety.ApprovalRule{Tool: "buy", Approvers: 3}),
		"an override":  approvals(safety.ApprovalRule{Tool: "sell", Override: override}),
		"others":       approvals(safety.ApprovalRule{Tool: "sell", Override: []string{"eva", "ann"}}),
		"both":         approvals(safety.ApprovalRule{Tool: "buy", Approvers: 2}, safety.ApprovalRule{Tool: "sell", Override: override}),
		"both of one":  approvals(safety.ApprovalRule{Tool: "sell", Approvers: 2, Override: override}),
		"budgets": func(p *safety.Policy) {
			p.Budgets = []safety.BudgetRule{fits, {CostType: "T", CostAttribute: "a", LimitType: "U", Everything: true}}
		},
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
	rule := func(severity float64) safety.Rule { return safety.Rule{Drift: "changed", Severity: severity} }
	price := safety.DefaultPolicy().Rules["price"]
	other := fits
	other.Everything = true
	for _, test := range []struct {
		name string
		a, b func(*safety.Policy)
	}{
		{"defaults", func(p *safety.Policy) { p.Rules = nil }, func(*safety.Policy) {}},
		{"a rule like that of all others", func(p *safety.Policy) { p.Rules["cpm"] = rule(0.5) }, func(*safety.Policy) {}},
		{"a literal spelled otherwise", func(p *safety.Policy) {
			p.Types = map[string]safety.TypePolicy{"T": {Rules: map[string]safety.Rule{"a": {Drift: "changed", Condition: literal(safety.OneOf, "[8.0, 1e1]")}}}}
		}, func(p *safety.Policy) {
			p.Types = map[string]safety.TypePolicy{"T": {Rules: map[string]safety.Rule{"a": {Drift: "changed", Condition: literal(safety.OneOf, "[8,10]")}}}}
		}},
		{"an empty type", func(p *safety.Policy) { p.Types = map[string]safety.TypePolicy{"T": {}} }, func(*safety.Policy) {}},
		{"a type that spells out", func(p *safety.Policy) {
			p.Types = map[string]safety.TypePolicy{"T": {
				MaxAge: p.MaxAge, MinConfidence: new(p.MinConfidence),
				Rules: map[string]safety.Rule{"price": price, "cpm": rule(0.5), config.Other: rule(0.5)},
			}}
		}, func(*safety.Policy) {}},
		{"an exception, in two places", func(p *safety.Policy) {
			p.Rules["cpm"] = rule(0.5)
			p.Types = map[string]safety.TypePolicy{"T": {Rules: map[string]safety.Rule{config.Other: rule(0.6)}}}
		}, func(p *safety.Policy) {
			p.Types = map[string]safety.TypePolicy{"T": {Rules: map[string]safety.Rule{config.Other: rule(0.6), "cpm": rule(0.5)}}}
		}},
		{"a list in another order", func(p *safety.Policy) {
			p.Require, p.Listed = safety.RequireListed, []string{"U", "T", "U"}
		}, func(p *safety.Policy) {
			p.Require, p.Listed = safety.RequireListed, []string{"T", "U"}
		}},
		{"one approver", func(p *safety.Policy) { p.Approvals = []safety.ApprovalRule{{Tool: "buy", Approvers: 1}} }, func(*safety.Policy) {}},
		{"no approver", func(p *safety.Policy) { p.Approvals = []safety.ApprovalRule{{Tool: "buy"}} }, func(*safety.Policy) {}},
		{"people in another order", func(p *safety.Policy) {
			p.Approvals = []safety.ApprovalRule{{Tool: "buy", Approvers: 2}, {Tool: "sell", Override: []string{"eva", "tom"}}}
		}, func(p *safety.Policy) {
			p.Approvals = []safety.ApprovalRule{{Tool: "sell", Approvers: 1, Override: []string{"TOM", "eva"}}, {Tool: "buy", Approvers: 2}}
		}},
		{"budgets in another order", func(p *safety.Policy) { p.Budgets = []safety.BudgetRule{fits, other} },
			func(p *safety.Policy) { p.Budgets = []safety.BudgetRule{other, fits} }},
	} {
		a, b := safety.DefaultPolicy(), safety.DefaultPolicy()
		test.a(&a)
		test.b(&b)
		if a.Version() == "" || a.Version() != b.Version() {
			t.Errorf("%s: versions %q and %q; errors %v, %v", test.name, a.Version(), b.Version(), a.Validate(), b.Validate())
		}
	}
}
