// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A call has to name what it acts on, whatever is required beside that; its settings lift this rule alone.
func TestActionNotRead(t *testing.T) {
	nameless := strava
	settings := func(tools map[string]config.ToolSettings) func(*safety.GuardConfig) {
		return func(cfg *safety.GuardConfig) { cfg.Policy.Tools = tools }
	}
	things, nothing := config.ToolSettings{ActsOn: config.ActsOnThings}, config.ToolSettings{ActsOn: config.ActsOnNothing}
	for name, test := range map[string]struct {
		tools map[string]config.ToolSettings
		thing entity.Canonical
		tool  string
		want  string // "" if the call may run
	}{
		"names nothing":               {map[string]config.ToolSettings{"other": nothing}, nameless, "provision_campaign", "finds in the arguments of provision_campaign what it acts on"},
		"names something":             {map[string]config.ToolSettings{"other": nothing}, bought("Product", strava.Value, strava.Attributes, nil), "provision_campaign", ""},
		"acts on nothing":             {map[string]config.ToolSettings{"provision_*": nothing}, nameless, "provision_campaign", ""},
		"the strictest of two":        {map[string]config.ToolSettings{"provision_*": nothing, "*": things}, nameless, "provision_campaign", "acts on"},
		"an input names nothing":      {map[string]config.ToolSettings{"other": nothing}, nameless, safety.InputTool, ""},
		"strict, and nothing is read": {map[string]config.ToolSettings{"*": {ActsOn: config.ActsOnNothing, Arguments: config.ArgumentsStrict}, "p*": nothing}, nameless, "provision_campaign", "no rule reads campaign, total"},
		"strict, and of another tool": {map[string]config.ToolSettings{"*": nothing, "p": {ActsOn: config.ActsOnNothing, Arguments: config.ArgumentsStrict}}, nameless, "provision_campaign", ""},
		"strict, and it is an input":  {map[string]config.ToolSettings{"*": {ActsOn: config.ActsOnNothing, Arguments: config.ArgumentsStrict}}, nameless, safety.InputTool, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, settings(test.tools), test.thing)
			r := b.request()
			r.Tool = test.tool
			a, err := b.guard.Ask(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			report, err := b.guard.Observe(t.Context(), nike, a.ID)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				wantSafe(t, report)
				return
			}
			wantFailure(t, report, safety.ReasonActionNotRead)
			if !strings.Contains(report.Failures()[0].Detail, test.want) {
				t.Errorf("%s, want %q", report.Failures()[0], test.want)
			}
		})
	}
}

// What rules may leave aside fails the check.
func TestFaultsInArguments(t *testing.T) {
	b := newBench(t, nil, strava)
	b.record.snap.Arguments.Faults = []string{`"lines[1]" names nothing that a rule reads`}
	b.ask()
	r := b.answer(true).Report
	wantFailure(t, r, safety.ReasonActionNotRead)
	if got, want := r.Failures()[0].Detail, `in the arguments of provision_campaign, "lines[1]" names nothing that a rule reads`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Rules and conditions read arguments; the rest is named to whoever approves.
func TestNotChecked(t *testing.T) {
	condition := func(path string) func(*safety.GuardConfig) {
		return func(cfg *safety.GuardConfig) {
			cfg.Policy.Types = map[string]config.TypePolicy{"Budget": {Drift: map[string]config.Drift{"amount": along(atLeast, path)}}}
		}
	}
	for name, test := range map[string]struct {
		change func(*safety.GuardConfig)
		spoil  func(*bench)
		want   []string
	}{
		"nothing is read":         {nil, nil, []string{"campaign", "total"}},
		"a rule reads":            {nil, func(b *bench) { b.record.snap.Arguments.Read = []string{"/campaign"} }, []string{"total"}},
		"a condition reads":       {condition("$.total"), nil, []string{"campaign"}},
		"a condition has a value": {fixed, nil, []string{"campaign", "total"}},
		"a condition reads a line": {condition("$.n"), func(b *bench) {
			b.args = map[string]any{"lines": []any{map[string]any{"item": "a", "n": 1, "m": 2}}}
			b.record.snap.Places = map[string][]string{budget.Key: {"$['lines'][0]"}}
			b.record.snap.Arguments.Read = []string{"/lines/0/item"}
		}, []string{"lines[*].m"}},
		"a text that is JSON":      {nil, func(b *bench) { b.args = map[string]any{"options": `{"ship": {"to": "x"}}`} }, []string{"options.ship.to"}},
		"a text that has two keys": {nil, func(b *bench) { b.args = map[string]any{"options": `{"a": 1, "A": 2}`} }, []string{"anything"}},
		"no arguments":             {nil, func(b *bench) { b.args = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.change, strava, budget)
			if test.spoil != nil {
				test.spoil(b)
			}
			if diff := cmp.Diff(test.want, b.ask().NotChecked); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	many := safety.Approval{NotChecked: make([]string, 60)}
	many.NotChecked[0] = "a\nb"
	if got := many.Shown()["not_checked"].([]any); len(got) != 51 || got[0] != "a b" || got[50] != "and 10 more" {
		t.Errorf("shown %q", got)
	}
	if got, want := (safety.Approval{NotChecked: []string{"options.ship.to", "a: b"}}).Hint("buy"), `buy. Not checked: options.ship.to, "a: b".`; !strings.HasPrefix(got, want) {
		t.Errorf("hint %q, want %q", got, want)
	}
}

// fixed sets a condition that no argument has a part in.
func fixed(cfg *safety.GuardConfig) {
	cfg.Policy.Types = map[string]config.TypePolicy{"Budget": {Drift: map[string]config.Drift{"amount": conditioned(config.Drift{}, atLeast, "$1")}}}
}

// The needs of one thing in two spellings add up. A line that names both needs it twice.
func TestNeedsOfTwoSpellings(t *testing.T) {
	one, two := bought("Part", "B-20", values{"stock": number(40)}, nil), bought("Part", "b-20", values{"stock": number(40)}, nil)
	for n, want := range map[int][]string{
		13: nil,
		14: {"condition_unmet: stock is 40 on record, and has to be at least 42 in all: ...", "condition_unmet: ..."},
	} {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Types = map[string]config.TypePolicy{"Part": {Drift: map[string]config.Drift{"stock": along(atLeast, "$.n")}}}
		}, one, two)
		b.args = map[string]any{"lines": []any{map[string]any{"n": n}, map[string]any{"n": n}}}
		b.record.snap.Places = map[string][]string{one.Key: {"$['lines'][0]"}, two.Key: {"$['lines'][0]", "$['lines'][1]"}}
		b.ask()
		said(t, b.check(), want...)
	}
}

// What rules read as an amount is shown as one, but for what must not be shown.
func TestMoney(t *testing.T) {
	b := newBench(t, nil, strava)
	b.args = map[string]any{"total": 5, "secret": 6, "lines": []any{map[string]any{"a/b": 7}}, "text": `{"n": 8}`, "none": nil}
	b.record.snap.Arguments.Money = map[string]string{
		"/total": "$5", "/secret": "$6", "/lines/0/a~1b": "$7", "/lines/1/n": "$1", "/lines/x": "$1", "/lines": "$1", "/text/n": "$8", "/none": "$0", "/gone": "$2",
	}
	r := b.request()
	if a, err := b.guard.Ask(t.Context(), r); err != nil || a.Money != nil || a.Shown()["money"] != nil {
		t.Errorf("without a function that redacts: %v, %v", a.Money, err)
	}
	r.CallID, r.Redact = "call-2", func(args []byte) []byte { return []byte(strings.Replace(string(args), `6`, `"[redacted]"`, 1)) }
	a, err := b.guard.Ask(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"/total": "$5", "/lines/0/a~1b": "$7"}, a.Shown()["money"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
