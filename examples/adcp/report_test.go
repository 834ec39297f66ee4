// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestWrap(t *testing.T) {
	words := strings.Fields(strings.Repeat("wörter ", 60) + strings.Repeat("x", 200))
	lines := wrap(words, ", ")
	for i, line := range lines[:len(lines)-1] {
		if n := utf8.RuneCountInString(indent + line); n > lineWidth {
			t.Errorf("line %d has %d characters, want at most %d", i, n, lineWidth)
		}
	}
	if got, want := strings.Join(lines, " "), strings.Join(words, ", "); got != want {
		t.Errorf("wrapping changed the text:\n%s\nwant\n%s", got, want)
	}
	if got := wrap(nil, ", "); got != nil {
		t.Errorf("nothing wraps to %q", got)
	}
}

func TestVerify(t *testing.T) {
	good := func() (scenario, result) {
		s := scenarios()[1]
		return s, result{check: check{Verdict: "drift", Total: 5, Stale: 2, Alerts: []safety.Alert{
			{EntityType: "Product", Entity: "Strava Sponsored Routes", Attribute: "price", Drift: safety.PriceChanged, Before: "$40,000", After: "$52,000", Severity: 0.72, ChangePercent: new(30.0)},
			{EntityType: "Product", Entity: "Yahoo Homepage Takeover", Attribute: "availability", Drift: "inventory_depleted", Before: "available", After: "unavailable", Severity: 0.95},
			{EntityType: "Budget", Entity: "$200,000", Attribute: "cost", Drift: safety.BudgetExceeded, Before: "$200,000", After: "$212,000", Severity: 0.85, ChangePercent: new(6.0)},
		}}}
	}
	for _, tc := range []struct {
		name string
		edit func(*result)
		want string
	}{
		{"as it must be", func(*result) {}, ""},
		{"verdict", func(r *result) { r.check.Verdict = "safe" }, "verdict: safe, want drift"},
		{"checked", func(r *result) { r.check.Total = 4 }, "entities checked: 4, want 5"},
		{"stale", func(r *result) { r.check.Stale = 1 }, "stale entities: 1, want 2"},
		{"alerts", func(r *result) { r.check.Alerts = r.check.Alerts[:1] }, "alerts: "},
		{"provisioned", func(r *result) { r.live = "GAM-1" }, "campaign live: GAM-1, want none"},
		{"not checked at all", func(r *result) { *r = result{} }, "verdict: , want drift"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, r := good()
			tc.edit(&r)
			err := s.verify(r)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), s.session) {
				t.Errorf("err = %v, want ...%q", err, tc.want)
			}
		})
	}
}
