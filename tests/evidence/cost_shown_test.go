// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A person who is asked sees the cost of the plan and its budget, and so does whoever reads the check.
func TestCostIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*market)
		refused bool
		now     string
	}{
		"as it was":   {func(*market) {}, false, "$40,000"},
		"beyond that": {(*market).rise, true, "$80,000"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			m.mu.Lock()
			m.budget = "$45,000"
			m.mu.Unlock()
			s := searchThenBuy()
			s["budget"], s["<budget"] = calls("budget", map[string]any{"query": "x"}), says("Enough.")
			h := cgtest.New(t, cgtest.Covered, m.open, s.model, func(o *cgtest.Options) {
				o.Config.Guard.Budgets = []config.Budget{{
					Cost: config.Cost{Type: "Product", Attribute: "price"}, Limit: config.Limit{Type: "Budget", Attribute: "amount"},
				}}
			})
			h.Say("find")
			h.Say("budget")
			events := h.Say("buy it")
			shown := cgtest.ShownBy(t, adktest.Confirmations(events)[0])
			if want := " Planned cost: $40,000 of Budget $45,000. "; !strings.Contains(shown.Hint, want) {
				t.Errorf("hint %q, want %q in it", shown.Hint, want)
			}
			want := []any{map[string]any{"budget_type": "Budget", "budget": "summer", "limit": "$45,000", "seen": "$40,000"}}
			summary, _ := shown.Payload["contextgraph"].(map[string]any)
			if diff := cmp.Diff(any(want), summary["costs"]); diff != "" {
				t.Errorf("costs in the request (-want +got):\n%s", diff)
			}
			wantOutcome(h, test.refused, settle(h, events, func() { test.change(m) }))

			var report struct {
				Costs []safety.Cost `json:"costs"`
			}
			if err := json.Unmarshal([]byte(reportText(h)), &report); err != nil {
				t.Fatal(err)
			}
			costs := []safety.Cost{{BudgetType: "Budget", Budget: "summer", Limit: "$45,000", Seen: "$40,000", Now: test.now, Exceeded: test.refused}}
			if diff := cmp.Diff(costs, report.Costs); diff != "" {
				t.Errorf("costs in the report (-want +got):\n%s", diff)
			}
			shapes, err := contract.LoadShapes()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range h.Rows(cgtest.SessionID) {
				for _, f := range shapes.Check(&e, contract.Ours) {
					t.Errorf("%s: %s", e.EventType, f)
				}
			}
		})
	}
}
