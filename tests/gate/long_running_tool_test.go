// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// An answer that a client gives for the long-running call itself is no approval.
func TestAnswerOfALongRunningCallApprovesNothing(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		id, events := h.Ask(cgtest.SessionID)
		callID := callOf(events, "buy")
		if callID == "" {
			t.Fatal("no call of buy")
		}
		for _, fr := range []*genai.FunctionResponse{
			{ID: callID, Name: "buy", Response: map[string]any{"confirmed": true, "status": "bought"}},
			{ID: id, Name: "buy", Response: map[string]any{"confirmed": true}},
			{ID: callID, Name: "adk_request_confirmation", Response: map[string]any{"confirmed": true}},
		} {
			_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: fr}}})
			h.WantBought(0)
		}
		if got := h.Approvals(cgtest.SessionID)[0].State; got != safety.StatePending {
			t.Errorf("approval state = %q, want pending", got)
		}
	})
}

// callOf returns the id of the last call of the tool among the events.
func callOf(events []*session.Event, name string) (id string) {
	for _, ev := range events {
		if ev.Content == nil {
			continue
		}
		for _, p := range ev.Content.Parts {
			if p.FunctionCall != nil && p.FunctionCall.Name == name {
				id = p.FunctionCall.ID
			}
		}
	}
	return id
}

// The answer of a long-running tool that ran by approval comes later and runs nothing.
func TestLongRunningAnswerAfterTheApproval(t *testing.T) {
	for _, opt := range []cgtest.Option{cgtest.With(cgtest.Listed, cgtest.MadeWith(functiontool.Config{IsLongRunning: true})), cgtest.MadeWith(functiontool.Config{IsLongRunning: true})} {
		h := cgtest.New(t, opt)
		id, events := h.Ask(cgtest.SessionID)
		h.Answer(cgtest.SessionID, id, true)
		h.WantBought(1)
		h.Reply(callOf(events, "buy"), "buy", map[string]any{"status": "bought"})
		h.WantBought(1)
		if got := h.Approvals(cgtest.SessionID); len(got) != 1 || got[0].State != safety.StateExecuted {
			t.Errorf("approvals = %+v, want the one, executed", got)
		}
	}
}
