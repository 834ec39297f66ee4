// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestOverride(t *testing.T) {
	p := newPeople(t, 1, strava, budget)
	p.down[strava.Value] = down
	p.wantOutcome(p.approves("eva"), safety.CodeCheckFailed, safety.StatePending)
	out := p.overrides("eva")
	p.wantOutcome(out, safety.CodeCheckFailed, safety.StatePending)
	if out.Detail != "eva overrides the check, and it takes another person with that right" {
		t.Errorf("detail %q", out.Detail)
	}
	p.wantOutcome(p.overrides("Eva"), safety.CodeCheckFailed, safety.StatePending)
	if out = p.overrides("tom"); !out.Accepted || out.Approval.State != safety.StateApproved || out.Report.Verdict() != safety.CheckFailed {
		t.Fatalf("%+v", out)
	}
	want := []safety.Consent{
		{Who: "Eva", At: epoch, Override: "the shop confirmed by phone", Unchecked: []string{"Product Strava Sponsored Routes"}},
		{Who: "tom", At: epoch, Override: "the shop confirmed by phone", Unchecked: []string{"Product Strava Sponsored Routes"}},
	}
	if diff := cmp.Diff(want, out.Approval.Consents); diff != "" {
		t.Errorf("consents (-want +got):\n%s", diff)
	}
	permit, err := p.runs()
	if err != nil || !permit.Overridden() {
		t.Fatalf("error %v, overridden %t", err, permit.Overridden())
	}
	if _, err := p.runs(); err == nil {
		t.Error("it runs twice")
	}
	a, err := p.ledger.Get(t.Context(), p.approval.ID)
	if err != nil || !a.Overridden || a.Verdict != "check_failed" {
		t.Errorf("overridden %t, verdict %q, error %v", a.Overridden, a.Verdict, err)
	}
	steps, err := p.ledger.History(t.Context(), p.approval.ID)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, s := range steps {
		if s.Override {
			said = append(said, s.Note)
		}
	}
	wantNotes := []string{
		`approved although sources are down ("the shop confirmed by phone") in run run of eva`, `approved although sources are down ("the shop confirmed by phone") in run run of Eva`,
		`approved although sources are down ("the shop confirmed by phone") in run run of tom`, "sources are down; runs on the word of Eva, tom",
	}
	if diff := cmp.Diff(wantNotes, said); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// What is wrong besides a source that is down cannot be overridden.
func TestOverrideOfMore(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil  func(*people)
		reason string
	}{
		"drift elsewhere":   {func(p *people) { p.world.put(yahoo, "price", usd("$95,000")) }, safety.CodeDrift},
		"drift of the same": {func(p *people) { p.down = nil; p.world.put(strava, "price", usd("$52,000")) }, safety.CodeDrift},
		"an error":          {func(p *people) { p.down[yahoo.Value] = errors.New("status 404") }, safety.CodeCheckFailed},
		"no answer": {func(p *people) {
			p.down[yahoo.Value] = &safety.AnswerError{Reason: safety.ReasonEmptyAnswer, Err: errors.New("gone")}
		}, safety.CodeCheckFailed},
		"a missing attribute": {func(p *people) { p.world.states[yahoo.Key] = safety.State{Attributes: values{"price": usd("$90,000")}} }, safety.CodeCheckFailed},
		"a gap":               {func(p *people) { p.record.snap.Gaps = []string{"a gap"} }, safety.CodeCheckFailed},
		"no evidence":         {func(p *people) { p.record.err = errors.New("disk") }, safety.CodeCheckFailed},
		"not seen": {func(p *people) {
			p.record.snap.Entities = append(p.record.snap.Entities, thing("Ship", "Nautilus", nil))
		}, safety.CodeCheckFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeople(t, 1, strava, yahoo)
			p.down[strava.Value] = down
			tt.spoil(p)
			if out := p.overrides("eva"); out.Reason != tt.reason || len(out.Approval.Consents) != 0 {
				t.Errorf("eva: %q with %v\n%s", out.Reason, out.Approval.Consents, out.Report.Summary())
			}
			p.overrides("tom")
			if _, err := p.runs(); err == nil {
				t.Error("it runs")
			}
		})
	}
}

// A source that is down for a call is not overridden for what else is down when it runs.
func TestOverrideCovers(t *testing.T) {
	for name, tt := range map[string]struct {
		later func(*people)
		code  string // "" if it runs
	}{
		"the same is down":        {func(*people) {}, ""},
		"it is back":              {func(p *people) { p.down = nil }, ""},
		"it is back, and changed": {func(p *people) { p.down = nil; p.world.put(strava, "price", usd("$52,000")) }, safety.CodeDrift},
		"another is down too":     {func(p *people) { p.down[yahoo.Value] = down }, safety.CodeCheckFailed},
		"another is down instead": {func(p *people) { p.down = map[string]error{yahoo.Value: down} }, safety.CodeCheckFailed},
		"it fails otherwise":      {func(p *people) { p.down[strava.Value] = errors.New("status 404") }, safety.CodeCheckFailed},
		"the record has a gap":    {func(p *people) { p.record.snap.Gaps = []string{"a gap"} }, safety.CodeCheckFailed},
		"another policy": {func(p *people) {
			p.cfg.Policy.Approvals = nil
			p.guard, _ = safety.NewGuard(p.cfg)
		}, safety.CodeCheckFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeople(t, 1, strava, yahoo)
			p.down[strava.Value] = down
			p.overrides("eva")
			if out := p.overrides("tom"); !out.Accepted {
				t.Fatalf("%+v", out)
			}
			tt.later(p)
			permit, err := p.runs()
			refusal, _ := errors.AsType[*safety.Refusal](err)
			switch {
			case tt.code != "" && (refusal == nil || refusal.Code != tt.code):
				t.Errorf("error %v, want %s", err, tt.code)
			case tt.code == "" && (err != nil || permit.Overridden() != (p.down != nil)):
				t.Errorf("error %v, overridden %t", err, permit.Overridden())
			}
		})
	}
}

// An approval after a safe check can be overridden when its source is down later.
func TestOverrideOfAnApproval(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.approves("ann")
	p.down[strava.Value] = down
	if _, err := p.runs(); err == nil {
		t.Fatal("it runs")
	}
	p.wantOutcome(p.overrides("eva"), safety.CodeCheckFailed, safety.StateApproved)
	if _, err := p.runs(); err == nil {
		t.Fatal("it runs on the word of one")
	}
	if out := p.overrides("tom"); !out.Accepted || out.Approval.Approver != "ann" {
		t.Fatalf("%+v", out)
	}
	if permit, err := p.runs(); err != nil || !permit.Overridden() {
		t.Errorf("error %v", err)
	}
}

// The number of people who have to approve stays when they override.
func TestOverrideOfThree(t *testing.T) {
	p := newPeople(t, 3, strava)
	p.wantOutcome(p.approves("max"), safety.CodeMoreApprovers, safety.StatePending)
	p.down[strava.Value] = down
	p.wantOutcome(p.overrides("eva"), safety.CodeCheckFailed, safety.StatePending)
	if out := p.overrides("tom"); !out.Accepted {
		t.Errorf("%+v", out)
	}
	p = newPeople(t, 3, strava)
	p.down[strava.Value] = down
	p.overrides("eva")
	out := p.overrides("tom")
	p.wantOutcome(out, safety.CodeMoreApprovers, safety.StatePending)
	if out.Detail != "eva, tom approved; 2 of 3 people have" {
		t.Errorf("detail %q", out.Detail)
	}
	p.down = nil
	if out := p.approves("max"); !out.Accepted {
		t.Errorf("%+v", out)
	}
}

// An answer that would override, after a safe check, only approves.
func TestOverrideOfSafe(t *testing.T) {
	p := newPeople(t, 1, strava)
	out := p.overrides("eva")
	if !out.Accepted || out.Approval.Consents[0].Override != "" {
		t.Fatalf("%+v", out)
	}
	if out := p.overrides("tom"); !out.Accepted || len(out.Approval.Consents) != 2 {
		t.Errorf("another: %+v", out)
	}
	p.down[strava.Value] = down
	if _, err := p.runs(); err == nil {
		t.Error("it runs")
	}
}

func TestOverrideRight(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.down[strava.Value] = down
	out := p.overrides("max")
	p.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
	if !strings.Contains(out.Detail, "no right to override") || out.Report.ID() != "" {
		t.Errorf("detail %q", out.Detail)
	}
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Approvals = []safety.ApprovalRule{{Tool: "*", Override: []string{"ana", "eva"}}}
	}, strava)
	b.ask()
	unknown, err := b.guard.Answer(t.Context(), safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, Override: "down"})
	if err != nil || unknown.Reason != safety.CodeNotAuthorized {
		t.Errorf("somebody unknown: %+v, %v", unknown, err)
	}
}

// A budget that cannot be evaluated because a price cannot be read belongs to what is overridden.
func TestOverrideOfBudget(t *testing.T) {
	for name, failure := range map[string]error{"down": down, "wrong": errors.New("status 404")} {
		t.Run(name, func(t *testing.T) {
			product := bought("Product", "Strava", values{"price": usd("$40,000")}, values{})
			p := newPeople(t, 1, product, budget)
			p.cfg.Policy.Budgets = []safety.BudgetRule{{CostType: "Product", CostAttribute: "price", LimitType: "Budget", LimitAttribute: "amount", Severity: 1}}
			p.guard = p.made()
			r := p.request()
			r.CallID = "call-2"
			a, err := p.guard.Ask(as(t, "bob"), r)
			if err == nil {
				err = p.guard.Attach(t.Context(), a.ID, "conf-2")
			}
			if err != nil {
				t.Fatal(err)
			}
			p.down[product.Value] = failure
			answer := func(who string) safety.Outcome {
				out, err := p.guard.Answer(as(t, who), safety.Answer{Session: nike, ConfirmationID: "conf-2", Confirmed: true, Override: "by phone"})
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			first := answer("eva")
			want := slices.Contains(reasons(first.Report), safety.ReasonPolicy)
			if want != (failure != error(down)) || len(first.Report.Failures()) != 2 {
				t.Errorf("failures %v", first.Report.Failures())
			}
			if out := answer("tom"); out.Accepted != (failure == error(down)) {
				t.Errorf("%+v\n%s", out, out.Report.Summary())
			}
		})
	}
}

// An override that comes too late, or second, approves nothing.
func TestOverrideTooLate(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.down[strava.Value] = down
	p.overrides("eva")
	late := p.cfg.Checkers["Product"]
	p.cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		p.clock.Add(p.cfg.Policy.RequestLifetime + time.Microsecond)
		return late.Check(ctx, e)
	})
	p.guard = p.made()
	p.wantOutcome(p.overrides("tom"), safety.CodeExpired, safety.StatePending)
}

// lost is a ledger in which somebody else was first.
type lost struct {
	safety.Ledger
	won func(*safety.Approval)
}

func (lost) Transition(context.Context, safety.Transition) (safety.Approval, error) {
	return safety.Approval{}, safety.ErrConflict
}

func (l lost) Get(ctx context.Context, id string) (safety.Approval, error) {
	a, err := l.Ledger.Get(ctx, id)
	l.won(&a)
	return a, err
}

func TestOverrideLosesTheRace(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.down[strava.Value] = down
	p.cfg.Ledger = lost{p.ledger, func(a *safety.Approval) {
		a.State, a.Approver, a.Consents = safety.StateApproved, "eva", []safety.Consent{{Who: "eva"}}
	}}
	p.guard = p.made()
	if out := p.overrides("eva"); out.Accepted || out.Reason != safety.CodeNotPending {
		t.Errorf("an override: %+v", out)
	}
	p.down = nil
	if out := p.approves("eva"); !out.Accepted {
		t.Errorf("the same approval: %+v", out)
	}
	if out := p.approves("tom"); out.Accepted {
		t.Errorf("another: %+v", out)
	}
}
