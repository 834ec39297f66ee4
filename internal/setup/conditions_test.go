// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// conditioned is a configuration whose clusters have one entry.
func conditioned(d config.Drift, rules ...config.Extract) config.Config {
	return config.Config{
		Guard:   config.Guard{Types: map[string]config.TypePolicy{"Cluster": {Drift: map[string]config.Drift{"free": d}}}},
		Extract: rules,
	}
}

// TestConditionOfConfig says which condition an entry is, written in Go as in a file.
func TestConditionOfConfig(t *testing.T) {
	for _, test := range []struct {
		drift config.Drift
		want  safety.Condition
	}{
		{config.Drift{}, safety.Condition{}},
		{config.Drift{AtLeast: 8}, safety.Condition{Operator: safety.AtLeast, Literal: "8"}},
		{config.Drift{AtMost: json.Number("0.50")}, safety.Condition{Operator: safety.AtMost, Literal: "0.50"}},
		{config.Drift{AtMost: "$50"}, safety.Condition{Operator: safety.AtMost, Literal: `"$50"`}},
		{config.Drift{AtMost: "US$50"}, safety.Condition{Operator: safety.AtMost, Literal: `"US$50"`}},
		{config.Drift{Equals: true}, safety.Condition{Operator: safety.Equals, Literal: "true"}},
		{config.Drift{OneOf: []any{"$.a", 2}}, safety.Condition{Operator: safety.OneOf, Literal: `["$.a",2]`}},
		{config.Drift{OneOf: []string{"a"}}, safety.Condition{Operator: safety.OneOf, Literal: `["a"]`}},
		{config.Drift{AtLeast: "$"}, safety.Condition{Operator: safety.AtLeast, Path: "$"}},
		{config.Drift{AtLeast: "$.cpus"}, safety.Condition{Operator: safety.AtLeast, Path: "$.cpus"}},
		{config.Drift{AtLeast: "$['cpus']"}, safety.Condition{Operator: safety.AtLeast, Path: "$['cpus']"}},
	} {
		p, err := Policy(conditioned(test.drift))
		if err != nil {
			t.Errorf("%+v: %v", test.drift, err)
			continue
		}
		want := safety.Rule{Drift: safety.Changed, Severity: 0.5, Condition: test.want}
		if diff := cmp.Diff(want, p.Types["Cluster"].Rules["free"]); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.drift, diff)
		}
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
	const missing = `guard.types.Cluster.drift.free has a condition (at_least), and no rule shows "free" of type "Cluster" in a result`
	for name, test := range map[string]struct {
		drift config.Drift
		rules []config.Extract
		want  string
	}{
		"shown":           {config.Drift{AtLeast: 8}, []config.Extract{result}, ""},
		"no rule":         {config.Drift{AtLeast: 8}, nil, missing},
		"another type":    {config.Drift{AtLeast: 8}, []config.Extract{with("search", "Node", "free")}, missing},
		"another name":    {config.Drift{AtLeast: 8}, []config.Extract{with("search", "Cluster", "fre")}, `with in: result; did you mean "fre"?`},
		"no condition":    {config.Drift{Effect: config.EffectWarn}, nil, ""},
		"it may be away":  {config.Drift{AtLeast: 8, Optional: true}, nil, ""},
		"shown by a path": {config.Drift{OneOf: "$.any"}, []config.Extract{result}, ""},
	} {
		c := conditioned(test.drift, test.rules...)
		got := strings.Join(adviceOf(c).unmet(adviceOf(c).shown()), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if all := strings.Join(Warnings(c, nil), "\n"); !strings.Contains(all, got) {
			t.Errorf("%s: %q lacks %q", name, all, got)
		}
	}
	optional := conditioned(config.Drift{AtLeast: 8})
	of := optional.Guard.Types["Cluster"]
	of.Optional = true
	optional.Guard.Types["Cluster"] = of
	if got := adviceOf(optional).unmet(nil); len(got) > 0 {
		t.Errorf("an optional type: %q", got)
	}
}

func adviceOf(c config.Config) advice { return advice{Config: c.WithDefaults()} }
