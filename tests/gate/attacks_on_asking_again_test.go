// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// Two processes that resume one turn at the same time ask once.
func TestAskedAgainByTwoProcesses(t *testing.T) {
	for range testsize.Rounds(t, 1, 20) {
		a := cgtest.NewRepeating(t, &cgtest.Repeater{})
		b := cgtest.NewRepeating(t, &cgtest.Repeater{}, cgtest.Beside(a))
		for _, h := range []*cgtest.Harness{a, b} {
			h.Sessions, h.Shop = a.Sessions, a.Shop
			h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Tools: h.Tools, Model: h.Model}))
		}
		id, _ := a.Ask(cgtest.SessionID)
		a.Shop.Set("$52,000", true)
		b.Shop.Set("$52,000", true)
		var wg sync.WaitGroup
		for _, h := range []*cgtest.Harness{a, b} {
			wg.Go(func() {
				_, _ = adktest.TryRun(context.WithoutCancel(t.Context()), h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
			})
		}
		wg.Wait()
		as := a.Approvals(cgtest.SessionID)
		replacing := 0
		for _, p := range as[1:] {
			if p.Replaces == as[0].ID {
				replacing++
			} else {
				t.Errorf("a request replaces %q", p.Replaces)
			}
		}
		if replacing > 1 || a.Bought.Load()+b.Bought.Load() != 0 {
			t.Errorf("%d requests replace the first, bought %d times", replacing, a.Bought.Load()+b.Bought.Load())
		}
	}
}

// A tool that asks once and then runs is asked for by the gate when its call comes again:
// what was refused never runs unasked.
func TestRefusedCallOfAToolThatAsksOnce(t *testing.T) {
	asked := false
	h := cgtest.NewRepeating(t, &cgtest.Repeater{}, cgtest.Covered, func(o *cgtest.Options) {
		o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
			return functiontool.New(functiontool.Config{Name: "buy", Description: "buys"}, func(ctx agent.Context, a cgtest.BuyArgs) (map[string]any, error) {
				if !asked {
					asked = true
					return map[string]any{"status": "waiting"}, ctx.RequestConfirmation("Buy it?", map[string]any{"limit": 1})
				}
				return h.Buy(ctx, a)
			})
		}
	})
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	request := cgtest.ShownBy(t, cgtest.OnlyRequest(t, h.Decide(id, true)))
	h.WantBought(0)
	if !strings.HasPrefix(request.Hint, "Buy it? Not checked: count. Replaces the request of") || request.Payload["limit"] == nil {
		t.Errorf("it is not asked for as the tool asked: %+v", request)
	}
}
