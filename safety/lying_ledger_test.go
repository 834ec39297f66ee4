// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// lying is a ledger that refuses what another one would do.
type lying struct {
	safety.Ledger
	transition func(safety.Transition) error
	get        func(id string) error
}

func (l lying) Get(ctx context.Context, id string) (safety.Approval, error) {
	if l.get != nil {
		if err := l.get(id); err != nil {
			return safety.Approval{}, err
		}
	}
	return l.Ledger.Get(ctx, id)
}

func (l lying) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	if l.transition != nil {
		if err := l.transition(t); err != nil {
			return safety.Approval{}, err
		}
	}
	return l.Ledger.Transition(ctx, t)
}

// with returns a guard over another ledger.
func (b *bench) with(l safety.Ledger) *safety.Guard {
	b.t.Helper()
	b.cfg.Ledger = l
	return b.made()
}

var yes = safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, RunID: "run-2"}

// moving is a ledger that says that it made something else of an approval.
type moving struct {
	safety.Ledger
	to safety.ApprovalState
}

func (l moving) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	a, err := l.Ledger.Transition(ctx, t)
	a.State = l.to
	return a, err
}

// A ledger that says it did something else than it was asked to did not do it.
func TestLyingTransition(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	out, err := b.with(moving{b.ledger, safety.StateExecuted}).Answer(t.Context(), yes)
	if err == nil || out.Accepted || out.Reason != safety.CodeStore {
		t.Errorf("accepted %t, reason %q, %v", out.Accepted, out.Reason, err)
	}
}

// A session without a name has no request to answer, whatever the ledger holds.
func TestAnswerInNamelessSession(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	a.ID, a.Session.User, a.ConfirmationID = "nameless", "", "conf-1"
	if err := b.ledger.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	out, err := b.guard.Answer(t.Context(), safety.Answer{Session: a.Session, ConfirmationID: "conf-1"})
	if err != nil || out.Reason != safety.CodeUnknownRequest || out.Approval.ID != "" {
		t.Errorf("%+v, %v", out, err)
	}
}

// That an approval has expired is told also where it cannot be recorded.
func TestExpiryThatIsNotRecorded(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"somebody was faster": {safety.ErrConflict, nil},
		"no store":            {errInjected, errInjected},
	} {
		b := newBench(t, nil, strava).approved()
		b.clock.Add(8 * 24 * time.Hour)
		g := b.with(lying{Ledger: b.ledger, transition: func(safety.Transition) error { return test.err }})
		out, err := g.Answer(t.Context(), yes)
		if out.Accepted || out.Reason != safety.CodeExpired || !errors.Is(err, test.want) {
			t.Errorf("%s: reason %q, error %v", name, out.Reason, err)
		}
		_, _, err = g.Permit(t.Context(), b.execution())
		wantRefusal(t, err, safety.CodeExpired)
		if errors.Is(err, errInjected) != (test.want != nil) {
			t.Errorf("%s: refusal %v", name, err)
		}
	}
}

// A report that cannot be written down permits nothing.
func TestReportThatCannotBeStored(t *testing.T) {
	far := time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) // no JSON time
	b := newBench(t, nil, thing("Product", "P", fine))
	b.clock.now = far
	b.ask()
	out, err := b.guard.Answer(t.Context(), yes)
	if err == nil {
		t.Error("no error")
	}
	b.wantOutcome(out, safety.CodeStore, safety.StatePending)
}

// unsure does what it is told, or does not, and says something else.
type unsure struct {
	safety.Ledger
	done bool
	say  func() (safety.Approval, error)
}

func (l unsure) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	if t.To != safety.StateExecuting {
		return l.Ledger.Transition(ctx, t)
	}
	if l.done {
		if _, err := l.Ledger.Transition(ctx, t); err != nil {
			return safety.Approval{}, err
		}
	}
	return l.say()
}

// What did not begin is in no doubt, whatever the ledger says about its beginning.
func TestConsumeWithUnsureLedger(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		say  func() (safety.Approval, error)
		want safety.ApprovalState
	}{
		"error":                     {safety.CodeStore, func() (safety.Approval, error) { return safety.Approval{}, errInjected }, safety.StateFailed},
		"another approval":          {safety.CodeStore, func() (safety.Approval, error) { return safety.Approval{}, nil }, safety.StateFailed},
		"panic":                     {safety.CodeInternal, func() (safety.Approval, error) { panic("boom") }, safety.StateFailed},
		"error, and it is not done": {safety.CodeStore, func() (safety.Approval, error) { return safety.Approval{}, errInjected }, safety.StatePermitted},
		"expired":                   {safety.CodeExpired, func() (safety.Approval, error) { return safety.Approval{}, safety.ErrExpired }, safety.StatePermitted},
		"panic, and it is not done": {safety.CodeInternal, func() (safety.Approval, error) { panic("boom") }, safety.StatePermitted},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava).approved()
			p, _, err := b.with(unsure{b.ledger, test.want == safety.StateFailed, test.say}).Permit(t.Context(), b.execution())
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
	g := b.with(lying{Ledger: b.ledger, transition: func(tr safety.Transition) error {
		seen[tr.To] = tr
		return nil
	}})
	if _, err := g.Answer(t.Context(), yes); err != nil {
		t.Fatal(err)
	}
	p, _, err := g.Permit(t.Context(), b.execution())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	if err := p.Done(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	nonce := seen[safety.StatePermitted].Set.PermitNonce
	for to, want := range map[safety.ApprovalState]struct {
		from                     safety.ApprovalState
		notAfter, permitNotAfter bool
		nonce                    string
	}{
		safety.StateApproved:  {from: safety.StatePending, notAfter: true},
		safety.StatePermitted: {from: safety.StateApproved, notAfter: true},
		safety.StateExecuting: {from: safety.StatePermitted, notAfter: true, permitNotAfter: true, nonce: nonce},
		safety.StateExecuted:  {from: safety.StateExecuting, nonce: nonce},
	} {
		tr := seen[to]
		if len(tr.From) != 1 || tr.From[0] != want.from || tr.NotAfter != want.notAfter || tr.PermitNotAfter != want.permitNotAfter || tr.RequireNonce != want.nonce || !tr.At.Equal(epoch) {
			t.Errorf("to %s: %+v, want %+v", to, tr, want)
		}
	}
}

func TestWatchingWithoutClock(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	b.clock.now = time.Time{}
	if r, err := b.guard.Check(t.Context(), nike); err == nil || r.IsSafeToApprove() {
		t.Errorf("Check of an approval: %v", err)
	}
	if r, err := b.guard.Observe(t.Context(), nike, a.ID); err == nil || r.IsSafeToApprove() {
		t.Errorf("Observe: %v", err)
	}
	if r, err := b.guard.Check(t.Context(), safety.Session{App: "a", User: "b", ID: "c"}); err == nil || r.IsSafeToApprove() {
		t.Errorf("Check of a session: %v", err)
	}
	if r, err := b.with(brokenLedger{b.ledger}).Check(t.Context(), nike); err == nil || r.IsSafeToApprove() {
		t.Errorf("Check without a ledger: %v", err)
	}
	if len(b.reports) != 0 {
		t.Errorf("%d reports", len(b.reports))
	}
}

// A report that somebody panics over permits nothing.
func TestPanickingOnReport(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.OnReport = func(safety.Report, safety.Stage) { panic("boom") }
	}, strava)
	if r, err := b.guard.Check(t.Context(), nike); err == nil || r.ID() != "" {
		t.Errorf("Check: %v", err)
	}
	a := b.ask()
	if r, err := b.guard.Observe(t.Context(), nike, a.ID); err == nil || r.ID() != "" {
		t.Errorf("Observe: %v", err)
	}
	out, err := b.guard.Answer(t.Context(), yes)
	if err == nil {
		t.Error("Answer: no error")
	}
	b.wantOutcome(out, safety.CodeInternal, safety.StatePending)
	b.approvedAnywayNow()
	p, _, err := b.permit()
	wantRefusal(t, err, safety.CodeInternal)
	if p != nil || b.state() != safety.StateApproved {
		t.Errorf("permit %v, state %s", p, b.state())
	}
}

// approvedAnywayNow approves the pending request in the ledger.
func (b *bench) approvedAnywayNow() {
	b.t.Helper()
	if _, err := b.ledger.Transition(b.t.Context(), safety.Transition{
		ID: b.approval.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateApproved, At: epoch, Set: safety.Update{Consent: safety.Consent{Who: "ana"}},
	}); err != nil {
		b.t.Fatal(err)
	}
}
