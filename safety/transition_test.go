// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// legal is the state machine, written out once more.
var legal = map[safety.ApprovalState][]safety.ApprovalState{
	safety.StatePending:   {safety.StatePending, safety.StateApproved, safety.StateRejected, safety.StateExpired, safety.StateBlocked, safety.StateSuperseded},
	safety.StateApproved:  {safety.StateApproved, safety.StateRejected, safety.StateExpired, safety.StateBlocked, safety.StatePermitted, safety.StateSuperseded},
	safety.StatePermitted: {safety.StateExpired, safety.StateExecuting},
	safety.StateExecuting: {safety.StateExecuted, safety.StateFailed},
}

// in returns an approval that has come to a state.
func in(t *testing.T, state safety.ApprovalState) safety.Approval {
	t.Helper()
	a := storetest.Pending(1)
	for _, to := range storetest.Paths()[state] {
		var err error
		if a, _, err = storetest.Transition(a, to).Apply(a); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestTransitionBetweenStates(t *testing.T) {
	states := slices.Collect(maps.Keys(storetest.Paths()))
	for _, from := range states {
		for _, to := range append(states, "", "unknown") {
			a := in(t, from)
			got, steps, err := storetest.Transition(a, to).Apply(a)
			if slices.Contains(legal[from], to) {
				if err != nil || got.State != to || len(steps) != 1 {
					t.Errorf("%s to %s: state %q, %d steps, error %v", from, to, got.State, len(steps), err)
				}
			} else if !errors.Is(err, safety.ErrConflict) {
				t.Errorf("%s to %q: error %v", from, to, err)
			}
		}
	}
}

// TestTransitionNeeds leaves out what a transition needs besides a legal change of state.
func TestTransitionNeeds(t *testing.T) {
	const (
		pending, approved, permitted, executing = safety.StatePending, safety.StateApproved, safety.StatePermitted, safety.StateExecuting
		rejected, expired, executed             = safety.StateRejected, safety.StateExpired, safety.StateExecuted
	)
	requested := storetest.Pending(1).RequestedAt
	for _, tt := range []struct {
		name     string
		from, to safety.ApprovalState
		change   func(*safety.Transition)
		want     error
	}{
		{"from none", pending, approved, func(tr *safety.Transition) { tr.From = nil }, safety.ErrConflict},
		{"from others", pending, approved, func(tr *safety.Transition) { tr.From = []safety.ApprovalState{approved, permitted} }, safety.ErrConflict},
		{"from one of two", pending, expired, func(tr *safety.Transition) { tr.From = []safety.ApprovalState{approved, pending} }, nil},
		{"no id", pending, rejected, func(tr *safety.Transition) { tr.ID = "" }, safety.ErrNotFound},
		{"another id", pending, rejected, func(tr *safety.Transition) { tr.ID += "x" }, safety.ErrNotFound},
		{"no time", pending, rejected, func(tr *safety.Transition) { tr.At = time.Time{} }, safety.ErrConflict},
		{"no approver", pending, approved, func(tr *safety.Transition) { tr.Set.Consent.Who = "" }, safety.ErrConflict},
		{"an invisible approver", pending, approved, func(tr *safety.Transition) { tr.Set.Consent.Who = " \u200b" }, safety.ErrConflict},
		{"a consent to a rejection", pending, rejected, func(tr *safety.Transition) { tr.Set.Consent.Who = "ana" }, safety.ErrConflict},
		{"a change with a rejection", pending, rejected, func(tr *safety.Transition) { tr.Set.Change = "less" }, nil},
		{"a change with an approval", pending, approved, func(tr *safety.Transition) { tr.Set.Change = "less" }, safety.ErrConflict},
		{"an override of an approval", pending, approved, func(tr *safety.Transition) { tr.Set.Overridden = true }, safety.ErrConflict},
		{"an override without people", approved, permitted, func(tr *safety.Transition) { tr.Set.Overridden = true }, safety.ErrConflict},
		{"no new nonce", approved, permitted, func(tr *safety.Transition) { tr.Set.PermitNonce = "" }, safety.ErrConflict},
		{"no permit expiry", approved, permitted, func(tr *safety.Transition) { tr.Set.PermitExpiresAt = time.Time{} }, safety.ErrConflict},
		{"no nonce", permitted, executing, func(tr *safety.Transition) { tr.RequireNonce = "" }, safety.ErrConflict},
		{"another nonce", permitted, executing, func(tr *safety.Transition) { tr.RequireNonce += "x" }, safety.ErrConflict},
		{"a nonce where there is none", pending, expired, func(tr *safety.Transition) { tr.RequireNonce = storetest.Nonce }, safety.ErrConflict},
		{"a resolution", executing, executed, func(tr *safety.Transition) { tr.Resolved = true }, nil},
		{"a resolution by nobody", executing, executed, func(tr *safety.Transition) { tr.Resolved, tr.Actor = true, "" }, safety.ErrConflict},
		{"a resolution of what is not executing", pending, rejected, func(tr *safety.Transition) { tr.Resolved = true }, safety.ErrConflict},
		{"no permit expiry is an expired one", approved, approved, func(tr *safety.Transition) { tr.PermitNotAfter = true }, safety.ErrExpired},
		{"at the end of the approval", permitted, executing, func(tr *safety.Transition) { tr.NotAfter, tr.At = true, requested.Add(time.Hour) }, nil},
		{"after the approval", permitted, executing, func(tr *safety.Transition) { tr.NotAfter, tr.At = true, requested.Add(time.Hour+1) }, safety.ErrExpired},
		{"at the end of the permit", permitted, executing, func(tr *safety.Transition) { tr.PermitNotAfter, tr.At = true, requested.Add(2*time.Minute) }, nil},
		{"after the permit", permitted, executing, func(tr *safety.Transition) { tr.PermitNotAfter, tr.At = true, requested.Add(2*time.Minute+1) }, safety.ErrExpired},
		{"after both, which nobody asks about", permitted, executing, func(tr *safety.Transition) { tr.At = requested.Add(2 * time.Hour) }, nil},
		{"a refused change before", approved, permitted, func(tr *safety.Transition) {
			tr.First = &safety.Transition{ID: tr.ID, From: []safety.ApprovalState{pending}, To: pending, At: tr.At}
		}, safety.ErrConflict},
	} {
		a := in(t, tt.from)
		tr := storetest.Transition(a, tt.to)
		tt.change(&tr)
		got, _, err := tr.Apply(a)
		if !errors.Is(err, tt.want) || tt.want == nil && got.State != tt.to {
			t.Errorf("%s: state %q, error %v, want %v", tt.name, got.State, err, tt.want)
		}
	}
}

// TestTransitionSets follows an approval, and tells each field that a transition sets, and each of its steps.
func TestTransitionSets(t *testing.T) {
	a := storetest.Pending(1)
	wantSame(t, "the first step", safety.Step{To: safety.StatePending, At: a.RequestedAt, Actor: a.Requester, Run: a.RunID, Authenticated: true}, a.FirstStep())
	exact := a.RequestedAt.Add(time.Minute)
	odd := exact.Add(789 * time.Nanosecond).In(time.FixedZone("east", 3600)) // finer than a ledger keeps, and not in UTC
	for n, tt := range []struct {
		to     safety.ApprovalState
		change func(tr *safety.Transition)
		want   func(a *safety.Approval, step *safety.Step)
	}{
		{safety.StatePending, func(tr *safety.Transition) {
			tr.Set.Verdict, tr.Set.Report, tr.Check, tr.Run = "check_failed", []byte(`{"v":1}`), "check-1", "run"
		}, func(a *safety.Approval, step *safety.Step) {
			a.Verdict, a.Report = "check_failed", []byte(`{"v":1}`)
			step.Verdict, step.Check, step.Run = "check_failed", "check-1", "run"
		}},
		{safety.StateApproved, func(tr *safety.Transition) {
			tr.Authenticated, tr.At = true, odd
		}, func(a *safety.Approval, step *safety.Step) {
			a.Approver, a.DecidedAt = "ana", exact
			a.Consents = []safety.Consent{{Who: "ana", At: exact, Content: "content"}}
			step.Authenticated = true
		}},
		{safety.StateApproved, func(tr *safety.Transition) {
			tr.Set.Consent = safety.Consent{Who: "bob", Override: "down", Unchecked: []string{"Product Strava"}}
		}, func(a *safety.Approval, step *safety.Step) { // the approver and the time of the decision stay
			a.Consents = append(slices.Clone(a.Consents), safety.Consent{Who: "bob", At: exact, Override: "down", Unchecked: []string{"Product Strava"}})
			step.Override = true
		}},
		{safety.StateApproved, func(tr *safety.Transition) { // the same person counts once; the override stays
			tr.Set.Consent, tr.At = safety.Consent{Who: " BOB "}, tr.At.Add(time.Second)
		}, func(a *safety.Approval, step *safety.Step) {
			a.UpdatedAt, step.At = exact.Add(time.Second), exact.Add(time.Second)
		}},
		{safety.StateApproved, func(tr *safety.Transition) {
			tr.Set.Consent = safety.Consent{Who: "Ana", Override: "down"}
		}, func(a *safety.Approval, step *safety.Step) {
			a.Consents = []safety.Consent{{Who: "Ana", At: exact, Override: "down"}, a.Consents[1]}
			step.Override = true
		}},
		{safety.StatePermitted, func(tr *safety.Transition) {
			tr.Set.Overridden, tr.Set.PermitExpiresAt = true, odd
		}, func(a *safety.Approval, step *safety.Step) {
			a.Overridden, a.PermitNonce, a.PermitRun, a.PermitExpiresAt = true, storetest.Nonce, "run-p", exact
			step.Override = true
		}},
		{safety.StateExecuting, func(*safety.Transition) {}, func(*safety.Approval, *safety.Step) {}},
		{safety.StateFailed, func(tr *safety.Transition) {
			tr.Resolved, tr.Note = true, ""
		}, func(_ *safety.Approval, step *safety.Step) { step.Resolved, step.Note = true, "" }},
	} {
		tr := storetest.Transition(a, tt.to)
		tt.change(&tr)
		want, step := a, safety.Step{From: a.State, To: tt.to, At: exact, Actor: "actor", Note: "note"}
		want.State, want.UpdatedAt = tt.to, exact
		tt.want(&want, &step)
		got, steps, err := tr.Apply(a)
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		wantSame(t, "the approval", want, got)
		wantSame(t, "its steps", []safety.Step{step}, steps)
		a = got
	}
}

func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
