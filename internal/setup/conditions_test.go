// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"math"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
)

// conditioned is a configuration whose clusters have one entry.
func conditioned(d config.Drift, rules ...config.Extract) config.Config {
	return config.Config{
		Guard:   config.Guard{Types: map[string]config.TypePolicy{"Cluster": {Drift: map[string]config.Drift{"free": d}}}},
		Extract: rules,
	}
}

// What no file can hold is found in a Config written in Go.
func TestConditionOfConfigRefuses(t *testing.T) {
	for _, test := range []struct {
		drift config.Drift
		want  string
	}{
		{config.Drift{AtLeast: math.NaN()}, `Config.Guard.Types["Cluster"].Drift["free"].AtLeast: json: unsupported value: NaN; write a text`},
		{config.Drift{Equals: struct{}{}}, `.Equals: an object is no value to compare with; write`},
		{config.Drift{Equals: make(chan int)}, `.Equals: json: unsupported type`},
		{config.Drift{OneOf: []any{}}, `.OneOf: the list is empty`},
		{config.Drift{OneOf: "$50"}, `.OneOf: it is not a list`},
		{config.Drift{Equals: "$.50"}, `.Equals: "$.50" is not a JSONPath`},
		{config.Drift{AtLeast: 1, Equals: 1}, `.Equals: given beside at_least; keep one of them`},
	} {
		if err := conditioned(test.drift).Check(Checks()...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.drift, err, test.want)
		}
	}
}

// A condition on what no rule shows fails each check: Open says so.
func TestConditionWarnings(t *testing.T) {
	result := config.Extract{Name: "clusters", Tool: "search", Type: "Cluster", Value: "$.name", Attributes: map[string]config.Attribute{"free": {Path: "$.free"}}}
	with := func(tool, typ, attribute string) config.Extract {
		r := result
		r.Tool, r.Type, r.Attributes = tool, typ, map[string]config.Attribute{attribute: {Path: "$.x"}}
		return r
	}
	const missing = `guard.types.Cluster.drift.free.at_least: this is a condition, and no rule shows "free" of type "Cluster" in a result`
	for name, test := range map[string]struct {
		drift config.Drift
		rules []config.Extract
		want  string
	}{
		"shown":           {config.Drift{AtLeast: 8}, []config.Extract{result}, ""},
		"no rule":         {config.Drift{AtLeast: 8}, nil, missing},
		"another type":    {config.Drift{AtLeast: 8}, []config.Extract{with("search", "Node", "free")}, missing},
		"another name":    {config.Drift{AtLeast: 8}, []config.Extract{with("search", "Cluster", "fre")}, `; did you mean "fre"? Else add it to a rule with in: result`},
		"no condition":    {config.Drift{Effect: config.EffectWarn}, nil, ""},
		"it may be away":  {config.Drift{AtLeast: 8, Optional: true}, nil, ""},
		"shown by a path": {config.Drift{OneOf: "$.any"}, []config.Extract{result}, ""},
	} {
		c := conditioned(test.drift, test.rules...)
		got := only(c, (*advice).unmet)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if all := advised(c); !strings.Contains(all, got) {
			t.Errorf("%s: %q lacks %q", name, all, got)
		}
	}
	optional := conditioned(config.Drift{AtLeast: 8})
	of := optional.Guard.Types["Cluster"]
	of.Optional = true
	optional.Guard.Types["Cluster"] = of
	if got := only(optional, (*advice).unmet); got != "" {
		t.Errorf("an optional type: %q", got)
	}
}

// advised returns the advice about a configuration, a line each.
func advised(c config.Config, coded ...string) string { return lines(Advice(c, coded)) }

// only returns the advice of one check.
func only(c config.Config, check func(*advice)) string {
	a := newAdvice(c, nil)
	check(a)
	return lines(a.problems)
}

func lines(problems []config.Problem) string {
	var out []string
	for _, p := range problems {
		if p.Path == "" || p.Remedy == "" {
			panic("a problem without its place or its remedy: " + p.Text)
		}
		out = append(out, p.Path+": "+p.Text+"; "+p.Remedy)
	}
	return strings.Join(out, "\n")
}
