// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// An effect does not begin once nobody is there to see it.
func TestCanceledRunDoesNotBeginTheEffect(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		id, _ := h.Ask(cgtest.SessionID)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h.OnCheck = func(n int64) {
			if n == 2 { // the check before the effect
				cancel()
			}
		}
		_, _ = adktest.TryRun(ctx, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
		h.WantBought(0)
	}, func(o *cgtest.Options) { o.CountChecks = true })
}

// Two calls of one turn under one id: what runs is at most what was approved.
func TestCallsThatShareAnID(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		events, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range adktest.Confirmations(events) {
			h.Answer(cgtest.SessionID, c.ID, true)
		}
		if n := h.Bought.Load(); n > 1 {
			t.Fatalf("the tool ran %d times, want at most once", n)
		}
		if got, ok := h.LastBuy.Load().(cgtest.BuyArgs); ok {
			if a := h.Approvals(cgtest.SessionID)[0]; string(a.Args) != `{"count":`+string(rune('0'+got.Count))+`,"item":"Strava Sponsored Routes"}` {
				t.Errorf("ran with %+v, approved was %s", got, a.Args)
			}
		}
	}, func(o *cgtest.Options) {
		shop := o.Answer
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "search" {
				call := func(n int) *genai.FunctionCall {
					return &genai.FunctionCall{ID: "same", Name: "buy", Args: map[string]any{"item": "Strava Sponsored Routes", "count": n}}
				}
				return adktest.Calls(call(1), call(2)), nil
			}
			return shop(req)
		}
	})
}

// A slow answer is not taken for a message that was refused.
func TestRunWhoseAnswerTakesLongIsNotGivenUp(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) { o.CountChecks = true })
	id, _ := h.Ask(cgtest.SessionID)
	h.OnCheck = func(n int64) {
		if n == 1 {
			h.Clock.Advance(time.Hour)
			adktest.Run(t, h.Runner, cgtest.User, "another session", adktest.UserText("buy a route"))
			h.Clock.Advance(-time.Hour)
		}
	}
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v, want it bought", got)
	}
	for _, e := range rowtest.Of(h.Rows(cgtest.SessionID), record.InvocationCompleted) {
		if e.Status != record.StatusOK {
			t.Errorf("a run ended with %s: %s", e.Status, e.ErrorMessage)
		}
	}
}
