// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"errors"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// askInput runs the workflow up to the input and returns the event that asks.
func askInput(w *cgtest.Workflow) *session.Event {
	w.T.Helper()
	for _, ev := range adktest.Run(w.T, w.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route")) {
		if ev.RequestedInput != nil {
			return ev
		}
	}
	w.T.Fatal("nobody was asked")
	return nil
}

// wantTurnedAway checks that a message was refused for the reason and left no trace in
// the session.
func wantTurnedAway(w *cgtest.Workflow, msg *genai.Content, code string) *safety.Refusal {
	w.T.Helper()
	before := countEvents(w)
	err := w.Reply(msg)
	var refusal *safety.Refusal
	if !errors.As(err, &refusal) {
		w.T.Fatalf("the run ended with %v, want a refusal", err)
	}
	if refusal.Code != code {
		w.T.Errorf("code %q, want %q: %v", refusal.Code, code, err)
	}
	if !strings.Contains(err.Error(), "nothing of the message is stored") {
		w.T.Errorf("the error does not say what became of the message: %v", err)
	}
	if after := countEvents(w); after != before {
		w.T.Errorf("the session has %d events, %d before the refused message", after, before)
	}
	return refusal
}

func countEvents(w *cgtest.Workflow) int {
	w.T.Helper()
	resp, err := w.Sessions.Get(w.T.Context(), &session.GetRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
	if err != nil {
		return 0
	}
	return resp.Session.Events().Len()
}

// wantState checks the state of the last approval and returns the approval.
func wantState(w *cgtest.Workflow, want safety.ApprovalState) safety.Approval {
	w.T.Helper()
	as := w.Approvals(cgtest.SessionID)
	if len(as) == 0 {
		w.T.Fatal("no approval is on record")
	}
	if got := as[len(as)-1]; got.State != want {
		w.T.Errorf("approval state = %q, want %q; report %s", got.State, want, got.Report)
	}
	return as[len(as)-1]
}
