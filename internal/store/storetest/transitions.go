// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// states lists every state, in an order in which each can be reached from those before.
var states = []safety.ApprovalState{
	safety.StatePending, safety.StateApproved, safety.StateRejected, safety.StateExpired, safety.StateBlocked,
	safety.StatePermitted, safety.StateExecuting, safety.StateExecuted, safety.StateFailed,
}

// Paths says how an approval gets to each state from pending.
func Paths() map[safety.ApprovalState][]safety.ApprovalState {
	return map[safety.ApprovalState][]safety.ApprovalState{
		safety.StatePending:   {},
		safety.StateApproved:  {safety.StateApproved},
		safety.StateRejected:  {safety.StateRejected},
		safety.StateExpired:   {safety.StateExpired},
		safety.StateBlocked:   {safety.StateBlocked},
		safety.StatePermitted: {safety.StateApproved, safety.StatePermitted},
		safety.StateExecuting: {safety.StateApproved, safety.StatePermitted, safety.StateExecuting},
		safety.StateExecuted:  {safety.StateApproved, safety.StatePermitted, safety.StateExecuting, safety.StateExecuted},
		safety.StateFailed:    {safety.StateApproved, safety.StatePermitted, safety.StateExecuting, safety.StateFailed},
	}
}

// legal is the state machine, written out once more.
var legal = map[safety.ApprovalState][]safety.ApprovalState{
	safety.StatePending:   {safety.StatePending, safety.StateApproved, safety.StateRejected, safety.StateExpired, safety.StateBlocked},
	safety.StateApproved:  {safety.StateApproved, safety.StateRejected, safety.StateExpired, safety.StateBlocked, safety.StatePermitted},
	safety.StatePermitted: {safety.StateExpired, safety.StateExecuting},
	safety.StateExecuting: {safety.StateExecuted, safety.StateFailed},
}

const nonce = "0123456789abcdef"

// transition returns one that has everything any state asks for.
func transition(a safety.Approval, from, to safety.ApprovalState) safety.Transition {
	t := safety.Transition{
		ID: a.ID, From: []safety.ApprovalState{from}, To: to, At: a.RequestedAt.Add(time.Minute),
		Actor: "actor", Note: "note",
	}
	switch to {
	case safety.StateApproved:
		if from != safety.StateApproved {
			t.Set.Consent = safety.Consent{Who: "ana", Content: "content"}
		}
	case safety.StateRejected:
		t.Set.Approver = "ana"
	case safety.StatePermitted:
		t.Set.PermitNonce, t.Set.PermitRun = nonce, "run-p"
		t.Set.PermitExpiresAt = a.RequestedAt.Add(2 * time.Minute)
	case safety.StateExecuting:
		t.RequireNonce = nonce
	}
	return t
}

// move takes a pending approval along a path and returns it as it is then.
func move(t *testing.T, l safety.Ledger, a safety.Approval, path ...safety.ApprovalState) safety.Approval {
	t.Helper()
	for _, to := range path {
		var err error
		if a, err = l.Transition(t.Context(), transition(a, a.State, to)); err != nil {
			t.Fatalf("to %s: %v", to, err)
		}
	}
	return a
}

// testTransitions tries every pair of states.
func testTransitions(t *testing.T, l safety.Ledger) {
	n, paths := 0, Paths()
	for _, from := range states {
		for _, to := range append([]safety.ApprovalState{"", "unknown"}, states...) {
			n++
			a := move(t, l, create(t, l, Pending(n)), paths[from]...)
			got, err := l.Transition(t.Context(), transition(a, from, to))
			if slices.Contains(legal[from], to) {
				if err != nil || got.State != to {
					t.Errorf("%s to %s: state %q, error %v", from, to, got.State, err)
				}
				continue
			}
			wantErr(t, string(from)+" to "+string(to), err, safety.ErrConflict)
			if got, err := safety.Get(t.Context(), l, a.ID); err != nil || got.State != from {
				t.Errorf("%s to %s was refused and left %q, error %v", from, to, got.State, err)
			}
		}
	}
}

// testTransitionFrom names states the approval is not in.
func testTransitionFrom(t *testing.T, l safety.Ledger) {
	ctx := t.Context()
	a := create(t, l, Pending(1))
	for name, from := range map[string][]safety.ApprovalState{
		"none": nil, "another": {safety.StateApproved}, "others": {safety.StateApproved, safety.StatePermitted},
	} {
		tr := transition(a, "", safety.StateApproved)
		tr.From = from
		_, err := l.Transition(ctx, tr)
		wantErr(t, "from "+name, err, safety.ErrConflict)
	}
	tr := transition(a, "", safety.StateExpired)
	tr.From = []safety.ApprovalState{safety.StateApproved, safety.StatePending}
	if _, err := l.Transition(ctx, tr); err != nil {
		t.Errorf("from one of two: %v", err)
	}
}

// testTransitionSets checks which fields change, and that the others do not.
func testTransitionSets(t *testing.T, l safety.Ledger) {
	ctx := t.Context()
	want := create(t, l, Pending(1))
	step := func(tr safety.Transition) {
		t.Helper()
		got, err := l.Transition(ctx, tr)
		if err != nil {
			t.Fatalf("to %s: %v", tr.To, err)
		}
		returned(t, "Transition to "+string(tr.To), want, got)
		if got, err = safety.Get(ctx, l, want.ID); err != nil {
			t.Fatal(err)
		}
		same(t, "Get after the transition to "+string(tr.To), want, got)
	}

	failed := transition(want, safety.StatePending, safety.StatePending)
	failed.Set.Verdict, failed.Set.Report = "check_failed", []byte(`{"verdict":"check_failed"}`)
	want.Verdict, want.Report, want.UpdatedAt = "check_failed", []byte(`{"verdict":"check_failed"}`), failed.At
	step(failed)

	approved := transition(want, safety.StatePending, safety.StateApproved)
	approved.Set.Verdict, approved.Set.Report = "safe", []byte(`{"verdict":"safe"}`)
	want.State, want.Approver, want.DecidedAt = safety.StateApproved, "ana", approved.At
	want.Consents = []safety.Consent{{Who: "ana", At: approved.At, Content: "content"}}
	want.Verdict, want.Report = "safe", []byte(`{"verdict":"safe"}`)
	step(approved)

	again := transition(want, safety.StateApproved, safety.StateApproved)
	again.At, again.Set.Consent = again.At.Add(time.Second), safety.Consent{Who: "bob", Override: "down", Unchecked: []string{"Product Strava"}}
	want.UpdatedAt = again.At // the approver and the time of the decision stay
	want.Consents = append(want.Consents, safety.Consent{Who: "bob", At: again.At, Override: "down", Unchecked: []string{"Product Strava"}})
	step(again)
	// The same person counts once; the override stays.
	again.At, again.Set.Consent = again.At.Add(time.Second), safety.Consent{Who: " BOB "}
	want.UpdatedAt = again.At
	step(again)
	again.At, again.Set.Consent = again.At.Add(time.Second), safety.Consent{Who: "Ana", Override: "down"}
	want.UpdatedAt = again.At
	want.Consents = []safety.Consent{{Who: "Ana", At: again.At, Override: "down"}, want.Consents[1]}
	step(again)

	permitted := transition(want, safety.StateApproved, safety.StatePermitted)
	permitted.Set.Overridden = true
	want.Overridden = true
	want.State, want.UpdatedAt = safety.StatePermitted, permitted.At
	want.PermitNonce, want.PermitRun, want.PermitExpiresAt = nonce, "run-p", permitted.Set.PermitExpiresAt
	step(permitted)

	executing := transition(want, safety.StatePermitted, safety.StateExecuting)
	want.State = safety.StateExecuting
	step(executing)

	executed := transition(want, safety.StateExecuting, safety.StateExecuted)
	want.State = safety.StateExecuted
	step(executed)
}

// testTransitionTimes gives times that are finer than a ledger keeps, and not in UTC.
func testTransitionTimes(t *testing.T, l safety.Ledger) {
	ctx := t.Context()
	a := move(t, l, create(t, l, Pending(1)), safety.StateApproved)
	exact := a.RequestedAt.Add(time.Minute)
	odd := exact.Add(789 * time.Nanosecond).In(time.FixedZone("east", 3600))
	tr := transition(a, safety.StateApproved, safety.StatePermitted)
	tr.At, tr.Set.PermitExpiresAt = odd, odd
	moved, err := l.Transition(ctx, tr)
	if err != nil {
		t.Fatal(err)
	}
	if moved.UpdatedAt != exact || moved.PermitExpiresAt != exact {
		t.Errorf("times %v and %v, want %v", moved.UpdatedAt, moved.PermitExpiresAt, exact)
	}
	got, err := safety.Get(ctx, l, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	returned(t, "the transition before Get", got, moved)
	steps, err := l.History(ctx, a.ID)
	if err != nil || steps[len(steps)-1].At != exact {
		t.Errorf("history %+v, error %v; want the last step at %v", steps, err, exact)
	}
}

// testRequirements leaves out what a transition needs besides the right states.
func testRequirements(t *testing.T, l safety.Ledger) {
	permitted := []safety.ApprovalState{safety.StateApproved, safety.StatePermitted}
	for i, test := range []struct {
		name  string
		path  []safety.ApprovalState
		to    safety.ApprovalState
		spoil func(*safety.Transition)
	}{
		{"no time", nil, safety.StateRejected, func(tr *safety.Transition) { tr.At = time.Time{} }},
		{"no approver", nil, safety.StateApproved, func(tr *safety.Transition) { tr.Set.Consent.Who = "" }},
		{"an invisible approver", nil, safety.StateApproved, func(tr *safety.Transition) { tr.Set.Consent.Who = " \u200b" }},
		{"a consent to a rejection", nil, safety.StateRejected, func(tr *safety.Transition) { tr.Set.Consent.Who = "ana" }},
		{"a change with an approval", nil, safety.StateApproved, func(tr *safety.Transition) { tr.Set.Change = "less" }},
		{"an override of an approval", nil, safety.StateApproved, func(tr *safety.Transition) { tr.Set.Overridden = true }},
		{"an override without people", []safety.ApprovalState{safety.StateApproved}, safety.StatePermitted, func(tr *safety.Transition) { tr.Set.Overridden = true }},
		{"no new nonce", permitted[:1], safety.StatePermitted, func(tr *safety.Transition) { tr.Set.PermitNonce = "" }},
		{"no permit expiry", permitted[:1], safety.StatePermitted, func(tr *safety.Transition) { tr.Set.PermitExpiresAt = time.Time{} }},
		{"no nonce", permitted, safety.StateExecuting, func(tr *safety.Transition) { tr.RequireNonce = "" }},
		{"another nonce", permitted, safety.StateExecuting, func(tr *safety.Transition) { tr.RequireNonce = nonce + "x" }},
		{"a resolution of what is not executing", nil, safety.StateRejected, func(tr *safety.Transition) { tr.Resolved = true }},
		{"a resolution by nobody", []safety.ApprovalState{safety.StateApproved, safety.StatePermitted, safety.StateExecuting}, safety.StateExecuted,
			func(tr *safety.Transition) { tr.Resolved, tr.Actor = true, "" }},
		{"a nonce where there is none", nil, safety.StateExpired, func(tr *safety.Transition) { tr.RequireNonce = nonce }},
	} {
		a := move(t, l, create(t, l, Pending(i)), test.path...)
		tr := transition(a, a.State, test.to)
		test.spoil(&tr)
		_, err := l.Transition(t.Context(), tr)
		wantErr(t, test.name, err, safety.ErrConflict)
		if got, err := safety.Get(t.Context(), l, a.ID); err != nil || got.State != a.State {
			t.Errorf("%s: left %q, error %v; want %q", test.name, got.State, err, a.State)
		}
	}
}

func testExpiry(t *testing.T, l safety.Ledger) {
	for i, test := range []struct {
		name        string
		after       time.Duration // of the approval's expiry
		afterPermit time.Duration // of the permit's expiry
		want        error
	}{
		{"at the moment of both", 0, 0, nil},
		{"a microsecond after the approval", time.Microsecond, 0, safety.ErrExpired},
		{"a microsecond after the permit", 0, time.Microsecond, safety.ErrExpired},
		{"a microsecond before both", -time.Microsecond, -time.Microsecond, nil},
	} {
		a := Pending(i)
		at := a.RequestedAt.Add(10 * time.Minute)
		a.ExpiresAt = at.Add(-test.after)
		a = move(t, l, create(t, l, a), safety.StateApproved)
		permit := transition(a, safety.StateApproved, safety.StatePermitted)
		permit.Set.PermitExpiresAt = at.Add(-test.afterPermit)
		if _, err := l.Transition(t.Context(), permit); err != nil {
			t.Fatal(err)
		}
		consume := transition(a, safety.StatePermitted, safety.StateExecuting)
		consume.At, consume.NotAfter, consume.PermitNotAfter = at, true, true
		_, err := l.Transition(t.Context(), consume)
		wantErr(t, test.name, err, test.want)
		if test.want != nil {
			consume.NotAfter, consume.PermitNotAfter = false, false
			if _, err := l.Transition(t.Context(), consume); err != nil {
				t.Errorf("%s: the refusal changed something: %v", test.name, err)
			}
		}
	}
	never := create(t, l, Pending(9))
	never = move(t, l, never, safety.StateApproved)
	unset := transition(never, safety.StateApproved, safety.StateApproved)
	unset.PermitNotAfter = true
	_, err := l.Transition(t.Context(), unset)
	wantErr(t, "no permit expiry is an expired one", err, safety.ErrExpired)
}

func testHistory(t *testing.T, l safety.Ledger) {
	a := create(t, l, Pending(1))
	create(t, l, Pending(2)) // has a history of its own
	at := a.RequestedAt.Add(time.Minute)
	want := []safety.Step{{To: safety.StatePending, At: a.RequestedAt, Actor: a.Requester, Run: a.RunID, Authenticated: true}}
	check := func() {
		t.Helper()
		got, err := l.History(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	}
	check()
	state := safety.StatePending
	for i, to := range []safety.ApprovalState{
		safety.StatePending, safety.StateApproved, safety.StateApproved, safety.StatePermitted, safety.StateExecuting, safety.StateFailed,
	} {
		tr := transition(a, state, to)
		tr.Run = fmt.Sprint("run of step ", i)
		step := safety.Step{From: state, To: to, At: at, Actor: "actor", Run: tr.Run, Note: "note"}
		switch to { // every field of a step, set and not set
		case safety.StatePending:
			tr.Set.Verdict, tr.Check = "check_failed", "check-1"
			step.Verdict, step.Check = "check_failed", "check-1"
		case safety.StateApproved:
			tr.Authenticated = i == 1
			step.Authenticated = i == 1
			if i == 2 {
				tr.Set.Consent, step.Override = safety.Consent{Who: "bob", Override: "down"}, true
			}
		case safety.StateFailed:
			tr.Run, tr.Note, tr.Resolved = "", "", true
			step.Run, step.Note, step.Resolved = "", "", true
		}
		if _, err := l.Transition(t.Context(), tr); err != nil {
			t.Fatal(err)
		}
		want = append(want, step)
		state = to
		check()
	}
	_, err := l.Transition(t.Context(), transition(a, safety.StatePending, safety.StateApproved))
	wantErr(t, "a refused transition", err, safety.ErrConflict)
	check()
}

// testConsents asks for the approval of two people.
func testConsents(t *testing.T, l safety.Ledger) {
	asked := Pending(1)
	asked.Approvers = 2
	a := create(t, l, asked)
	consent := func(c safety.Consent, to safety.ApprovalState, people int) {
		t.Helper()
		tr := transition(a, safety.StatePending, safety.StateApproved)
		tr.Set.Consent = c
		got, err := l.Transition(t.Context(), tr)
		if err != nil || got.State != to || len(got.Consents) != people {
			t.Fatalf("the consent of %s: %s with %v, error %v; want %s", c.Who, got.State, got.Consents, err, to)
		}
		if decided := got.Approver != ""; decided != (to == safety.StateApproved) {
			t.Errorf("the consent of %s: decided by %q", c.Who, got.Approver)
		}
	}
	consent(safety.Consent{Who: "ana"}, safety.StatePending, 1)
	consent(safety.Consent{Who: "ANA"}, safety.StatePending, 1)
	consent(safety.Consent{Who: "bob", Override: "down", Unchecked: []string{"Product a"}}, safety.StatePending, 2)
	consent(safety.Consent{Who: "eva", Override: "down", Unchecked: []string{"Product b"}}, safety.StatePending, 3)
	consent(safety.Consent{Who: "ana", Override: "down", Unchecked: []string{"Product a"}}, safety.StateApproved, 3)
	steps, err := l.History(t.Context(), a.ID)
	if err != nil || len(steps) != 6 || steps[1].To != safety.StatePending || steps[5].To != safety.StateApproved {
		t.Errorf("history %+v, error %v", steps, err)
	}
}
