// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"math"
	"strings"
	"testing"
	"time"

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
	p.Rules["price"] = safety.Rule{Drift: "x"}
	if safety.DefaultPolicy().Rules["price"].Drift != safety.PriceChanged {
		t.Error("a default policy shares its rules with another")
	}
}

func TestPolicyValidate(t *testing.T) {
	rule := func(name string, r safety.Rule) func(*safety.Policy) {
		return func(p *safety.Policy) { p.Rules[name] = r }
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
	if err := edge.Validate(); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	edge.Parallel, edge.MinConfidence = 1, 0
	if err := edge.Validate(); err != nil {
		t.Errorf("at the other limits: %v", err)
	}
}

func TestPolicyVersion(t *testing.T) {
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
		"one more": func(p *safety.Policy) { p.Rules["cpm"] = safety.Rule{Drift: "changed", Severity: 0.5} },
	} {
		p := safety.DefaultPolicy()
		change(&p)
		if other, ok := versions[p.Version()]; ok {
			t.Errorf("%s has the version of %s", name, other)
		}
		versions[p.Version()] = name
	}
	p := safety.DefaultPolicy()
	p.Rules = nil
	if p.Version() != safety.DefaultPolicy().Version() {
		t.Error("leaving the default rules out is another version")
	}
}

func TestRules(t *testing.T) {
	seen := values{
		"availability": entity.Bool(true), "price": usd("$100"), "reach": number(1000), "status": entity.Text("active"), "cpm": number(7),
	}
	now := values{
		"availability": entity.Bool(false), "price": usd("$101"), "reach": number(1001), "status": entity.Text("paused"), "cpm": number(8),
	}
	type got struct {
		drift    safety.DriftType
		severity float64
	}
	for _, test := range []struct {
		name  string
		rules map[string]safety.Rule
		want  map[string]got
	}{
		{"none", nil, map[string]got{
			"availability": {safety.InventoryDepleted, 0.95}, "price": {safety.PriceChanged, 0.72},
			"reach": {safety.AudienceShifted, 0.60}, "status": {safety.CampaignPaused, 0.90}, "cpm": {safety.Changed, 0.50},
		}},
		{"some", map[string]safety.Rule{"price": {Drift: "fare", Severity: 0.1}, safety.Other: {Drift: "moved", Severity: 0.2}}, map[string]got{
			"availability": {safety.InventoryDepleted, 0.95}, "price": {"fare", 0.1},
			"reach": {safety.AudienceShifted, 0.60}, "status": {safety.CampaignPaused, 0.90}, "cpm": {"moved", 0.2},
		}},
	} {
		e := thing("Product", "P", seen)
		b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Policy.Rules = test.rules }, e)
		for name, v := range now {
			b.world.put(e, name, v)
		}
		r := b.check()
		if n := len(r.Alerts()); n != len(test.want) || r.StaleEntities() != 1 {
			t.Errorf("%s: %d alerts, %d stale; want %d, 1", test.name, n, r.StaleEntities(), len(test.want))
		}
		for _, a := range r.Alerts() {
			if g := (got{a.Drift, a.Severity}); g != test.want[a.Attribute] {
				t.Errorf("%s: %s: %v, want %v", test.name, a.Attribute, g, test.want[a.Attribute])
			}
			if a.Recommendation == "" {
				t.Errorf("%s: %s has no recommendation", test.name, a.Attribute)
			}
		}
	}
}

func TestTolerance(t *testing.T) {
	for _, test := range []struct {
		name      string
		tolerance safety.Tolerance
		seen, now entity.Value
		want      bool // covered
	}{
		{"equal", safety.Tolerance{}, usd("$100"), usd("$100.00"), true},
		{"none", safety.Tolerance{}, usd("$100"), usd("$100.01"), false},
		{"absolute, at the limit", safety.Tolerance{Absolute: 0.1}, usd("$100"), usd("$100.10"), true},
		{"absolute, downwards", safety.Tolerance{Absolute: 0.1}, usd("$100"), usd("$99.90"), true},
		{"absolute, beyond", safety.Tolerance{Absolute: 0.1}, usd("$100"), usd("$100.11"), false},
		{"percent, at the limit", safety.Tolerance{Percent: 5}, number(100), number(105), true},
		{"percent, downwards", safety.Tolerance{Percent: 5}, number(100), number(95), true},
		{"percent, beyond", safety.Tolerance{Percent: 5}, number(100), number(105.01), false},
		{"percent of a negative", safety.Tolerance{Percent: 5}, number(-100), number(-104), true},
		{"percent of a negative, beyond", safety.Tolerance{Percent: 5}, number(-100), number(-106), false},
		{"percent of zero", safety.Tolerance{Percent: 50}, number(0), number(0.01), false},
		{"both, within one", safety.Tolerance{Absolute: 1, Percent: 50}, number(100), number(120), false},
		{"both, within the other", safety.Tolerance{Absolute: 100, Percent: 1}, number(100), number(120), false},
		{"both", safety.Tolerance{Absolute: 20, Percent: 20}, number(100), number(120), true},
		{"another currency", safety.Tolerance{Absolute: 9, Percent: 9}, usd("$100"), usd("€100"), false},
		{"text", safety.Tolerance{Absolute: 9, Percent: 9}, entity.Text("a"), entity.Text("b"), false},
		{"time", safety.Tolerance{Absolute: 9, Percent: 9}, entity.Time(epoch), entity.Time(epoch.Add(time.Second)), false},
		{"boolean", safety.Tolerance{Absolute: 9, Percent: 9}, entity.Bool(true), entity.Bool(false), false},
	} {
		e := thing("Product", "P", values{"x": test.seen})
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Rules["x"] = safety.Rule{Drift: "moved", Severity: 0.5, Tolerance: test.tolerance}
		}, e)
		b.world.put(e, "x", test.now)
		if r := b.check(); r.IsSafeToApprove() != test.want {
			t.Errorf("%s: covered %t, want %t\n%s", test.name, r.IsSafeToApprove(), test.want, r.Summary())
		}
	}
}

func TestTolerancePerAttribute(t *testing.T) {
	e := thing("Product", "P", values{"a": number(100), "b": number(100)})
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Rules["a"] = safety.Rule{Drift: "moved", Tolerance: safety.Tolerance{Percent: 10}}
	}, e)
	b.world.put(e, "a", number(109))
	wantSafe(t, b.check())
	b.world.put(e, "b", number(101))
	r := b.check()
	wantDrift(t, r, safety.Changed)
	if a := r.Alerts()[0]; a.Attribute != "b" {
		t.Errorf("alert about %s, want b", a.Attribute)
	}
}
