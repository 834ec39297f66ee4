// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestPrintSession(t *testing.T) {
	price, err := entity.Money("40000", "USD")
	if err != nil {
		t.Fatal(err)
	}
	reach, err := entity.Number(int64(11400000))
	if err != nil {
		t.Fatal(err)
	}
	s := result{
		scenario: scenario{session: "sess-1", brief: nike, world: "nothing changes"},
		rows:     []count{{"LLM_REQUEST", 2}, {"LLM_RESPONSE", 1}},
		turns:    1,
		entities: []entity.Canonical{
			{Type: "Product", Value: "Strava", Confidence: 0.91, ArtifactURI: "gs://x",
				Attributes: map[string]entity.Value{"price": price, "availability": entity.Bool(false)}},
			{Type: "Targeting", Value: "Athletes 18-35", Confidence: 1, Attributes: map[string]entity.Value{"reach": reach}},
		},
		check: check{Verdict: "drift", Total: 2, Stale: 1,
			Alerts: []safety.Alert{
				{Entity: "Strava", Attribute: "availability", EntityType: "Product", Drift: "inventory_depleted", Before: "available", After: "unavailable", Severity: 0.95},
				{Entity: "Strava", Attribute: "price", EntityType: "Product", Drift: safety.PriceChanged, Before: "$40,000", After: "$52,000", Severity: 0.72, ChangePercent: new(30.0)},
			},
			Failures: []safety.Failure{{EntityType: "Targeting", Entity: "Athletes 18-35", Reason: "error", Detail: "down"}}},
		why:  []reason{{entities: []string{"Strava"}, steps: []step{{"planner", "tool a", "informs"}, {"planner", "llm", "informs"}, {"root", "tool b", ""}}}},
		said: "Nothing was bought.\n- Strava",
	}
	want := `sess-1 · Nike · $200,000
  world     nothing changes
  events    3 rows, 1 turns
            2 LLM_REQUEST, 1 LLM_RESPONSE
  entities  Product    Strava          unavailable, $40,000  confidence 0.91  gs://x
            Targeting  Athletes 18-35  reach 11,400,000      confidence 1.00
  verdict   DRIFT: blocked, 1 stale of 2 checked
              inventory_depleted: availability of Product Strava: available → unavailable, severity 0.95
              price_changed: price of Product Strava: $40,000 → $52,000 (+30%), severity 0.72
              error: Targeting Athletes 18-35: its checker returned an error (down)
  why       Strava
              planner: tool a -informs-> llm -informs-> root: tool b
  agent     Nothing was bought.
            - Strava

`
	var got strings.Builder
	if err := printSession(&got, s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

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
