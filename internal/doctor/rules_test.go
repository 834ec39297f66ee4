// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/doctor"
)

// The rules are tried on what is recorded.
func TestExamineRules(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile)
	h.Ask(cgtest.SessionID)
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := config.Extract{Name: "found", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name"}
	for _, tt := range []struct {
		name   string
		change func(*config.Extract, *config.Guard)
		level  doctor.Level
		words  []string
	}{
		{"right", func(*config.Extract, *config.Guard) {}, doctor.OK, []string{"no rule read rows in vain"}},
		{"what is not checked", func(*config.Extract, *config.Guard) {}, doctor.Note, []string{"no rule and no condition reads these arguments of buy: count"}},
		{"a misspelt tool", func(r *config.Extract, _ *config.Guard) { r.Tool = "serch" }, doctor.Warning, []string{`rule "found": it reads the tool "serch"`, "did not run", `did you mean "search"?`}},
		{"an unknown tool", func(r *config.Extract, _ *config.Guard) { r.Tool = "list_products" }, doctor.Note, []string{`"list_products"`}},
		{"a misspelt path", func(r *config.Extract, _ *config.Guard) { r.Each = "$.itms[*]" }, doctor.Warning, []string{"found nothing", "did you mean items?"}},
		{"a misspelt value", func(r *config.Extract, _ *config.Guard) { r.Value = "$.nmae" }, doctor.Warning, []string{"1 of 1 rows contradict it"}},
		{"a misspelt guarded tool", func(_ *config.Extract, g *config.Guard) { g.Tools = config.Tools("buuy") }, doctor.Warning, []string{`guard.tools names the tool "buuy"`}},
		{"a pattern", func(_ *config.Extract, g *config.Guard) { g.Tools = config.Tools("b*") }, doctor.OK, []string{"no rule read rows in vain"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, cfg := found, config.Config{Journal: config.Journal{Path: h.Path}}
			tt.change(&r, &cfg.Guard)
			cfg.Extract = []config.Extract{r}
			if list := examine(t, cfg, nil); !has(list, "rules", tt.level, tt.words...) {
				t.Errorf("no %s with %q in:\n%+v", tt.level, tt.words, list)
			}
		})
	}
}

// A guarded tool that asks without Protect around it is named, and one with it is not.
func TestExamineToolsWithoutProtect(t *testing.T) {
	rule := config.Extract{Name: "found", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name"}
	listed := config.Guard{Tools: config.Tools("b*")}
	for name, tt := range map[string]struct {
		way   cgtest.Option
		guard config.Guard
		rule  config.Extract
		named bool
	}{
		"listed":               {way: cgtest.Listed, guard: listed, rule: rule, named: true},
		"covered":              {way: cgtest.Covered, rule: config.Extract{Name: "action", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.item"}, named: true},
		"covered and observed": {way: cgtest.Covered, guard: config.Guard{Mode: config.ModeObserve}, rule: config.Extract{Name: "action", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.item"}},
		"not guarded any more": {way: cgtest.Listed, rule: rule},
		"protected":            {way: func(*cgtest.Options) {}, guard: listed, rule: rule},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, cgtest.OnFile, tt.way)
			h.Ask(cgtest.SessionID)
			if err := h.CG.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			found := examine(t, config.Config{Journal: config.Journal{Path: h.Path}, Guard: tt.guard, Extract: []config.Extract{tt.rule}}, nil)
			if has(found, "rules", doctor.Note, "without Protect", "buy") != tt.named {
				t.Errorf("%+v", found)
			}
		})
	}
}
