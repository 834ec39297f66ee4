// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A plugin between ours resolves an alias before the tool asks. The human sees what it stands for, so
// the check is about that. A flow has a callback of the agent that does so.
func TestRequestArgumentsAreRead(t *testing.T) {
	resolve := func(_ agent.Context, tl tool.Tool, args map[string]any) (map[string]any, error) {
		if tl.Name() == "buy" && args["item"] == "the usual" {
			args["item"] = "Superbowl"
		}
		return nil, nil
	}
	worlds := []string{"the world changes", "nothing changes"}
	for _, c := range testsize.Combinations(t, 2, len(guards), len(worlds)) {
		guard, refused := sorted(guards)[c[0]], c[1] == 0
		t.Run(guard+", "+worlds[c[1]], func(t *testing.T) {
			m := newMarket(t)
			m.set("Superbowl", "$40,000")
			m.set("the usual", "$40,000")
			s := searchThenBuy()
			s["buy it"] = calls("buy", map[string]any{"item": "the usual", "count": 1})
			h := cgtest.New(t, guards[guard], m.open, s.model, func(o *cgtest.Options) {
				o.Plugins = append(o.Plugins, cgtest.NewPlugin(t, plugin.Config{Name: "aliases", BeforeToolCallback: resolve}))
			})
			h.Say("find")
			events := h.Say("buy it")
			if as := h.Approvals(cgtest.SessionID); len(as) == 1 {
				wantNamed(t, as[0], "Superbowl")
			}
			wantOutcome(h, refused, settle(h, events, func() {
				if refused {
					m.set("Superbowl", "$80,000")
				}
			}), priceChanged)
			if got, ran := h.LastBuy.Load().(cgtest.BuyArgs); ran && got.Item != "Superbowl" {
				t.Errorf("the tool bought %q", got.Item)
			}
		})
	}
}

// wantNamed checks that the arguments of the request name the one thing.
func wantNamed(t *testing.T, a safety.Approval, name string) {
	t.Helper()
	for _, e := range a.Entities {
		for _, s := range e.Seen {
			if named := s.Source == entity.SourceAction; named && e.Value != name {
				t.Errorf("the request of %s names %q", a.Args, e.Value)
			}
		}
		if e.Value == name {
			name = ""
		}
	}
	if name != "" {
		t.Errorf("the request of %s does not name %q", a.Args, name)
	}
}
