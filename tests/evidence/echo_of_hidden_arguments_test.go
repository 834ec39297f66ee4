// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

type hiddenArgs struct {
	Item   string         `json:"item"`
	Price  string         `json:"price"`
	Notes  string         `json:"a_notes"`
	Nested map[string]any `json:"nested"`
}

// An argument that the record does not hold may be what the result says: a long one before it,
// or one under a key that is redacted.
func TestEchoOfWhatTheRecordLacks(t *testing.T) { echoOfWhatTheRecordLacks(t, nil) }

func echoOfWhatTheRecordLacks(t *testing.T, also cgtest.Option) {
	for name, args := range map[string]map[string]any{
		"plain":              {"item": cgtest.Item, "price": "$40,000"},
		"nested":             {"item": cgtest.Item, "nested": map[string]any{"x": []any{map[string]any{"y": "40000.00 USD"}}}},
		"a number":           {"item": cgtest.Item, "nested": map[string]any{"x": 40000}},
		"behind a long text": {"item": cgtest.Item, "a_notes": strings.Repeat("x ", 4<<20), "price": "$40,000"},
		"redacted":           {"item": cgtest.Item, "nested": map[string]any{"password": "$40,000"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			m.tools = []tool.Tool{cgtest.NewTool(t, "plan", func(_ agent.Context, a hiddenArgs) (map[string]any, error) {
				return map[string]any{"items": []any{map[string]any{"name": a.Item, "price": "$40,000", "available": true}}}, nil
			})}
			s := searchThenBuy()
			s["plan it"], s["<plan"] = calls("plan", args), says("Planned.")
			h := cgtest.New(t, cgtest.Covered, m.open, plans, s.model, also)
			h.Say("plan it")
			wantRefused(h, settle(h, h.Say("buy it"), nil))
		})
	}
}
