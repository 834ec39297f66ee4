// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// A request of a turn that is done again replaces the one whose turn it is, with any arguments. A second one of the
// turn replaces nothing, also if it is as fast.
func TestRedoneTurn(t *testing.T) {
	b := newBench(t, nil, strava)
	first := b.blocked("$52,000")
	b.know("$52,000", true)
	again := func(n int, args map[string]any) (safety.Approval, error) {
		t.Helper()
		return b.askAgain(n, func(r *safety.Request) {
			r.InvocationID, r.Redoes, r.Args = "inv-2", first.ID, args
			r.Redact = func(args []byte) []byte { return args }
		})
	}
	other := b.guard
	b.guard = b.with(slower{b.ledger, new(bool)})
	r := b.request()
	r.CallID, r.InvocationID, r.Redoes = "call-0", "inv-2", first.ID
	if a, err := b.guard.Ask(t.Context(), r); err != nil || a.Replaces != "" {
		t.Errorf("a call that is slower replaces %q, %v; want none", a.Replaces, err)
	}
	b.guard = other
	a, err := again(2, map[string]any{"campaign": "summer", "total": 122000.0})
	if err != nil || a.Replaces != first.ID || !strings.Contains(string(a.Difference.Args), "200000") {
		t.Fatalf("it replaces %q and shows %s, %v; want %q with the arguments of that", a.Replaces, a.Difference.Args, err, first.ID)
	}
	if a, err := again(3, map[string]any{"campaign": "autumn"}); err != nil || a.Replaces != "" {
		t.Errorf("a second call replaces %q, %v; want none", a.Replaces, err)
	}
}

// slower is a ledger in which another process was faster once.
type slower struct {
	safety.Ledger
	once *bool
}

func (l slower) Create(ctx context.Context, a safety.Approval) error {
	if !*l.once {
		*l.once = true
		return safety.ErrConflict
	}
	return l.Ledger.Create(ctx, a)
}

// A refusal says how its turn is done again where that is possible.
func TestRefusalOffersARedo(t *testing.T) {
	for _, redo := range []bool{false, true} {
		m := (&safety.Refusal{Code: safety.CodeDrift, ApprovalID: "a1", Redo: redo}).Map()
		if next, _ := m["next"].(string); strings.Contains(next, "contextgraph redo a1") != redo {
			t.Errorf("redo %t: %s", redo, next)
		}
	}
}

// A request that nobody has to answer any more ends. One that has come to something else stays as it is.
func TestWithdraw(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	for range 2 {
		if err := b.guard.Withdraw(t.Context(), nike, "conf-1"); err != nil || b.state() != safety.StateSuperseded {
			t.Errorf("%v, left %s", err, b.state())
		}
	}
	if out := b.answer(true); out.Accepted {
		t.Error("an answer to a withdrawn request was accepted")
	}
	if err := b.guard.Withdraw(t.Context(), nike, "of no request"); err != nil {
		t.Errorf("an unknown confirmation: %v", err)
	}
	b = newBench(t, nil, strava).approved()
	runs(b)
	if err := b.guard.Withdraw(t.Context(), nike, "conf-1"); err != nil || b.state() != safety.StateExecuting {
		t.Errorf("a call that runs: %v, left %s", err, b.state())
	}
	b = newBench(t, nil, strava)
	b.ask()
	down := errors.New("the disk is full")
	b.guard = b.with(altered{Ledger: b.ledger, transition: func(safety.Transition, func() (safety.Approval, error)) (safety.Approval, error) {
		return safety.Approval{}, down
	}})
	if err := b.guard.Withdraw(t.Context(), nike, "conf-1"); !errors.Is(err, down) {
		t.Errorf("a ledger that fails: %v", err)
	}
	if err := (*safety.Guard)(nil).Withdraw(t.Context(), nike, "conf-1"); err == nil {
		t.Error("no error without a guard")
	}
}
