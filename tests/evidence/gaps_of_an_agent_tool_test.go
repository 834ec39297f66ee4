// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// What an agent that ran as a tool had read is unknown where its record has gaps, and then
// what its caller plans with it is unknown too.
func TestGapsOfAnAgentToolCount(t *testing.T) { gapsOfAnAgentToolCount(t, nil) }

func gapsOfAnAgentToolCount(t *testing.T, also cgtest.Option) {
	for name, tt := range map[string]struct {
		second func(m *market, a cgtest.SearchArgs, found map[string]any) map[string]any
		failed bool
	}{
		"a row that a rule cannot read": {func(_ *market, _ cgtest.SearchArgs, found map[string]any) map[string]any {
			items := found["items"].([]any)
			items[0].(map[string]any)["price"] = "eighty thousand"
			return found
		}, true},
		"a row that was cut": {func(_ *market, _ cgtest.SearchArgs, found map[string]any) map[string]any {
			return map[string]any{"a": strings.Repeat("x ", 1<<20), "items": found["items"]}
		}, true},
		"a row that can be read": {func(_ *market, _ cgtest.SearchArgs, found map[string]any) map[string]any { return found }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			n := 0
			h := cgtest.New(t, cgtest.Covered, m.open, func(o *cgtest.Options) {
				search := o.Search
				o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
					found, err := search(ctx, a)
					if n++; n == 2 {
						found = tt.second(m, a, found)
					}
					return found, err
				}
			}, also)
			planner := cgtest.NewAgent(t, llmagent.Config{Name: "planner", Description: "plans", Tools: h.Tools[:1],
				Model: scripted(searches, searches, says("It costs $80,000 now."))})
			h.Serve(cgtest.RootAgent(t, scripted(
				calls("planner", map[string]any{"request": "find a route"}), buys, says("Done.")),
				h.CG.AgentTool(planner, nil), h.Tools[1]))
			wantOutcome(h, tt.failed, settle(h, h.Say("buy"), nil))
		})
	}
}
