// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// altered is a ledger that changes its answers, where it has a function for that.
type altered struct {
	safety.Ledger
	create, attach, list func() error
	// of an approval that was found
	get, last func(*safety.Approval) error
	// in place of a transition, which it may do
	transition func(t safety.Transition, do func() (safety.Approval, error)) (safety.Approval, error)
}

func (l altered) Create(ctx context.Context, a safety.Approval) error {
	if l.create != nil {
		return l.create()
	}
	return l.Ledger.Create(ctx, a)
}

func (l altered) Attach(ctx context.Context, id, confirmation string) error {
	if l.attach != nil {
		return l.attach()
	}
	return l.Ledger.Attach(ctx, id, confirmation)
}

func (l altered) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	var alter func(*safety.Approval) error
	switch {
	case q.ID != "":
		alter = l.get
	case q.Tool != "":
		alter = l.last
	case l.list != nil:
		return nil, l.list()
	}
	found, err := l.Ledger.List(ctx, q)
	for i := range found {
		if err == nil && alter != nil {
			err = alter(&found[i])
		}
	}
	return found, err
}

func (l altered) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	do := func() (safety.Approval, error) { return l.Ledger.Transition(ctx, t) }
	if l.transition != nil {
		return l.transition(t, do)
	}
	return do()
}

// with returns a guard over another ledger.
func (b *bench) with(l safety.Ledger) *safety.Guard {
	b.t.Helper()
	cfg := b.cfg
	cfg.Ledger = l
	g, err := safety.NewGuard(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}

var yes = safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, RunID: "run-2"}

// A ledger that says it did something else than it was asked to did not do it.
func TestLyingTransition(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	g := b.with(altered{Ledger: b.ledger, transition: func(_ safety.Transition, do func() (safety.Approval, error)) (safety.Approval, error) {
		a, err := do()
		a.State = safety.StateExecuted
		return a, err
	}})
	out, err := g.Answer(t.Context(), yes)
	if err == nil || out.Accepted || out.Reason != safety.CodeStore {
		t.Errorf("accepted %t, reason %q, %v", out.Accepted, out.Reason, err)
	}
}

// A ledger that lies about who approved lets nothing run.
func TestLyingLedgerOfConsents(t *testing.T) {
	b := newBench(t, approvers(2), strava)
	b.asker = "bob"
	b.ask()
	b.says("eva", safety.Answer{Confirmed: true})
	b.says("tom", safety.Answer{Confirmed: true})
	for n := range 2 {
		g := b.with(altered{Ledger: b.ledger, get: func(a *safety.Approval) error {
			a.Consents = a.Consents[:n]
			return nil
		}})
		_, _, err := g.Permit(t.Context(), b.execution())
		wantRefusal(t, err, safety.CodeStore)
	}
}

// That an approval has expired is told also where it cannot be recorded.
func TestExpiryThatIsNotRecorded(t *testing.T) {
	for said, want := range map[error]error{safety.ErrConflict: nil, errInjected: errInjected} {
		b := newBench(t, nil, strava).approved()
		b.clock.Add(8 * 24 * time.Hour)
		g := b.with(altered{Ledger: b.ledger, transition: func(safety.Transition, func() (safety.Approval, error)) (safety.Approval, error) {
			return safety.Approval{}, said
		}})
		out, err := g.Answer(t.Context(), yes)
		if out.Accepted || out.Reason != safety.CodeExpired || !errors.Is(err, want) {
			t.Errorf("%v: reason %q, error %v", said, out.Reason, err)
		}
		_, _, err = g.Permit(t.Context(), b.execution())
		wantRefusal(t, err, safety.CodeExpired)
		if errors.Is(err, errInjected) != (want != nil) {
			t.Errorf("%v: refusal %v", said, err)
		}
	}
}

// A report that cannot be written down permits nothing.
func TestReportThatCannotBeStored(t *testing.T) {
	b := newBench(t, nil, thing("Product", "P", fine))
	b.clock.now = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) // no JSON time
	b.ask()
	out, err := b.guard.Answer(t.Context(), yes)
	if err == nil {
		t.Error("no error")
	}
	b.wantOutcome(out, safety.CodeStore, safety.StatePending)
}

// What did not begin is in no doubt, whatever the ledger says about its beginning.
func TestConsumeWithUnsureLedger(t *testing.T) {
	says := func(err error) func() (safety.Approval, error) {
		return func() (safety.Approval, error) { return safety.Approval{}, err }
	}
	panics := func() (safety.Approval, error) { panic("boom") }
	for name, test := range map[string]struct {
		code string
		say  func() (safety.Approval, error)
		want safety.ApprovalState // failed if the ledger does what it is told
	}{
		"error":                     {safety.CodeStore, says(errInjected), safety.StateFailed},
		"another approval":          {safety.CodeStore, says(nil), safety.StateFailed},
		"panic":                     {safety.CodeInternal, panics, safety.StateFailed},
		"error, and it is not done": {safety.CodeStore, says(errInjected), safety.StatePermitted},
		"expired":                   {safety.CodeExpired, says(safety.ErrExpired), safety.StatePermitted},
		"panic, and it is not done": {safety.CodeInternal, panics, safety.StatePermitted},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava).approved()
			g := b.with(altered{Ledger: b.ledger, transition: func(tr safety.Transition, do func() (safety.Approval, error)) (safety.Approval, error) {
				if tr.To != safety.StateExecuting {
					return do()
				}
				if test.want == safety.StateFailed {
					if a, err := do(); err != nil {
						return a, err
					}
				}
				return test.say()
			}})
			p, _, err := g.Permit(t.Context(), b.execution())
			if err != nil {
				t.Fatal(err)
			}
			wantRefusal(t, p.Consume(t.Context(), b.args), test.code)
			if b.state() != test.want {
				t.Errorf("state %s, want %s", b.state(), test.want)
			}
			if err := p.Done(t.Context(), nil); err == nil {
				t.Error("the end of what never began was recorded")
			}
		})
	}
}

// The ledger is told every condition, so that it holds between processes as well.
func TestTransitionsNameTheirConditions(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	seen := map[safety.ApprovalState]safety.Transition{}
	b.guard = b.with(altered{Ledger: b.ledger, transition: func(tr safety.Transition, do func() (safety.Approval, error)) (safety.Approval, error) {
		seen[tr.To] = tr
		return do()
	}})
	b.answer(true)
	b.carriedOut()
	nonce := seen[safety.StatePermitted].Set.PermitNonce
	for to, want := range map[safety.ApprovalState]safety.Transition{
		safety.StateApproved:  {From: []safety.ApprovalState{safety.StatePending}, NotAfter: true},
		safety.StatePermitted: {From: []safety.ApprovalState{safety.StateApproved}, NotAfter: true},
		safety.StateExecuting: {From: []safety.ApprovalState{safety.StatePermitted}, NotAfter: true, PermitNotAfter: true, RequireNonce: nonce},
		safety.StateExecuted:  {From: []safety.ApprovalState{safety.StateExecuting}, RequireNonce: nonce},
	} {
		tr := seen[to]
		got := safety.Transition{From: tr.From, NotAfter: tr.NotAfter, PermitNotAfter: tr.PermitNotAfter, RequireNonce: tr.RequireNonce}
		if diff := cmp.Diff(want, got); diff != "" || !tr.At.Equal(epoch) {
			t.Errorf("to %s at %v (-want +got):\n%s", to, tr.At, diff)
		}
	}
}

// approvedAnyway approves the pending request in the ledger.
func (b *bench) approvedAnyway() {
	b.t.Helper()
	if _, err := b.ledger.Transition(b.t.Context(), safety.Transition{
		ID: b.approval.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateApproved, At: epoch, Set: safety.Update{Consent: safety.Consent{Who: "ana"}},
	}); err != nil {
		b.t.Fatal(err)
	}
}

// A confirmation may be attached again, and none to what has another. A call without an id or a confirmation never
// gets to the ledger. A conflict is none only if the ledger says that this approval has this confirmation.
func TestAttach(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	conflicts := 0
	conflict := func() error {
		conflicts++
		return safety.ErrConflict
	}
	finds := func(id, confirmation string, err error) func(*safety.Approval) error {
		return func(a *safety.Approval) error {
			a.ID, a.ConfirmationID = id, confirmation
			return err
		}
	}
	for name, test := range map[string]struct {
		id, confirmation string
		ledger           altered
		ok               bool
	}{
		"again":                  {a.ID, "conf-1", altered{}, true},
		"another":                {a.ID, "conf-2", altered{}, false},
		"an unknown approval":    {"x", "conf-3", altered{}, false},
		"no confirmation":        {a.ID, "", altered{attach: conflict}, false},
		"no approval":            {"", "conf-1", altered{attach: conflict}, false},
		"neither":                {"", "", altered{attach: conflict}, false},
		"found":                  {a.ID, "conf-1", altered{attach: func() error { return safety.ErrConflict }}, true},
		"found another":          {a.ID, "conf-1", altered{attach: func() error { return safety.ErrConflict }, get: finds("another", "conf-1", nil)}, false},
		"found with another":     {a.ID, "conf-1", altered{attach: func() error { return safety.ErrConflict }, get: finds(a.ID, "conf-2", nil)}, false},
		"found, beside an error": {a.ID, "conf-1", altered{attach: func() error { return safety.ErrConflict }, get: finds(a.ID, "conf-1", errInjected)}, false},
	} {
		test.ledger.Ledger = b.ledger
		if err := b.with(test.ledger).Attach(t.Context(), test.id, test.confirmation); (err == nil) != test.ok || conflicts > 0 {
			t.Errorf("%s: %v; the ledger was asked %d times", name, err, conflicts)
		}
	}
}

// Only a pending approval with an id is new.
func TestCheckNew(t *testing.T) {
	for name, test := range map[string]struct {
		a  safety.Approval
		ok bool
	}{
		"pending":       {safety.Approval{ID: "a", State: safety.StatePending}, true},
		"without an id": {safety.Approval{State: safety.StatePending}, false},
		"approved":      {safety.Approval{ID: "a", State: safety.StateApproved}, false},
	} {
		err := test.a.CheckNew()
		if (err == nil) != test.ok || !test.ok && !errors.Is(err, safety.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
