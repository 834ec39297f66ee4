// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Paths says how an approval gets to each state from pending.
func Paths() map[safety.ApprovalState][]safety.ApprovalState {
	return map[safety.ApprovalState][]safety.ApprovalState{
		safety.StatePending:    {},
		safety.StateApproved:   {safety.StateApproved},
		safety.StateRejected:   {safety.StateRejected},
		safety.StateExpired:    {safety.StateExpired},
		safety.StateBlocked:    {safety.StateBlocked},
		safety.StateSuperseded: {safety.StateApproved, safety.StateSuperseded},
		safety.StatePermitted:  {safety.StateApproved, safety.StatePermitted},
		safety.StateExecuting:  {safety.StateApproved, safety.StatePermitted, safety.StateExecuting},
		safety.StateExecuted:   {safety.StateApproved, safety.StatePermitted, safety.StateExecuting, safety.StateExecuted},
		safety.StateFailed:     {safety.StateApproved, safety.StatePermitted, safety.StateExecuting, safety.StateFailed},
	}
}

// Nonce is that of the permits of [Transition].
const Nonce = "0123456789abcdef"

// Transition returns one of an approval to a state, with everything that the state asks for.
func Transition(a safety.Approval, to safety.ApprovalState) safety.Transition {
	t := safety.Transition{ID: a.ID, From: []safety.ApprovalState{a.State}, To: to, At: a.RequestedAt.Add(time.Minute), Actor: "actor", Note: "note"}
	switch to {
	case safety.StateApproved:
		if a.State != safety.StateApproved {
			t.Set.Consent = safety.Consent{Who: "ana", Content: "content"}
		}
	case safety.StateRejected:
		t.Set.Approver = "ana"
	case safety.StatePermitted:
		t.Set.PermitNonce, t.Set.PermitRun, t.Set.PermitExpiresAt = Nonce, "run-p", a.RequestedAt.Add(2*time.Minute)
	case safety.StateExecuting:
		t.RequireNonce = Nonce
	}
	return t
}

// move takes an approval along a path and returns it as it is then.
func move(t *testing.T, l safety.Ledger, a safety.Approval, path ...safety.ApprovalState) safety.Approval {
	t.Helper()
	for _, to := range path {
		var err error
		if a, err = l.Transition(t.Context(), Transition(a, to)); err != nil {
			t.Fatalf("to %s: %v", to, err)
		}
	}
	return a
}

// kindOf returns the error of a ledger that err is, or err.
func kindOf(err error) error {
	for _, kind := range []error{safety.ErrNotFound, safety.ErrConflict, safety.ErrExpired} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return err
}

// changes make of a transition one that says, sets or asks for something else. Many of those are refused.
var changes = []func(*safety.Transition){
	func(tr *safety.Transition) { tr.At = time.Time{} },
	func(tr *safety.Transition) { tr.From = nil },
	func(tr *safety.Transition) { tr.From = []safety.ApprovalState{safety.StateExecuted} },
	func(tr *safety.Transition) { tr.RequireNonce = Nonce + "x" },
	func(tr *safety.Transition) { tr.RequireNonce = "" },
	func(tr *safety.Transition) { tr.Set.PermitNonce = "" },
	func(tr *safety.Transition) { tr.Set.PermitExpiresAt = time.Time{} },
	func(tr *safety.Transition) { tr.Set.Consent.Who = " \u200b" },
	func(tr *safety.Transition) { tr.NotAfter, tr.At = true, tr.At.Add(time.Hour) },
	func(tr *safety.Transition) { tr.PermitNotAfter, tr.At = true, tr.At.Add(time.Hour) },
	func(tr *safety.Transition) { tr.Set.Overridden, tr.Set.Change = true, "less" },
	func(tr *safety.Transition) { tr.Resolved, tr.Actor = true, "" },
	func(tr *safety.Transition) { // the second step is refused, and so is the first
		first := *tr
		tr.First, tr.From = &first, []safety.ApprovalState{safety.StateExecuted}
	},
	// What follows is not refused where the state allows it.
	func(tr *safety.Transition) { tr.Set.Consent.Who = "bob" },
	func(tr *safety.Transition) {
		tr.Set.Verdict, tr.Set.Report, tr.Check = "safe", []byte(`{"v":1}`), "check"
	},
	func(tr *safety.Transition) { tr.Authenticated, tr.Run, tr.Note = true, "run", "" },
	func(tr *safety.Transition) { tr.Set.Change, tr.Actor = "less", "" },
	func(tr *safety.Transition) { tr.Resolved = true },
	func(tr *safety.Transition) {
		tr.At = tr.At.Add(789 * time.Nanosecond).In(time.FixedZone("east", 3600))
		tr.Set.PermitExpiresAt = tr.At
	},
	func(tr *safety.Transition) { tr.From = append(tr.From, safety.StatePending, safety.StateApproved) },
	func(tr *safety.Transition) {
		tr.Set.Consent = safety.Consent{Who: "eva", Override: "down", Unchecked: []string{"Product a", "Product b"}}
	},
	func(tr *safety.Transition) {
		tr.Set.Costs = []safety.LimitCost{{Limit: "Budget:text:b left", Left: entity.Set("x"), Cost: entity.Text("9")}, {Limit: "other"}}
	},
	func(tr *safety.Transition) {
		first := *tr
		first.To, first.Note, first.Set.Verdict, tr.First = safety.StatePending, "first", "drift", &first
	},
	func(tr *safety.Transition) {
		first := *tr
		first.To, first.Set = safety.StateApproved, safety.Update{Consent: safety.Consent{Who: "kim", Override: "down"}}
		tr.First, tr.From, tr.Set.Overridden = &first, []safety.ApprovalState{safety.StateApproved}, tr.To == safety.StatePermitted
	},
}

// testTransitions makes every change of a transition from every state to each that can follow. The store has to do
// what [safety.Transition.Apply] says.
func testTransitions(t *testing.T, a, b store.Store) {
	paths, n := Paths(), 0
	for _, from := range slices.Sorted(maps.Keys(paths)) {
		for _, to := range slices.Sorted(maps.Keys(paths)) {
			if n++; !from.CanBecome(to) && n%4 > 0 {
				continue
			}
			asked := Pending(n)
			asked.Approvers = 1 + n%3
			life := life{t: t, Approval: create(t, a.Ledger(), asked), steps: []safety.Step{asked.FirstStep()}}
			for _, next := range paths[from] {
				for life.State != next && !t.Failed() {
					tr := Transition(life.Approval, next)
					if next == safety.StateApproved {
						tr.Set.Consent = safety.Consent{Who: fmt.Sprint("person ", len(life.Consents)), Override: []string{"", "down"}[n%2]}
					}
					life.change(a.Ledger(), tr)
				}
			}
			for i, change := range append(changes, func(*safety.Transition) {}) {
				tr := Transition(life.Approval, to)
				change(&tr)
				life.change([]store.Store{a, b}[i%2].Ledger(), tr)
			}
			life.check(b.Ledger())
		}
	}
}

// life is what an approval has become, as Apply says.
type life struct {
	t *testing.T
	safety.Approval
	steps []safety.Step
}

// change changes the approval in a ledger, which has to do the same.
func (l *life) change(by safety.Ledger, tr safety.Transition) {
	l.t.Helper()
	want, steps, refusal := tr.Apply(l.Approval)
	got, err := by.Transition(l.t.Context(), tr)
	if kindOf(err) != kindOf(refusal) {
		l.t.Errorf("%s to %+v: error %v, want %v", l.State, tr, err, refusal)
	}
	if refusal == nil {
		returned(l.t, "Transition", want, got)
		l.Approval, l.steps = want, append(l.steps, steps...)
	}
}

// check compares the approval and its history with what a ledger has.
func (l *life) check(by safety.Ledger) {
	l.t.Helper()
	got, err := safety.Get(l.t.Context(), by, l.ID)
	wantSame(l.t, "Get", err, l.Approval, got)
	history, err := by.History(l.t.Context(), l.ID)
	wantSame(l.t, "the history", err, l.steps, history)
}
