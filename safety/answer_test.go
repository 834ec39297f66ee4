// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// wantOutcome checks that an answer was not accepted, and in which state it left the
// approval.
func (b *bench) wantOutcome(out safety.Outcome, reason string, state safety.ApprovalState) {
	b.t.Helper()
	if out.Accepted || out.Reason != reason || b.state() != state {
		b.t.Errorf("accepted %t, reason %q, state %s; want reason %q, state %s", out.Accepted, out.Reason, b.state(), reason, state)
	}
	if state != safety.StateApproved {
		if p, _, err := b.permit(); p != nil || err == nil {
			b.t.Errorf("a permit was given in state %s", state)
		}
	}
}

func TestAnswerOfNobodysRequest(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	for name, ans := range map[string]safety.Answer{
		"unknown confirmation": {Session: nike, ConfirmationID: "conf-2", Confirmed: true},
		"no confirmation":      {Session: nike, Confirmed: true},
		"no session":           {ConfirmationID: "conf-1", Confirmed: true},
		"another app":          {Session: safety.Session{App: "x", User: nike.User, ID: nike.ID}, ConfirmationID: "conf-1", Confirmed: true},
		"another user":         {Session: safety.Session{App: nike.App, User: "bob", ID: nike.ID}, ConfirmationID: "conf-1", Confirmed: true},
		"another session":      {Session: safety.Session{App: nike.App, User: nike.User, ID: "x"}, ConfirmationID: "conf-1", Confirmed: true},
		"the approval's id":    {Session: nike, ConfirmationID: b.approval.ID, Confirmed: true},
	} {
		out, err := b.guard.Answer(t.Context(), ans)
		if err != nil || out.Approval.ID != "" {
			t.Errorf("%s: approval %q, error %v", name, out.Approval.ID, err)
		}
		b.wantOutcome(out, safety.CodeUnknownRequest, safety.StatePending)
	}
}

func TestReject(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	out := b.answer(false)
	b.wantOutcome(out, safety.CodeRejected, safety.StateRejected)
	if out.Approval.Approver != "ana" || out.Report.ID() != "" || b.world.calls != 0 {
		t.Errorf("rejected by %q with report %q after %d checks", out.Approval.Approver, out.Report.ID(), b.world.calls)
	}
	b.wantOutcome(b.answer(true), safety.CodeRejected, safety.StateRejected) // reject, then approve
	b.wantOutcome(b.answer(false), safety.CodeRejected, safety.StateRejected)
	_, _, err := b.permit()
	wantRefusal(t, err, safety.CodeRejected)
}

func TestApproveAgain(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	calls := b.world.calls
	out := b.answer(true)
	if !out.Accepted || out.Reason != "" || out.Report.ID() != "" || b.world.calls != calls {
		t.Errorf("the same answer again: %+v after %d more checks", out, b.world.calls-calls)
	}
	if _, _, err := b.permit(); err != nil {
		t.Fatal(err)
	}
	b.wantOutcome(b.answer(true), safety.CodeAlreadyUsed, safety.StatePermitted)
	b.wantOutcome(b.answer(false), safety.CodeAlreadyUsed, safety.StatePermitted)
}

// Whoever approved may take it back until it was used.
func TestRejectAfterApproval(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.wantOutcome(b.answer(false), safety.CodeRejected, safety.StateRejected)
	b.wantOutcome(b.answer(true), safety.CodeRejected, safety.StateRejected)
}

func TestAnswerAfterDrift(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.world.put(strava, "price", usd("$52,000"))
	out := b.answer(true)
	wantDrift(t, out.Report, safety.PriceChanged)
	if out.Approval.Verdict != "drift" || len(out.Approval.Report) == 0 || out.Approval.Approver != "" {
		t.Errorf("stored %q by %q, %s", out.Approval.Verdict, out.Approval.Approver, out.Approval.Report)
	}
	b.wantOutcome(out, safety.CodeDrift, safety.StateBlocked)
	b.world.put(strava, "price", usd("$40,000")) // back to what it was: blocked all the same
	b.wantOutcome(b.answer(true), safety.CodeBlocked, safety.StateBlocked)
	_, _, err := b.permit()
	wantRefusal(t, err, safety.CodeBlocked)
}

func TestAnswerAtExpiry(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.clock.Add(7 * 24 * time.Hour)
	if out := b.answer(true); !out.Accepted {
		t.Errorf("at the last moment: %s", out.Reason)
	}
	b = newBench(t, nil, strava)
	b.ask()
	b.clock.Add(7*24*time.Hour + 1)
	b.wantOutcome(b.answer(true), safety.CodeExpired, safety.StateExpired)
	b.wantOutcome(b.answer(true), safety.CodeExpired, safety.StateExpired)
	if b.world.calls != 0 {
		t.Errorf("%d checks of an expired request", b.world.calls)
	}
}

func TestAuthorizerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			realTime(cfg)
			cfg.Authorizer = safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) {
				time.Sleep(time.Hour)
				return "boss", nil
			})
		}, seenNow(strava)...)
		b.ask()
		begun := time.Now()
		out := b.answer(true)
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the answer took %v, want 5s", took)
		}
		b.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
		time.Sleep(2 * time.Hour)
	})
}

// A rejection counts although the request was approved while it was looked at.
func TestRejectionDuringAnApproval(t *testing.T) {
	var b *bench
	b = newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Authorizer = safety.AuthorizerFunc(func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
			if !r.Confirmed && !b.answer(true).Accepted {
				b.t.Error("the approval was not accepted")
			}
			return "boss", nil
		})
	}, strava)
	b.ask()
	b.wantOutcome(b.answer(false), safety.CodeRejected, safety.StateRejected)
	_, _, err := b.permit()
	wantRefusal(t, err, safety.CodeRejected)
}

// The same answer of the same approver at the same time is one decision, however
// often it comes; that of somebody else is not.
func TestApprovalsRace(t *testing.T) {
	for name, test := range map[string]struct{ first, second, want string }{
		"the same approver": {"boss", "boss", ""},
		"somebody else":     {"boss", "other", safety.CodeNotPending},
	} {
		t.Run(name, func(t *testing.T) {
			var b *bench
			who, nested := test.second, false
			b = newBench(t, func(cfg *safety.GuardConfig) {
				good := cfg.Checkers["Product"]
				cfg.Authorizer = safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) { return who, nil })
				cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
					if !nested {
						nested, who = true, test.first
						if out := b.answer(true); !out.Accepted {
							t.Errorf("the first answer was refused: %s", out.Reason)
						}
					}
					return good.Check(ctx, e)
				})
			}, strava)
			b.ask()
			out := b.answer(true)
			if out.Accepted != (test.want == "") || out.Reason != test.want || out.Approval.State != safety.StateApproved {
				t.Errorf("accepted %v, reason %q, state %s; want reason %q", out.Accepted, out.Reason, out.Approval.State, test.want)
			}
		})
	}
}

// Who lost a race is told so only if it can be read who won.
func TestRaceThatCannotBeSettled(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	g := b.with(lying{
		Ledger:     b.ledger,
		transition: func(safety.Transition) error { return safety.ErrConflict },
		get:        func(string) error { return errInjected },
	})
	out, err := g.Answer(t.Context(), yes)
	if out.Accepted || out.Reason != safety.CodeStore || !errors.Is(err, errInjected) {
		t.Errorf("accepted %v, reason %q, error %v", out.Accepted, out.Reason, err)
	}
}

func TestAnswerWithoutClock(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	for name, times := range map[string][]time.Time{
		"at once":          {{}},
		"before the check": {epoch, {}},
	} {
		b.cfg.Now = clockOf(times...)
		g := b.made()
		out, err := g.Answer(t.Context(), safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		b.wantOutcome(out, safety.CodeClock, safety.StatePending)
	}
}

// A clock that was set back behind the request would lengthen its life.
func TestClockSetBack(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.clock.Add(-2 * time.Second) // within the allowance
	if out := b.answer(true); !out.Accepted {
		t.Errorf("two seconds back: %s\n%s", out.Reason, out.Report.Summary())
	}
	b = newBench(t, nil, strava)
	b.ask()
	b.clock.Add(-2*time.Second - 1)
	out := b.answer(true)
	wantFailure(t, out.Report, safety.ReasonClock)
	b.wantOutcome(out, safety.CodeCheckFailed, safety.StatePending)

	b = newBench(t, nil, strava)
	b.ask()
	b.clock.Add(time.Hour)
	b.answer(true)
	b.clock.Add(-time.Hour) // not before the request, but before its approval
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonClock)
}
