// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Whichever way a human is asked, it is on record with what the call rests on before
// anyone can answer, and in the graph.
func TestEveryWayIsRecorded(t *testing.T) {
	cgtest.OnEveryWay(t, func(t *testing.T, w cgtest.Way) {
		h := cgtest.New(t, w.Option)
		id, _ := h.Ask(cgtest.SessionID)
		h.WantBought(0)
		approvals := h.Approvals(cgtest.SessionID)
		if len(approvals) != 1 || approvals[0].State != safety.StatePending || approvals[0].Tool != "buy" || len(approvals[0].Entities) == 0 {
			t.Fatalf("approvals = %+v, want one pending for buy that rests on something", approvals)
		}
		if got := approvals[0].ConfirmationID; got != id {
			t.Errorf("confirmation id = %q, want %q", got, id)
		}
		if got := string(approvals[0].Args); got != `{"count":1,"item":"Strava Sponsored Routes"}` {
			t.Errorf("arguments = %s", got)
		}
		requests := rowtest.Of(h.Rows(cgtest.SessionID), record.HITLConfirmationRequest)
		if len(requests) != 1 {
			t.Fatalf("%d requests on record, want 1", len(requests))
		}
		why, err := h.CG.Why(t.Context(), cgtest.Key(cgtest.SessionID))
		if err != nil || len(why) == 0 {
			t.Errorf("Why = %v, %v", why, err)
		}
		if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
			t.Errorf("buy answered %v, want it bought", got)
		}
		rows := h.Rows(cgtest.SessionID)
		cgtest.CheckTree(t, rows)
		var calls []string
		for _, e := range rows {
			if e.EventType == record.ToolStarting || e.EventType == record.ToolCompleted || e.EventType == record.ToolError {
				if rowtest.Field(t, e.Content, "tool") == "buy" {
					calls = append(calls, e.EventType)
				}
			}
		}
		if diff := cmp.Diff([]string{record.ToolStarting, record.ToolCompleted, record.ToolStarting, record.ToolCompleted}, calls); diff != "" {
			t.Errorf("rows of the call that asked and of the one that ran (-want +got):\n%s", diff)
		}
	})
}

// A call that its provider waves through needs nobody where a rule covers the tool, and
// an approval where the tool is protected or listed.
func TestProviderThatDoesNotAsk(t *testing.T) {
	never := cgtest.MadeWith(functiontool.Config{RequireConfirmationProvider: func(cgtest.BuyArgs) bool { return false }})
	h := cgtest.New(t, cgtest.Covered, never)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	h.WantBought(1)
	for name, opt := range map[string]cgtest.Option{"protected": never, "listed": cgtest.With(cgtest.Listed, never)} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, opt)
			id, _ := h.Ask(cgtest.SessionID)
			h.WantBought(0)
			h.Answer(cgtest.SessionID, id, true)
			h.WantBought(1)
		})
	}
}
