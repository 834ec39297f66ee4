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

	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestSuperseded asks for one call again while its request is open: a person who says yes to both has
// it run once.
func TestSuperseded(t *testing.T) {
	b := newBench(t, approvers(2), strava)
	first := b.ask()
	if out := b.says("eva", safety.Answer{Confirmed: true}); out.Reason != safety.CodeMoreApprovers {
		t.Fatalf("the first of two: %+v", out)
	}
	other, err := b.askAgain(2, laterTurn, func(r *safety.Request) { r.Agent = "other" })
	if err != nil || other.Replaces != "" {
		t.Fatalf("the request of another agent replaces %q, %v", other.Replaces, err)
	}
	b.clock.Add(time.Minute)
	a, err := b.askAgain(3, laterTurn, func(r *safety.Request) { r.Declaration = "pallets" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"eva"}, a.Difference.Consents); a.Replaces != first.ID || diff != "" || !a.Difference.Tool || a.Same.To != "" {
		t.Errorf("replaces %q, %+v", a.Replaces, a.Difference)
	}
	if hint := a.Hint("buy"); !strings.Contains(hint, "Replaces the request of 11:00 UTC: eva has to approve again, the tool is declared otherwise.") {
		t.Errorf("hint %q", hint)
	}
	if out := b.says("tom", safety.Answer{Confirmed: true}); out.Accepted || out.Reason != safety.CodeSuperseded ||
		out.Approval.Ended() != "the same call was asked for again at 2026-01-19T11:01:13Z, or the session went back to before it, and only the later request counts" {
		t.Errorf("an answer to the first request: %+v", out)
	}
	if stored, err := safety.Get(t.Context(), b.ledger, other.ID); err != nil || stored.State != safety.StatePending {
		t.Errorf("the request of the other agent is %s, %v", stored.State, err)
	}
	steps, err := b.ledger.History(t.Context(), first.ID)
	if last := steps[len(steps)-1]; err != nil || last.Note != "asked for again by "+a.ID || last.Actor != a.Requester {
		t.Errorf("last step %+v, %v", last, err)
	}
}

// A request may be superseded before its confirmation has a name. Whoever answers it hears that a later one counts.
func TestSupersededBeforeItIsShown(t *testing.T) {
	b := newBench(t, nil, strava)
	first, err := b.guard.Ask(t.Context(), b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Add(time.Minute)
	if _, err := b.askAgain(2, laterTurn); err != nil {
		t.Fatal(err)
	}
	if err := b.guard.Attach(t.Context(), first.ID, "conf-1"); err != nil {
		t.Fatal(err)
	}
	if out := b.answer(true); out.Accepted || out.Reason != safety.CodeSuperseded || !strings.Contains(out.Approval.Ended(), "only the later request counts") {
		t.Errorf("an answer to the first request: %+v", out)
	}
}

// TestSameCallRan asks for a call that was let run before.
func TestSameCallRan(t *testing.T) {
	untold := do(func(b *bench) { b.held.Untold() })
	for name, tt := range map[string]struct {
		after      []step
		hint, ends string
	}{
		"permitted":                            {[]step{isPermitted}, "The same call began at 11:00 UTC.", "it is about to run; do not repeat it"},
		"executing":                            {[]step{runs}, "The same call began at 11:00 UTC.", "it began at 2026-01-19T11:00:13Z, and its end is not on record; do not repeat it"},
		"executed":                             {[]step{runs, ends(nil)}, "The same call ran at 11:00 UTC.", "it ran already, at 2026-01-19T11:00:13Z; do not repeat it"},
		"failed":                               {[]step{runs, ends(errors.New("503"))}, "The same call failed at 11:00 UTC.", "it was let run already, and failed at 2026-01-19T11:00:13Z"},
		"executed, and the agent was not told": {[]step{runs, untold, ends(nil)}, "The same call ran at 11:00 UTC; the agent was not told.", "it ran already, at 2026-01-19T11:00:13Z; do not repeat it"},
		"failed, and the agent was not told":   {[]step{runs, untold, ends(errors.New("503"))}, "The same call failed at 11:00 UTC; the agent was not told.", "it was let run already, and failed at 2026-01-19T11:00:13Z"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava).approved()
			for _, take := range tt.after {
				take(b)
			}
			if out := b.answer(true); out.Reason != safety.CodeAlreadyUsed || out.Approval.Ended() != tt.ends {
				t.Errorf("the same yes again: %s, %q", out.Reason, out.Approval.Ended())
			}
			_, _, err := b.permit()
			wantCode(t, err, safety.CodeAlreadyUsed, tt.ends)
			b.clock.Add(time.Hour)
			a, err := b.askAgain(2, laterTurn)
			if err != nil || a.Replaces != "" || !strings.Contains(a.Hint("buy"), tt.hint) {
				t.Errorf("replaces %q, hint %q, error %v", a.Replaces, a.Hint("buy"), err)
			}
			state, _, isUntold := strings.Cut(name, ",")
			again := b.request()
			again.CallID = "call-3"
			laterTurn(&again)
			if _, err := b.with(forgetful{b.ledger}).Ask(t.Context(), again); err == nil || !strings.Contains(err.Error(), "the history of") {
				t.Errorf("a ledger without a history: %v", err)
			}
			want := map[string]any{"state": state, "at": "2026-01-19T11:00:13Z"}
			if isUntold {
				want["untold"] = true
			}
			if diff := cmp.Diff(want, a.Shown()["same"]); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

// forgetful is a ledger without histories.
type forgetful struct{ safety.Ledger }

func (forgetful) History(context.Context, string) ([]safety.Step, error) { return nil, nil }

// TestToolChanged carries a call out by a tool with another declaration.
func TestToolChanged(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	e := b.execution()
	e.Declaration = "pallets"
	_, _, err := b.guard.Permit(t.Context(), e)
	wantCode(t, err, safety.CodeToolChanged, "is declared otherwise now")
	if b.state() != safety.StateApproved {
		t.Errorf("the approval is %s", b.state())
	}
	b.carriedOut()
}

// relisted is a ledger that lists something else for a call, once the request was stored.
type relisted struct {
	altered
	list func([]safety.Approval) ([]safety.Approval, error)
}

func (l relisted) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	found, err := l.altered.List(ctx, q)
	if err == nil && q.ArgsDigest != "" && len(found) > 1 {
		return l.list(found)
	}
	return found, err
}

// TestSupersedingFails asks again over ledgers that do not end the earlier request: nobody may be shown
// the later one.
func TestSupersedingFails(t *testing.T) {
	asIs := func(found []safety.Approval) ([]safety.Approval, error) { return found, nil }
	conflict := func(safety.Transition, func() (safety.Approval, error)) (safety.Approval, error) {
		return safety.Approval{}, safety.ErrConflict
	}
	broken := func(safety.Transition, func() (safety.Approval, error)) (safety.Approval, error) {
		return safety.Approval{}, errInjected
	}
	for name, tt := range map[string]struct {
		list       func([]safety.Approval) ([]safety.Approval, error)
		transition func(safety.Transition, func() (safety.Approval, error)) (safety.Approval, error)
		want       string // "" for none
	}{
		"nothing is listed":  {list: func([]safety.Approval) ([]safety.Approval, error) { return nil, errInjected }, want: errInjected.Error()},
		"it is not listed":   {list: func(found []safety.Approval) ([]safety.Approval, error) { return found[:1], nil }, want: "does not list the request"},
		"the change fails":   {list: asIs, transition: broken, want: errInjected.Error()},
		"it ended by itself": {list: asIs, transition: conflict},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			b.ask()
			b.guard = b.with(relisted{altered{Ledger: b.ledger, transition: tt.transition}, tt.list})
			r := b.request()
			r.CallID = "call-2"
			laterTurn(&r)
			a, err := b.guard.Ask(t.Context(), r)
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) || a.ID != "" {
				t.Errorf("approval %q, error %v", a.ID, err)
			}
		})
	}
}
