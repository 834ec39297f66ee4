// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// conditioned is a configuration whose clusters have one entry.
func conditioned(d DriftConfig, rules ...ExtractConfig) Config {
	return Config{
		Guard:   GuardConfig{Types: map[string]TypeConfig{"Cluster": {Drift: map[string]DriftConfig{"free": d}}}},
		Extract: rules,
	}
}

// TestConditionOfConfig says which condition an entry is, written in Go as in a file.
func TestConditionOfConfig(t *testing.T) {
	for _, test := range []struct {
		drift DriftConfig
		want  safety.Condition
	}{
		{DriftConfig{}, safety.Condition{}},
		{DriftConfig{AtLeast: 8}, safety.Condition{Operator: safety.AtLeast, Literal: "8"}},
		{DriftConfig{AtMost: json.Number("0.50")}, safety.Condition{Operator: safety.AtMost, Literal: "0.50"}},
		{DriftConfig{AtMost: "$50"}, safety.Condition{Operator: safety.AtMost, Literal: `"$50"`}},
		{DriftConfig{AtMost: "US$50"}, safety.Condition{Operator: safety.AtMost, Literal: `"US$50"`}},
		{DriftConfig{Equals: true}, safety.Condition{Operator: safety.Equals, Literal: "true"}},
		{DriftConfig{OneOf: []any{"$.a", 2}}, safety.Condition{Operator: safety.OneOf, Literal: `["$.a",2]`}},
		{DriftConfig{OneOf: []string{"a"}}, safety.Condition{Operator: safety.OneOf, Literal: `["a"]`}},
		{DriftConfig{AtLeast: "$"}, safety.Condition{Operator: safety.AtLeast, Path: "$"}},
		{DriftConfig{AtLeast: "$.cpus"}, safety.Condition{Operator: safety.AtLeast, Path: "$.cpus"}},
		{DriftConfig{AtLeast: "$['cpus']"}, safety.Condition{Operator: safety.AtLeast, Path: "$['cpus']"}},
	} {
		p, err := conditioned(test.drift).policy()
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
		drift DriftConfig
		want  string
	}{
		{DriftConfig{AtLeast: math.NaN()}, `Config.Guard.Types["Cluster"].Drift["free"].AtLeast: json: unsupported value: NaN; write a text`},
		{DriftConfig{Equals: struct{}{}}, `.Equals: an object is no value to compare with; write`},
		{DriftConfig{Equals: make(chan int)}, `.Equals: json: unsupported type`},
		{DriftConfig{OneOf: []any{}}, `.OneOf: the list is empty`},
		{DriftConfig{OneOf: "$50"}, `.OneOf: it is not a list`},
		{DriftConfig{Equals: "$.50"}, `.Equals: "$.50" is not a JSONPath`},
		{DriftConfig{AtLeast: 1, Equals: 1}, `.Equals: given beside at_least; keep one of them`},
	} {
		if err := conditioned(test.drift).validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.drift, err, test.want)
		}
	}
}

// A condition on what no rule shows fails each check: Open says so.
func TestConditionWarnings(t *testing.T) {
	result := ExtractConfig{Name: "clusters", Tool: "search", Type: "Cluster", Value: "$.name", Attributes: map[string]AttributeConfig{"free": {Path: "$.free"}}}
	with := func(tool, typ, attribute string) ExtractConfig {
		r := result
		r.Tool, r.Type, r.Attributes = tool, typ, map[string]AttributeConfig{attribute: {Path: "$.x"}}
		return r
	}
	const missing = `guard.types.Cluster.drift.free has a condition (at_least), and no rule shows "free" of type "Cluster" in a result`
	for name, test := range map[string]struct {
		drift DriftConfig
		rules []ExtractConfig
		want  string
	}{
		"shown":           {DriftConfig{AtLeast: 8}, []ExtractConfig{result}, ""},
		"no rule":         {DriftConfig{AtLeast: 8}, nil, missing},
		"another type":    {DriftConfig{AtLeast: 8}, []ExtractConfig{with("search", "Node", "free")}, missing},
		"another name":    {DriftConfig{AtLeast: 8}, []ExtractConfig{with("search", "Cluster", "fre")}, `with in: result; did you mean "fre"?`},
		"no condition":    {DriftConfig{Effect: safety.Warn}, nil, ""},
		"it may be away":  {DriftConfig{AtLeast: 8, Optional: true}, nil, ""},
		"shown by a path": {DriftConfig{OneOf: "$.any"}, []ExtractConfig{result}, ""},
	} {
		c := conditioned(test.drift, test.rules...)
		got := strings.Join(c.unmet(c.Guard.withDefaults(), c.shown()), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if all := strings.Join(c.Warnings(), "\n"); !strings.Contains(all, got) {
			t.Errorf("%s: %q lacks %q", name, all, got)
		}
	}
	optional := conditioned(DriftConfig{AtLeast: 8})
	of := optional.Guard.Types["Cluster"]
	of.Optional = true
	optional.Guard.Types["Cluster"] = of
	if got := optional.unmet(optional.Guard.withDefaults(), nil); len(got) > 0 {
		t.Errorf("an optional type: %q", got)
	}
}
