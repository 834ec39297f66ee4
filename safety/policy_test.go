// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// fits is a budget rule.
var fits = config.Budget{Cost: config.Cost{Type: "Product", Attribute: "price"}, Limit: config.Limit{Type: "Budget", Attribute: "amount"}}

// configured is a guard with something of everything.
func configured() config.Guard {
	return config.Guard{
		Mode: config.ModeEnforce, Unguarded: config.UnguardedError, Inputs: map[string]config.InputSettings{"review": {}, "sign": {Approvers: 2}}, SelfApproval: true, CheckBeforeAsking: new(true),
		Tools:           map[string]config.ToolSettings{"sell": {Approvers: 3, Override: []string{"eva", "tom"}}, "buy_*": {Approvers: 2}, "buy": {}},
		RequestLifetime: time.Hour, CheckAge: time.Minute, CheckTimeout: time.Second, CheckDeadline: 2 * time.Second, MinConfidence: new(0.1),
		Drift: map[string]config.Drift{
			"price":  {Severity: new(0.3), Tolerance: config.Tolerance{Percent: 5, Absolute: 2}},
			"clicks": {Type: "fewer", Direction: config.Fall, Effect: config.EffectWarn, Optional: true},
			"*":      {Type: "moved"},
		},
		Types: map[string]config.TypePolicy{
			"Product": {Optional: true, MaxAge: time.Second, MinConfidence: new(0.9), Unseen: config.UnseenAllow, Drift: map[string]config.Drift{
				"price": {Direction: config.Rise, Tolerance: config.Tolerance{Percent: 1}},
			}},
			"Room": {Unseen: config.UnseenAllow, Drift: map[string]config.Drift{"beds": {AtLeast: 2}, "cost": {AtMost: "$50"}, "state": {OneOf: []any{"a", "b"}}, "open": {Equals: true}, "size": {Equals: "$.size"}}},
		},
		Require: config.RequireListed, Listed: []string{"Product", "Room"},
		Budgets: []config.Budget{{
			Tool: "buy_*", Cost: config.Cost{Type: "Product", Attribute: "price", Quantity: "pages"},
			Limit: config.Limit{Type: "Budget", Attribute: "amount"}, Everything: true, Severity: new(0.2),
		}},
	}
}

// leaves returns the path of each single value in v, with a function that gives the value another
// one.
func leaves(path string, v reflect.Value) map[string]func() {
	out := make(map[string]func())
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			maps.Copy(out, leaves(path+"."+v.Type().Field(i).Name, v.Field(i)))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			at := fmt.Sprintf("%s[%v]", path, key)
			out[at] = func() { v.SetMapIndex(key, reflect.Value{}) }
			entry := reflect.New(v.Type().Elem()).Elem()
			entry.Set(v.MapIndex(key))
			for name, change := range leaves(at, entry) {
				out[name] = func() {
					change()
					v.SetMapIndex(key, entry)
				}
			}
		}
	case reflect.Slice:
		if v.Len() > 0 { // else nothing can be left out
			out[path] = func() { v.SetLen(v.Len() - 1) }
		}
		for i := range v.Len() {
			maps.Copy(out, leaves(fmt.Sprintf("%s[%d]", path, i), v.Index(i)))
		}
	case reflect.Pointer:
		switch {
		case v.IsNil(): // a default counts, which another entry gives
		case v.Elem().Kind() == reflect.Bool:
			out[path] = func() { v.Elem().SetBool(!v.Elem().Bool()) }
		default:
			out[path] = func() { v.Elem().SetFloat(v.Elem().Float() + 0.05) }
		}
	case reflect.Interface:
		if !v.IsNil() {
			out[path] = func() { v.Set(reflect.ValueOf("another")) }
		}
	case reflect.Bool:
		out[path] = func() { v.SetBool(!v.Bool()) }
	case reflect.Float64:
		out[path] = func() { v.SetFloat(v.Float() + 1) }
	case reflect.Int, reflect.Int64:
		out[path] = func() { v.SetInt(v.Int() + 1) }
	case reflect.String:
		out[path] = func() { v.SetString(v.String() + "x") }
	default:
		panic(path + " is a " + v.Kind().String())
	}
	return out
}

// Each single value of a guard is part of the version of its policy, unless it is named here.
func TestPolicyVersionCoversEveryField(t *testing.T) {
	others := []string{
		// By these the gate chooses the calls that need an approval. They decide about none.
		".Mode", ".Tools[buy]", ".Tools[buy].Approvers", ".Unguarded", ".Inputs[review]", ".Inputs[review].Approvers",
		// Who may approve is up to the process that gets the answer, as its Authorizer is.
		".SelfApproval",
		// How long a call may run after it was let run changes no check.
		".EffectTimeout",
		// It says when a person is asked, and approves nothing.
		".CheckBeforeAsking",
	}
	guard := configured()
	names := slices.Sorted(maps.Keys(leaves("", reflect.ValueOf(&guard).Elem())))
	for i := range reflect.TypeFor[config.Guard]().NumField() {
		field := "." + reflect.TypeFor[config.Guard]().Field(i).Name
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, field) }) {
			t.Errorf("the guard of this test has no %s", field)
		}
	}
	versions := map[string]string{safety.VersionOf(guard): "what it was made of"}
	for _, name := range names {
		changed := configured()
		leaves("", reflect.ValueOf(&changed).Elem())[name]()
		version := safety.VersionOf(changed)
		other, same := versions[version]
		if named := slices.Contains(others, name); named && !same || !named && same {
			t.Errorf("with another %s the policy has the version of %q", name, other)
		}
		versions[version] = name
	}
}

func TestPolicyVersionOfTheDefaults(t *testing.T) {
	v := safety.VersionOf(config.Guard{})
	if len(v) != 64 {
		t.Errorf("version %q is no digest", v)
	}
	if got := safety.VersionOf(config.Config{}.WithDefaults().Guard); got != v {
		t.Errorf("with its defaults written out the policy has version %s, want %s", got, v)
	}
}

func ofT(drift map[string]config.Drift) config.Guard {
	return config.Guard{Types: map[string]config.TypePolicy{"T": {Drift: drift}}}
}

// Guards that mean the same have the same version.
func TestPolicyVersionIsOfTheMeaning(t *testing.T) {
	type drift = map[string]config.Drift
	type tools = map[string]config.ToolSettings
	of := func(severity float64) config.Drift { return config.Drift{Severity: new(severity)} }
	list := func(text string) config.Guard { return ofT(drift{"a": literal(oneOf, text)}) }
	def := config.Config{}.WithDefaults().Guard
	other := fits
	other.Everything = true
	for _, test := range []struct {
		name string
		a, b config.Guard
		not  bool // not the same
	}{
		{name: "a rule like that of all others", a: config.Guard{Drift: drift{"cpm": of(0.5)}}},
		{name: "a literal spelled otherwise", a: list("[8.0, 1e1]"), b: list("[8,10]")},
		{name: "another literal", a: list("[8]"), b: list("[9]"), not: true},
		{name: "a text that reads as the number", a: list("[8]"), b: list(`["8"]`), not: true},
		{name: "another operator", a: ofT(drift{"a": literal(atLeast, "8")}), b: ofT(drift{"a": literal(atMost, "8")}), not: true},
		{name: "a path and a text like it", a: ofT(drift{"a": along(equals, "$.a")}), b: ofT(drift{"a": literal(equals, `"$.a"`)}), not: true},
		{name: "an empty type", a: ofT(nil)},
		{name: "a type that spells out", a: config.Guard{Types: map[string]config.TypePolicy{"T": {
			MaxAge: def.CheckAge, MinConfidence: def.MinConfidence, Unseen: config.UnseenDeny, Drift: drift{"price": def.Drift["price"], "cpm": of(0.5), "*": of(0.5)},
		}}}},
		{name: "an exception, in two places", a: config.Guard{Drift: drift{"cpm": of(0.5)}, Types: ofT(drift{"*": of(0.6)}).Types}, b: ofT(drift{"*": of(0.6), "cpm": of(0.5)})},
		{name: "no exception", a: ofT(drift{"*": of(0.6)}), b: ofT(drift{"*": of(0.6), "cpm": of(0.5)}), not: true},
		{name: "a list in another order", a: config.Guard{Listed: []string{"U", "T"}}, b: config.Guard{Listed: []string{"T", "U"}}},
		{name: "one approver", a: config.Guard{Tools: tools{"buy": {Approvers: 1}}}},
		{name: "arguments that are shown", a: config.Guard{Tools: tools{"buy": {Arguments: config.ArgumentsShown}}}},
		{name: "no approver", a: config.Guard{Tools: tools{"buy": {}}}},
		{name: "people in another order", a: config.Guard{Tools: tools{"sell": {Override: []string{"eva", "tom"}}}}, b: config.Guard{Tools: tools{"sell": {Approvers: 1, Override: []string{"TOM", "eva"}}}}},
		{name: "budgets in another order", a: config.Guard{Budgets: []config.Budget{fits, other}}, b: config.Guard{Budgets: []config.Budget{other, fits}}},
	} {
		if a, b := safety.VersionOf(test.a), safety.VersionOf(test.b); (a == b) == test.not {
			t.Errorf("%s: versions %s and %s", test.name, a, b)
		}
	}
}

// No guard decides by a policy that no configuration may have.
func TestNewGuardChecksThePolicy(t *testing.T) {
	drift := func(d config.Drift) config.Guard { return ofT(map[string]config.Drift{"a": d}) }
	for name, g := range map[string]config.Guard{
		"a requirement without a name":   {Require: "everybody"},
		"a direction without a name":     drift(config.Drift{Direction: "up"}),
		"an effect without a name":       drift(config.Drift{Effect: "none"}),
		"an answer without a name":       {Types: map[string]config.TypePolicy{"T": {Unseen: "maybe"}}},
		"a type without a name":          {Types: map[string]config.TypePolicy{"": {}}},
		"a type of drift":                drift(config.Drift{Type: "A b"}),
		"a tolerance":                    drift(config.Drift{Tolerance: config.Tolerance{Percent: math.NaN()}}),
		"two conditions":                 drift(config.Drift{AtLeast: 1, AtMost: 2}),
		"a condition that is no JSON":    drift(config.Drift{AtLeast: math.NaN()}),
		"a condition that is not a list": drift(config.Drift{OneOf: 1}),
		"a condition beside a tolerance": drift(config.Drift{AtLeast: 1, Tolerance: config.Tolerance{Percent: 1}}),
		"a condition of all attributes":  {Drift: map[string]config.Drift{"a": {Equals: 1}}},
		"a path that is none":            drift(config.Drift{Equals: "$["}),
		"a negative age":                 {CheckAge: -1},
		"no confidence":                  {MinConfidence: new(math.NaN())},
		"a severity":                     drift(config.Drift{Severity: new(2.0)}),
		"a budget":                       {Budgets: []config.Budget{{Tool: "["}}},
		"a budget twice":                 {Budgets: []config.Budget{fits, fits}},
		"a list that is not asked for":   {Listed: []string{"T"}},
		"an override by one":             {Tools: map[string]config.ToolSettings{"buy": {Override: []string{"eva"}}}},
		"an override by one, twice":      {Tools: map[string]config.ToolSettings{"buy": {Override: []string{"eva", "EVA"}}}},
	} {
		_, err := safety.NewGuard(safety.GuardConfig{Ledger: struct{ safety.Ledger }{}, Evidence: struct{ safety.Evidence }{}, Policy: g})
		if err == nil || !strings.Contains(err.Error(), "Config.Guard.") {
			t.Errorf("%s: %v", name, err)
		}
	}
	named := config.Guard{Require: config.RequireNamed} // although no rule reads arguments: that is for the checks of rules
	if _, err := safety.NewGuard(safety.GuardConfig{Ledger: struct{ safety.Ledger }{}, Evidence: struct{ safety.Evidence }{}, Policy: named}); err != nil {
		t.Error(err)
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
				"Value": {Drift: map[string]config.Drift{"a": {OneOf: 1}, "b": {AtLeast: math.NaN()}, "c": {}, "d": {Equals: json.RawMessage(`{"a":1,"a":2}`)}, "e": {AtLeast: 9007199254740993}}},
				"Kind":  {Drift: map[string]config.Drift{"a": {AtLeast: "x"}, "b": {AtLeast: 1}, "c": {AtMost: 1}, "d": {Equals: 1}, "e": {Equals: "x"}}},
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
				"b": {Path: "$.b", Type: entity.KindNumber}, "c": {Path: "$.c", Type: entity.KindBool}, "d": {Path: "$.d", Type: entity.KindNumber}, "e": {Path: "$.e", Type: entity.KindNumber},
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
Config.Guard.Types["Kind"].Drift["e"].Equals: the checker of "Kind" gives e as number: "x" is not a decimal number: it may hold digits, one sign, one point and an exponent only; write a value of that type, or correct the type of the attribute
Config.Guard.Types["Path"].Drift["a"].Equals: "$[" is not a JSONPath (RFC 9535): unexpected eof at position 3; write for example $.name or $.items[*]
Config.Guard.Types["Two"].Drift["a"].AtMost: given beside at_least; keep one of them
Config.Guard.Types["Value"].Drift["a"].OneOf: it is not a list, which one_of needs; write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus
Config.Guard.Types["Value"].Drift["b"].AtLeast: json: unsupported value: NaN; write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus
Config.Guard.Types["Value"].Drift["d"].Equals: the name "a" stands twice in one object; write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus
Config.Guard.Types["Value"].Drift["e"].AtLeast: it has a number that a float64 does not hold; write it as a text; write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus`, "\n")
	err := c.Check(safety.Check)
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
