// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// heard calls a function for each message of a log.
type heard struct {
	slog.Handler
	message func(string)
}

func (h heard) Enabled(context.Context, slog.Level) bool { return true }
func (h heard) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h heard) WithGroup(string) slog.Handler            { return h }
func (h heard) Handle(_ context.Context, r slog.Record) error {
	h.message(r.Message)
	return nil
}

// twoOrders has the model ask for two purchases at once.
func twoOrders(o *cgtest.Options) {
	o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if last := adktest.LastResponse(req); last != nil && last.Name == "search" {
			return adktest.Calls(
				&genai.FunctionCall{Name: "buy", Args: map[string]any{"item": cgtest.Item, "count": 1}},
				&genai.FunctionCall{Name: "buy", Args: map[string]any{"item": cgtest.Item, "count": 2}}), nil
		}
		return cgtest.Shopper(req)
	}
}

// ADK runs the calls that one message approves side by side. Each is checked in the world
// that those before it have left.
func TestApprovedTogether(t *testing.T) {
	for _, last := range []bool{true, false} {
		cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
			// second is closed when the call that is not the first has passed its check, or
			// waits for the first.
			second := make(chan struct{})
			arrived := sync.OnceFunc(func() { close(second) })
			h := cgtest.New(t, w.Option, twoOrders, func(o *cgtest.Options) {
				o.CountChecks = true
				o.Config.Logger = slog.New(heard{message: func(m string) {
					if strings.Contains(m, "waits until another one") {
						arrived()
					}
				}})
			})
			requests := adktest.Confirmations(adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy routes")))
			if len(requests) != 2 {
				t.Fatalf("%d confirmations, want 2", len(requests))
			}
			h.OnCheck = func(n int64) {
				if n == 4 { // two are of the answers
					arrived()
				}
			}
			h.OnBuy = func() {
				<-second
				h.Shop.Set("$40,000", !last)
			}
			yes := adktest.Answer(requests[0].ID, true)
			yes.Parts = append(yes.Parts, adktest.Answer(requests[1].ID, true).Parts...)
			events, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, yes)
			if err != nil {
				t.Logf("the run ended with: %v", err)
			}
			if !last {
				h.WantBought(2)
				return
			}
			h.WantBought(1)
			refused := 0
			for _, got := range adktest.Responses(events, "buy") {
				if cgtest.Unstreamed(got)["reason"] == safety.CodeDrift {
					refused++
				}
			}
			if refused != 1 {
				t.Errorf("buy answered %v, want one drift: the first call took the last one", adktest.Responses(events, "buy"))
			}
			states := make(map[safety.ApprovalState]int)
			for _, a := range h.Approvals(cgtest.SessionID) {
				states[a.State]++
			}
			if states[safety.StateExecuted] != 1 || states[safety.StateBlocked] != 1 {
				t.Errorf("approvals are %v, want one executed and one blocked", states)
			}
		})
	}
}
