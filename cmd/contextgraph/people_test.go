// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// recordOfPeople makes a journal in the current directory with three requests: one that two people let
// run although its source was down, one that one of two has approved, and one with a wish.
func recordOfPeople(t *testing.T) (overridden, waiting, changed safety.Approval) {
	t.Helper()
	t.Chdir(t.TempDir())
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	l := j.Ledger()
	asked := func(n int) safety.Approval {
		a := storetest.Pending(n)
		a.Approvers, a.Replaces, a.Requester = 2, "", "bob"
		a.RequestedAt = demoNow.Add(-time.Hour)
		a.ExpiresAt, a.UpdatedAt = demoNow.Add(time.Hour), a.RequestedAt
		a.RequesterAuthenticated = n == 1
		if err := l.Create(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		j.Append(record.Event{
			Timestamp: a.RequestedAt.UnixMicro(), EventID: a.ID, EventType: record.HITLConfirmationRequest, AppName: a.Session.App, UserID: a.Session.User,
			SessionID: a.Session.ID, TraceID: "t", SpanID: a.ID[16:], Status: record.StatusOK, RunID: a.RunID, RunSeq: 1,
			Content: []byte(`{"tool":"adk_request_confirmation"}`), Attributes: []byte(`{"adk":{"approval_id":"` + a.ID + `","enforced":true}}`),
		})
		return a
	}
	move := func(a safety.Approval, to safety.ApprovalState, tr safety.Transition) safety.Approval {
		tr.ID, tr.From, tr.To, tr.At = a.ID, []safety.ApprovalState{a.State}, to, demoNow.Add(-time.Minute)
		a, err := l.Transition(t.Context(), tr)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	consent := func(a safety.Approval, who, override string) safety.Approval {
		verdict := "safe"
		if override != "" {
			verdict = "check_failed"
		}
		return move(a, safety.StateApproved, safety.Transition{Actor: who, Authenticated: true, Set: safety.Update{
			Verdict: verdict, Consent: safety.Consent{Who: who, Override: override, Unchecked: []string{"Product a"}},
		}})
	}
	overridden = consent(consent(asked(1), "eva", "by phone"), "tom", "I was there")
	overridden = move(overridden, safety.StatePermitted, safety.Transition{Actor: "run", Set: safety.Update{
		Verdict: "check_failed", PermitNonce: "n", PermitRun: "run", PermitExpiresAt: demoNow, Overridden: true,
	}})
	overridden = move(overridden, safety.StateExecuting, safety.Transition{Actor: "run", RequireNonce: "n"})
	overridden = move(overridden, safety.StateExecuted, safety.Transition{Actor: "run"})
	waiting = consent(asked(2), "eva", "")
	changed = move(asked(3), safety.StateRejected, safety.Transition{Actor: "tom", Authenticated: true, Set: safety.Update{Approver: "tom", Change: "at most $30,000"}})
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return overridden, waiting, changed
}

// The list and the card name people, and are loud about an override.
func TestPeopleAreShown(t *testing.T) {
	overridden, waiting, changed := recordOfPeople(t)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"approvals"}, []string{"● executed, OVERRIDDEN", "… pending", "✗ rejected"}},
		{[]string{"approvals", overridden.ID}, []string{"OVERRIDDEN", "Requester     bob\n", "2 of 2: eva, tom", "THE CHECK FAILED because sources were down", "check_failed, OVERRIDDEN"}},
		{[]string{"approvals", waiting.ID}, []string{"bob (not authenticated", "1 of 2: eva", "eva said yes; a yes of 1 more person is needed."}},
		{[]string{"approvals", changed.ID}, []string{"Change wanted", "at most $30,000", "Rejected by tom, who wants another plan: at most $30,000."}},
		{[]string{"approvals", overridden.ID, "--output", "json"}, []string{`"overridden": true`, `"override": true`, `"eva"`}},
	} {
		code, stdout, stderr := runCommand(t, tt.args...)
		if code != exitOK {
			t.Fatalf("%v: %d: %s", tt.args, code, stderr)
		}
		text := strings.Join(strings.Fields(stdout), " ")
		for _, want := range tt.want {
			if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%v does not say %q:\n%s", tt.args, want, stdout)
			}
		}
	}
}

// No output has a character that a terminal obeys or that reverses text, in no form.
func TestOutputOfHostileTexts(t *testing.T) {
	t.Chdir(t.TempDir())
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const hostile = "x\u009b2J\u202ey\u2066z\u007f"
	j.Append(record.Event{
		Timestamp: demoNow.UnixMicro(), EventID: rowID(1), EventType: record.UserMessageReceived, Agent: hostile, AppName: "shop", UserID: hostile,
		SessionID: "s1", TraceID: "t", SpanID: "root", Status: record.StatusOK, RunID: "r", RunSeq: 1,
		Content: []byte(`{"text_summary":"` + hostile + `"}`), Attributes: []byte(`{}`), ErrorMessage: hostile,
	})
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"sessions"}, {"sessions", "--output", "json"}, {"sessions", "--output", "ndjson"}, {"trace", "s1"}, {"trace", "s1", "--output", "json"},
		{"export", "s1"}, {"approvals", "--output", "json"},
	} {
		code, stdout, stderr := runCommand(t, args...)
		if code != exitOK {
			t.Errorf("%v: %d: %s", args, code, stderr)
		}
		if i := strings.IndexAny(stdout+stderr, "\u009b\u202e\u2066\u007f"); i >= 0 {
			t.Errorf("%v: %q", args, (stdout + stderr)[max(0, i-20):])
		}
	}
}
