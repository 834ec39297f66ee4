// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

func TestSourceDefaults(t *testing.T) {
	cfg := config.Config{
		Guard: config.Guard{CheckTimeout: 3 * time.Second},
		Checkers: []config.Checker{
			{Type: "A", SQL: &config.SQL{Attributes: map[string]config.Column{"a": {Column: "a"}}}},
			{Type: "B", Replay: &config.Replay{}},
		},
	}
	got := cfg.WithDefaults().Checkers
	want := []config.Checker{
		{Type: "A", SQL: &config.SQL{AsOf: config.AsOfFetch, Attributes: map[string]config.Column{"a": {Column: "a", Type: entity.KindText}}}},
		{Type: "B", Replay: &config.Replay{MaxCalls: 20}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if cfg.Checkers[1].Replay.MaxCalls != 0 || cfg.Checkers[0].SQL.Attributes["a"].Type != 0 {
		t.Error("the defaults were written into the Config")
	}
}

func TestSourceWarnings(t *testing.T) {
	one := map[string]config.Attribute{"price": {Path: "$.price"}}
	rule := func(c config.Extract) config.Extract {
		c.Name, c.Type, c.Value = "r", "Product", "$.name"
		if c.Tool == "" && c.Event == "" {
			c.Tool = "search"
		}
		return c
	}
	replay := config.Checker{Type: "Product", Replay: &config.Replay{Tool: "search"}}
	columns := config.Checker{Type: "Product", SQL: &config.SQL{Attributes: map[string]config.Column{"reach": {Column: "reach"}}}}
	exists := config.Checker{Type: "Product", SQL: &config.SQL{Attributes: map[string]config.Column{"exists": {Column: "listed"}}}}
	for name, test := range map[string]struct {
		checker config.Checker
		rule    config.Extract
		coded   []string
		want    string
	}{
		"result":         {replay, rule(config.Extract{Attributes: one}), nil, ""},
		"another type":   {columns, rule(config.Extract{Attributes: map[string]config.Attribute{"reach": {Path: "$.reach", Type: entity.KindNumber}}}), nil, `"reach" of type "Product" as number, and its checker answers it as text`},
		"another tool":   {replay, rule(config.Extract{Tool: "look"}), nil, "reads the result of look, and only search is called again"},
		"code wins":      {replay, rule(config.Extract{Tool: "look"}), []string{"Product"}, ""},
		"column missing": {columns, rule(config.Extract{Attributes: one}), nil, `finds the attribute "price" of type "Product", which its checker does not answer`},
		"no attributes":  {columns, rule(config.Extract{}), nil, ""},
		"exists as text": {exists, rule(config.Extract{}), nil, `"exists" of type "Product" as boolean, and its checker answers it as text`},
		"again, found":   {replay, rule(config.Extract{}), nil, ""},
		"column there":   {columns, rule(config.Extract{Attributes: map[string]config.Attribute{"reach": {Path: "$.reach"}}}), nil, ""},
	} {
		got := advised(config.Config{Checkers: []config.Checker{test.checker}, Extract: []config.Extract{test.rule}}, test.coded...)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// What the policy lets an answer lack makes no approval fail.
func TestSourceWarningsHeedThePolicy(t *testing.T) {
	lacks := func(optional bool) map[string]config.Drift {
		return map[string]config.Drift{"quantity": {Optional: optional}}
	}
	other := map[string]config.Drift{config.Other: {Optional: true}}
	for name, test := range map[string]struct {
		guard     config.Guard
		attribute string
		warns     bool
	}{
		"nothing said":                  {config.Guard{}, "quantity", true},
		"optional":                      {config.Guard{Drift: lacks(true)}, "quantity", false},
		"optional for the type":         {config.Guard{Types: map[string]config.TypePolicy{"Product": {Drift: lacks(true)}}}, "quantity", false},
		"required for the type":         {config.Guard{Drift: lacks(true), Types: map[string]config.TypePolicy{"Product": {Drift: lacks(false)}}}, "quantity", true},
		"all others are optional":       {config.Guard{Drift: other}, "quantity", false},
		"a named one is no other":       {config.Guard{Drift: other}, "price", true},
		"named beside others of a type": {config.Guard{Drift: lacks(false), Types: map[string]config.TypePolicy{"Product": {Drift: other}}}, "quantity", true},
		"the type is optional":          {config.Guard{Types: map[string]config.TypePolicy{"Product": {Optional: true}}}, "quantity", false},
	} {
		c := config.Config{
			Guard:   test.guard,
			Extract: []config.Extract{{Name: "r", Tool: "buy", Type: "Product", Value: "$.n", Attributes: map[string]config.Attribute{test.attribute: {Path: "$.q"}}}},
			Checkers: []config.Checker{{Type: "Product", HTTP: &config.HTTP{
				Attributes: map[string]config.Answer{"reach": {Path: "$.r"}},
			}}},
		}
		if got := advised(c); (got != "") != test.warns {
			t.Errorf("%s: %q, want warnings: %t", name, got, test.warns)
		}
	}
}

// What is wrong with a query has the place of the value.
func TestValidateSQLUse(t *testing.T) {
	c := config.Config{Checkers: []config.Checker{{Type: "A", SQL: &config.SQL{
		Database: "d", Query: "SELECT 1", Args: []string{"{value}"}, Attributes: map[string]config.Column{"a": {Column: "a"}},
	}}}}
	if err := c.Check(Checks()...); err != nil {
		t.Error(err)
	}
	c.Checkers[0].SQL.Query = " "
	if err := c.Check(Checks()...); err == nil || !strings.Contains(err.Error(), "Config.Checkers[0].SQL.Query: missing") {
		t.Errorf("error %v", err)
	}
}

// A type that has to be unchanged and that no rule finds is most likely misspelt.
func TestListedTypeThatNoRuleFinds(t *testing.T) {
	rule := config.Extract{Name: "r", Tool: "search", Type: "Product", Value: "$.name"}
	for listed, want := range map[string]string{
		"Product":  "",
		"Prodct":   `guard.listed[0]: guard.listed requires the type "Prodct", which no rule finds: every check fails unless a tool declares one; did you mean "Product"? Else add a rule that finds it`,
		"Audience": `guard.listed[0]: guard.listed requires the type "Audience", which no rule finds: every check fails unless a tool declares one; add a rule that finds it`,
	} {
		c := config.Config{
			Extract: []config.Extract{rule},
			Guard:   config.Guard{Require: config.RequireListed, Listed: []string{listed}},
		}
		if got := advised(c, "Product"); got != want {
			t.Errorf("%s: %q, want %q", listed, got, want)
		}
	}
}

// What a rule names and no rule shows in a result can be held against nothing.
func TestUnseenWarnings(t *testing.T) {
	price := map[string]config.Attribute{"price": {Path: "$.price"}}
	quantity := map[string]config.Attribute{"quantity": {Path: "$.n"}}
	result := config.Extract{Name: "offers", Tool: "search", Type: "Product", Value: "$.name", Attributes: price}
	action := config.Extract{Name: "lines", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.name"}
	message := config.Extract{Name: "brief", Event: "USER_MESSAGE_RECEIVED", Type: "Product", Value: "$", Attributes: price}
	ended := config.Extract{Name: "rows", Event: "TOOL_COMPLETED", Type: "Product", Value: "$.tool", Attributes: price}
	with := func(e config.Extract, attributes map[string]config.Attribute) config.Extract {
		e.Attributes = attributes
		return e
	}
	typed := func(typ config.TypePolicy) config.Guard {
		return config.Guard{Types: map[string]config.TypePolicy{"Product": typ}}
	}
	const nothing, missing = `names entities of type "Product", which no rule shows in a result`, `names the attribute "quantity" of type "Product", which no rule shows in a result`
	for name, test := range map[string]struct {
		guard config.Guard
		rules []config.Extract
		want  string
	}{
		"shown":                     {config.Guard{}, []config.Extract{result, action, message}, ""},
		"shown by rows":             {config.Guard{}, []config.Extract{ended, action, message}, ""},
		"action alone":              {config.Guard{Require: config.RequireNamed}, []config.Extract{action}, nothing},
		"message alone":             {config.Guard{}, []config.Extract{message}, nothing},
		"message alone, listed":     {config.Guard{Require: config.RequireListed, Listed: []string{"Product"}}, []config.Extract{message}, nothing},
		"message that counts not":   {config.Guard{Require: config.RequireListed, Listed: []string{"Other"}}, []config.Extract{message}, ""},
		"unseen is allowed":         {typed(config.TypePolicy{Unseen: config.UnseenAllow}), []config.Extract{action}, ""},
		"the type is optional":      {typed(config.TypePolicy{Optional: true}), []config.Extract{action}, ""},
		"attribute of the plan":     {config.Guard{}, []config.Extract{result, with(action, quantity)}, missing},
		"attribute that is allowed": {typed(config.TypePolicy{Drift: map[string]config.Drift{"quantity": {Optional: true}}}), []config.Extract{result, with(action, quantity)}, ""},
	} {
		got := only(config.Config{Guard: test.guard, Extract: test.rules}, (*advice).unseen)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A list of alternatives of which no action names one counts as a whole; that is said when the program starts.
func TestAlternativesNobodyNames(t *testing.T) {
	list := config.Extract{Name: "offers", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name", Alternatives: config.AlternativesTrue}
	bought := config.Extract{Name: "bought", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.item"}
	of := bought
	of.Type = "Offer"
	for name, test := range map[string]struct {
		rules  []config.Extract
		warned bool
	}{
		"no rule for an action": {[]config.Extract{list}, true},
		"one of another type":   {[]config.Extract{list, of}, true},
		"one of the type":       {[]config.Extract{list, bought}, false},
	} {
		const warning = `rule "offers" says alternatives, and no rule with in: action finds the type "Product": `
		if all := advised(config.Config{Extract: test.rules}); strings.Contains(all, warning) != test.warned {
			t.Errorf("%s: warned %t, want %t:\n%s", name, !test.warned, test.warned, all)
		}
	}
}
