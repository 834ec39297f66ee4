// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Whichever way a human is asked, the request says what would run and on what it rests, it is on
// record with that before anyone can answer, and in the graph. The call runs once, and nothing says
// that the tool is not guarded.
func TestEveryWayOfAsking(t *testing.T) {
	cgtest.OnEach(t, cgtest.AllWays(), func(t *testing.T, w cgtest.Way) {
		h := cgtest.New(t, w.Option, func(o *cgtest.Options) { o.Config.Guard.Unguarded = config.UnguardedError })
		id, events := h.Ask(cgtest.SessionID)
		h.WantBought(0)
		request := cgtest.ShownBy(t, adktest.Confirmations(events)[0])
		want := []string{`buy with item "Strava Sponsored Routes", count 1. Not checked: count. ` + rests + ". " + requester}
		if strings.HasSuffix(w.Name, "inside of the tool") {
			want = append(want, "Buy it? Not checked: count. "+rests+". "+requester)
		}
		if !slices.Contains(want, request.Hint) {
			t.Errorf("hint %q, want one of %q", request.Hint, want)
		}
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
		if shown, _ := request.Payload[gate.PayloadKey].(map[string]any); shown["approval_id"] != approvals[0].ID {
			t.Errorf("a person is shown %v, want the approval %q", request.Payload, approvals[0].ID)
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
		h.WantBought(1)
		if n := h.CG.Stats().Gate.Unguarded; n != 0 {
			t.Errorf("Stats.Unguarded = %d, want 0", n)
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
		h.Answer(cgtest.SessionID, id, true)
		h.WantBought(1)
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
