// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// doubtful returns the bench of an effect that was begun and of which nothing came back.
func doubtful(t *testing.T) (*bench, *safety.Permit, safety.Resolution) {
	b := newBench(t, nil, strava)
	p := b.permitted()
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	return b, p, safety.Resolution{Session: nike, ApprovalID: b.approval.ID, Who: "olga", Note: "looked at\nthe ad server"}
}

func TestResolve(t *testing.T) {
	for executed, want := range map[bool]safety.ApprovalState{true: safety.StateExecuted, false: safety.StateFailed} {
		b, p, r := doubtful(t)
		r.Executed = executed
		a, err := b.guard.Resolve(t.Context(), r)
		if err != nil || a.State != want || a.InDoubt() || b.state() != want {
			t.Errorf("executed %t: %s, %v", executed, a.State, err)
		}
		steps, err := b.ledger.History(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		step := safety.Step{From: safety.StateExecuting, To: want, At: epoch, Actor: "olga", Resolved: true, Note: "looked at the ad server"}
		if diff := cmp.Diff(step, steps[len(steps)-1]); diff != "" {
			t.Errorf("last step (-want +got):\n%s", diff)
		}
		if _, err := b.guard.Resolve(t.Context(), r); !errors.Is(err, safety.ErrConflict) {
			t.Errorf("resolved twice: %v", err)
		}
		if err := p.Done(t.Context(), nil); err == nil || b.state() != want {
			t.Errorf("the effect ended after its end was resolved: %v, %s", err, b.state())
		}
		_, _, err = b.permit()
		wantRefusal(t, err, safety.CodeAlreadyUsed)
	}
}

func TestResolveRefuses(t *testing.T) {
	other := nike
	other.User = "bob"
	for name, test := range map[string]struct {
		spoil func(*safety.Resolution)
		want  error
	}{
		"no session":      {func(r *safety.Resolution) { r.Session = safety.Session{} }, nil},
		"no approval":     {func(r *safety.Resolution) { r.ApprovalID = "" }, nil},
		"nobody":          {func(r *safety.Resolution) { r.Who = "" }, nil},
		"a blank name":    {func(r *safety.Resolution) { r.Who = " \n" }, nil},
		"another session": {func(r *safety.Resolution) { r.Session = other }, safety.ErrNotFound},
		"unknown":         {func(r *safety.Resolution) { r.ApprovalID = "unknown" }, safety.ErrNotFound},
	} {
		b, _, r := doubtful(t)
		test.spoil(&r)
		_, err := b.guard.Resolve(t.Context(), r)
		for _, other := range []error{safety.ErrNotFound, safety.ErrConflict} { // without a name nothing is looked for
			if err == nil || errors.Is(err, other) != (other == test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if b.state() != safety.StateExecuting {
			t.Errorf("%s: left %s", name, b.state())
		}
	}
	if _, err := (*safety.Guard)(nil).Resolve(t.Context(), safety.Resolution{}); err == nil {
		t.Error("a nil guard resolves")
	}
	b := newBench(t, nil, strava)
	r := safety.Resolution{Session: nike, Who: "olga", Executed: true}
	r.ApprovalID = b.ask().ID
	for _, state := range []safety.ApprovalState{safety.StatePending, safety.StateApproved, safety.StatePermitted} {
		switch state {
		case safety.StateApproved:
			b.answer(true)
		case safety.StatePermitted:
			if _, _, err := b.permit(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.guard.Resolve(t.Context(), r); !errors.Is(err, safety.ErrConflict) || !strings.Contains(err.Error(), string(state)) || b.state() != state {
			t.Errorf("resolving what is %s: %v, left %s", state, err, b.state())
		}
	}
}

// The history tells who asked, each check, who decided and how anybody knows them, the
// permit, its use and the end.
func TestHistoryTellsEverything(t *testing.T) {
	for name, authorizer := range map[string]safety.Authorizer{
		"the user of the session": nil,
		"authenticated": safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) {
			return "olga", nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Authorizer = authorizer }, strava)
			b.ask()
			b.world.put(strava, "price", entity.Text("?")) // cannot be compared: the check fails, twice
			b.answer(true)
			b.world.put(strava, "price", usd("$40,000"))
			b.answer(true)
			b.world.put(strava, "price", entity.Text("?"))
			if _, _, err := b.permit(); err == nil {
				t.Fatal("permitted")
			}
			b.world.put(strava, "price", usd("$40,000"))
			p, _, err := b.permit()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Consume(t.Context(), b.args); err != nil {
				t.Fatal(err)
			}
			if err := p.Done(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			who, known := "ana", authorizer != nil
			if known {
				who = "olga"
			}
			check := func(n int) string { return b.reports[n].ID() }
			want := []safety.Step{
				{To: safety.StatePending, Actor: "ana", Run: "run-1"},
				{From: safety.StatePending, To: safety.StatePending, Actor: who, Run: "run-2", Verdict: "check_failed", Check: check(0), Authenticated: known},
				{From: safety.StatePending, To: safety.StateApproved, Actor: who, Run: "run-2", Verdict: "safe", Check: check(1), Authenticated: known},
				{From: safety.StateApproved, To: safety.StateApproved, Actor: "run-2", Run: "run-2", Verdict: "check_failed", Check: check(2)},
				{From: safety.StateApproved, To: safety.StatePermitted, Actor: "run-2", Run: "run-2", Verdict: "safe", Check: check(3)},
				{From: safety.StatePermitted, To: safety.StateExecuting, Actor: "run-2", Run: "run-2"},
				{From: safety.StateExecuting, To: safety.StateExecuted, Actor: "run-2", Run: "run-2"},
			}
			got, err := b.ledger.History(t.Context(), b.approval.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(safety.Step{}, "At", "Note")); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			for i, s := range got {
				if !s.At.Equal(epoch) {
					t.Errorf("step %d at %v", i, s.At)
				}
			}
		})
	}
}

// Every other end of a request says by whom or in which run it came.
func TestHistoryOfOtherEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(b *bench)
		want safety.Step
	}{
		"rejected":               {func(b *bench) { b.answer(false) }, safety.Step{From: safety.StatePending, To: safety.StateRejected, Actor: "ana", Run: "run-2"}},
		"drift at the answer":    {func(b *bench) { b.world.put(strava, "price", usd("$1")); b.answer(true) }, safety.Step{From: safety.StatePending, To: safety.StateBlocked, Actor: "ana", Run: "run-2", Verdict: "drift"}},
		"expired at the answer":  {func(b *bench) { b.clock.Add(8 * 24 * time.Hour); b.answer(true) }, safety.Step{From: safety.StatePending, To: safety.StateExpired, Actor: "run-2", Run: "run-2"}},
		"drift before execution": {func(b *bench) { b.answer(true); b.world.put(strava, "price", usd("$1")); b.refused() }, safety.Step{From: safety.StateApproved, To: safety.StateBlocked, Actor: "run-2", Run: "run-2", Verdict: "drift"}},
	} {
		b := newBench(t, nil, strava)
		b.ask()
		test.end(b)
		got, err := b.ledger.History(t.Context(), b.approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		last := got[len(got)-1]
		if test.want.Verdict != "" {
			test.want.Check = b.reports[len(b.reports)-1].ID()
		}
		if diff := cmp.Diff(test.want, last, cmpopts.IgnoreFields(safety.Step{}, "At", "Note")); diff != "" {
			t.Errorf("%s: last step (-want +got):\n%s", name, diff)
		}
	}
}

// refused tries to run the call, which must be refused.
func (b *bench) refused() {
	b.t.Helper()
	if _, _, err := b.permit(); err == nil {
		b.t.Fatal("permitted")
	}
}
