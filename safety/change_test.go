// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestChange(t *testing.T) {
	p := newPeople(t, 1, strava)
	out := p.says("eva", safety.Answer{Change: " at most $30,000\n"})
	p.wantOutcome(out, safety.CodeChange, safety.StateRejected)
	if out.Approval.Change != "at most $30,000" || out.Approval.Approver != "eva" {
		t.Errorf("%+v", out.Approval)
	}
	steps, err := p.ledger.History(t.Context(), p.approval.ID)
	if err != nil || steps[1].Note != "rejected, with a wish for a change, in run run of eva" {
		t.Errorf("history %+v, %v", steps, err)
	}
	r := p.request()
	r.CallID = "call-2"
	_, err = p.guard.Ask(as(t, "bob"), r)
	wantCode(t, err, safety.CodeChange, `to be different: "at most $30,000".`)

	r.Args, r.Redact = map[string]any{"campaign": "summer", "total": 30000.0}, func(args []byte) []byte { return args }
	a, err := p.guard.Ask(as(t, "bob"), r)
	if err != nil || a.Replaces != p.approval.ID || a.Chain != 0 {
		t.Fatalf("replaces %q, chain %d, error %v", a.Replaces, a.Chain, err)
	}
	want := []safety.ValueDifference{{Name: "total", Was: "200000", Now: "30000"}}
	if diff := cmp.Diff(want, a.Difference.Arguments); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if !strings.Contains(a.Hint("buy"), "argument total 200000 → 30000") {
		t.Errorf("hint %q", a.Hint("buy"))
	}
	r.CallID, r.Args = "call-3", map[string]any{"total": 1.0}
	if a, err := p.guard.Ask(as(t, "bob"), r); err != nil || a.Replaces != "" {
		t.Errorf("one more: replaces %q, error %v", a.Replaces, err)
	}
}

// In a later turn the same call may be asked again, and a request that is not chained replaces none.
func TestChangeLater(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.says("eva", safety.Answer{Change: "wait a day"})
	r := p.request()
	r.CallID, r.InvocationID, r.Chained = "call-2", "inv-2", false
	if a, err := p.guard.Ask(as(t, "bob"), r); err != nil || a.Replaces != "" {
		t.Errorf("not chained: replaces %q, error %v", a.Replaces, err)
	}
	r.Chained, r.CallID = true, "call-3"
	if id, err := p.guard.Replaces(as(t, "bob"), r); err != nil || id != p.approval.ID {
		t.Errorf("replaces %q, error %v", id, err)
	}
	if a, err := p.guard.Ask(as(t, "bob"), r); err != nil || a.Replaces != p.approval.ID || !strings.Contains(a.Hint(""), "Replaces the request of 11:00 UTC.") {
		t.Errorf("replaces %q, error %v, hint %q", a.Replaces, err, a.Hint(""))
	}
}

// What the ledger says of a change must fit.
func TestChangeOfABadLedger(t *testing.T) {
	change := func(f func(*safety.Approval)) func(*safety.Approval) error {
		return func(a *safety.Approval) error { f(a); return nil }
	}
	fails := func(*safety.Approval) error { return errors.New("disk") }
	for name, l := range map[string]spoiled{
		"it cannot be read":         {change: fails},
		"it is of another session":  {change: change(func(a *safety.Approval) { a.Session.ID = "other" })},
		"it is of another tool":     {change: change(func(a *safety.Approval) { a.Tool = "other" })},
		"it was not rejected":       {change: change(func(a *safety.Approval) { a.State = safety.StateBlocked })},
		"it has no wish":            {change: change(func(a *safety.Approval) { a.Change = "" })},
		"it cannot be read in full": {got: fails},
	} {
		p := newPeople(t, 1, strava)
		p.says("eva", safety.Answer{Change: "less"})
		l.Ledger = p.ledger
		r := p.request()
		r.CallID, r.Args = "call-2", map[string]any{"total": 1.0}
		_, err := p.with(l).Ask(as(t, "bob"), r)
		wantCode(t, err, safety.CodeStore, "")
		if n := len(p.list()); n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}
