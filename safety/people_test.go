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

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// callerKey is the key of who calls, in a context.
type callerKey struct{}

// as is the context of somebody whom the host authenticated.
func as(t *testing.T, who string) context.Context {
	return context.WithValue(t.Context(), callerKey{}, who)
}

// known is the IdentityFunc of the tests.
func known(ctx context.Context) (string, error) {
	who, ok := ctx.Value(callerKey{}).(string)
	if !ok {
		return "", errors.New("no token")
	}
	return who, nil
}

var down = &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: errors.New("connection refused")}

// people is a bench with people who are known. The tool needs the approvers, and eva, tom and ann
// may override.
type people struct {
	*bench
	down map[string]error // of a checker, by the value of the entity
}

func newPeople(t *testing.T, approvers int, entities ...entity.Canonical) *people {
	p := &people{down: map[string]error{}}
	p.bench = newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Identity = known
		cfg.Policy.Approvals = []safety.ApprovalRule{{Tool: "provision_*", Approvers: approvers, Override: []string{"eva", "tom", "ann"}}}
		for typ, c := range cfg.Checkers {
			cfg.Checkers[typ] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
				if err := p.down[e.Value]; err != nil {
					return safety.State{}, err
				}
				return c.Check(ctx, e)
			})
		}
	}, entities...)
	a, err := p.guard.Ask(as(t, "bob"), p.request())
	if err == nil {
		err = p.guard.Attach(t.Context(), a.ID, "conf-1")
	}
	if err != nil {
		t.Fatal(err)
	}
	p.approval = a
	return p
}

// says lets somebody answer.
func (p *people) says(who string, ans safety.Answer) safety.Outcome {
	p.t.Helper()
	ans.Session, ans.ConfirmationID, ans.RunID = nike, "conf-1", "run of "+who
	out, err := p.guard.Answer(as(p.t, who), ans)
	if err != nil {
		p.t.Fatalf("Answer of %s: %v", who, err)
	}
	return out
}

func (p *people) approves(who string) safety.Outcome {
	p.t.Helper()
	return p.says(who, safety.Answer{Confirmed: true})
}

func (p *people) overrides(who string) safety.Outcome {
	p.t.Helper()
	return p.says(who, safety.Answer{Confirmed: true, Override: "the shop confirmed by phone"})
}

// runs gets a permit and consumes it.
func (p *people) runs() (*safety.Permit, error) {
	permit, _, err := p.permit()
	if err == nil {
		err = permit.Consume(p.t.Context(), p.args)
	}
	return permit, err
}

func TestTwoApprovers(t *testing.T) {
	p := newPeople(t, 2, strava)
	if got := p.approval.Hint("buy"); !strings.Contains(got, "Approvers needed: 2. Requester: bob.") {
		t.Errorf("hint %q", got)
	}
	if got := p.approval.Shown()["approvers"]; got != 2 {
		t.Errorf("shown %v", got)
	}
	out := p.approves("eva")
	p.wantOutcome(out, safety.CodeMoreApprovers, safety.StatePending)
	if out.Detail != "eva approved; 1 of 2 people have" || out.Approval.Approver != "" || !out.Approval.DecidedAt.IsZero() || out.Approval.Missing() != 1 {
		t.Errorf("%+v", out)
	}
	p.wantOutcome(p.approves("EVA"), safety.CodeMoreApprovers, safety.StatePending)
	if out := p.approves("bob"); out.Reason != safety.CodeNotAuthorized {
		t.Errorf("the requester: %+v", out)
	}
	if _, err := p.runs(); err == nil {
		t.Error("it runs after one of two")
	}
	p.clock.Add(time.Minute)
	out = p.approves("tom")
	if !out.Accepted || out.Approval.State != safety.StateApproved || out.Approval.Approver != "tom" {
		t.Fatalf("%+v", out)
	}
	want := []safety.Consent{{Who: "eva", At: epoch}, {Who: "tom", At: epoch.Add(time.Minute)}}
	if diff := cmp.Diff(want, out.Approval.Consents); diff != "" {
		t.Errorf("consents (-want +got):\n%s", diff)
	}
	for who, accepted := range map[string]bool{"eva": true, "Tom": true, "ann": false} {
		if out := p.approves(who); out.Accepted != accepted || !accepted && out.Reason != safety.CodeNotPending {
			t.Errorf("%s, after the approval: %+v", who, out)
		}
	}
	if permit, err := p.runs(); err != nil || permit.Overridden() {
		t.Errorf("error %v, overridden %t", err, permit.Overridden())
	}
	steps, err := p.ledger.History(t.Context(), p.approval.ID)
	if err != nil || steps[1].To != safety.StatePending || steps[1].Actor != "eva" || steps[1].Verdict != "safe" || !steps[1].Authenticated || steps[1].Override {
		t.Errorf("history %+v, %v", steps, err)
	}
	if len(p.reports) != 4 { // each answer that counts, and the call
		t.Errorf("%d checks", len(p.reports))
	}
}

func TestTwoApproversEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		second func(*people) safety.Outcome
		reason string
		state  safety.ApprovalState
	}{
		"one rejects":             {func(p *people) safety.Outcome { return p.says("tom", safety.Answer{}) }, safety.CodeRejected, safety.StateRejected},
		"the first takes it back": {func(p *people) safety.Outcome { return p.says("eva", safety.Answer{}) }, safety.CodeRejected, safety.StateRejected},
		"the world changed": {func(p *people) safety.Outcome {
			p.world.put(strava, "price", usd("$52,000"))
			return p.approves("tom")
		}, safety.CodeDrift, safety.StateBlocked},
		"the check fails": {func(p *people) safety.Outcome {
			p.down[strava.Value] = down
			return p.approves("tom")
		}, safety.CodeCheckFailed, safety.StatePending},
		"another payload": {func(p *people) safety.Outcome {
			return p.says("tom", safety.Answer{Confirmed: true, Content: "another"})
		}, safety.CodeOtherAnswer, safety.StatePending},
		"the first, with another payload": {func(p *people) safety.Outcome {
			return p.says("eva", safety.Answer{Confirmed: true, Content: "another"})
		}, safety.CodeOtherAnswer, safety.StatePending},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeople(t, 2, strava)
			p.approves("eva")
			p.wantOutcome(tt.second(p), tt.reason, tt.state)
			if _, err := p.runs(); err == nil {
				t.Error("it runs")
			}
		})
	}
}

// Whoever approves alone may say something else later; people who approve together say the same.
func TestRepeatedWithAnotherPayload(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.says("eva", safety.Answer{Confirmed: true, Content: "one"})
	if out := p.says("eva", safety.Answer{Confirmed: true, Content: "two"}); !out.Accepted {
		t.Errorf("%+v", out)
	}
	p = newPeople(t, 1, strava)
	p.down[strava.Value] = down
	p.says("eva", safety.Answer{Confirmed: true, Override: "down", Content: "one"})
	out := p.says("tom", safety.Answer{Confirmed: true, Override: "down", Content: "two"})
	p.wantOutcome(out, safety.CodeOtherAnswer, safety.StatePending)
	if !strings.Contains(out.Detail, "eva") {
		t.Errorf("detail %q", out.Detail)
	}
	p.says("tom", safety.Answer{Confirmed: true, Override: "down", Content: "one"})
	if out := p.says("eva", safety.Answer{Confirmed: true, Content: "two"}); out.Reason != safety.CodeOtherAnswer {
		t.Errorf("one of two, again: %+v", out)
	}
}

// Two people are not counted where nothing says who they are.
func TestTwoApproversUnknown(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Policy.Approvals = []safety.ApprovalRule{{Tool: "*", Approvers: 2}} }, strava)
	b.ask()
	out := b.answer(true)
	b.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
	if !strings.Contains(out.Detail, "2 people have to approve") {
		t.Errorf("detail %q", out.Detail)
	}
}

func TestConcurrentApprovers(t *testing.T) {
	p := newPeople(t, 3, strava)
	outs := make(chan safety.Outcome)
	who := []string{"eva", "tom", "ann", "EVA", "Tom", "ANN", "bob"}
	for _, name := range who {
		go func() {
			out, _ := p.guard.Answer(as(t, name), safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, RunID: "run of " + name})
			outs <- out
		}()
	}
	accepted := 0
	for range who {
		if out := <-outs; out.Accepted {
			accepted++
		}
	}
	a, err := p.ledger.Get(t.Context(), p.approval.ID)
	if err != nil || a.State != safety.StateApproved || len(a.Consents) != 3 || accepted == 0 {
		t.Errorf("%s with %v, %d accepted, error %v", a.State, a.Consents, accepted, err)
	}
}

func TestWordsAreBounded(t *testing.T) {
	long := strings.Repeat("x", safety.MaxWords+1)
	for name, ans := range map[string]safety.Answer{"change": {Change: long}, "reason": {Because: long}, "override": {Confirmed: true, Override: long}} {
		p := newPeople(t, 1, strava)
		out := p.says("eva", ans)
		p.wantOutcome(out, safety.CodeInvalid, safety.StatePending)
		if !strings.Contains(out.Detail, "2000 bytes") {
			t.Errorf("%s: %q", name, out.Detail)
		}
		for _, words := range []*string{&ans.Change, &ans.Because, &ans.Override} {
			*words = strings.TrimPrefix(*words, "x")
		}
		if out := p.says("eva", ans); out.Reason == safety.CodeInvalid {
			t.Errorf("%s of the greatest length: %+v", name, out)
		}
	}
}

// Several rules for one tool add up to the strictest.
func TestApprovalRulesOfOneTool(t *testing.T) {
	rules := []safety.ApprovalRule{
		{Tool: "provision_*", Approvers: 2, Override: []string{"eva", "tom"}},
		{Tool: "*_campaign", Override: []string{"Tom", "max"}},
		{Tool: "other", Approvers: 9},
	}
	p := newPeople(t, 1, strava)
	p.cfg.Policy.Approvals = rules
	g := p.made()
	p.guard = g
	rules[0].Override[0], rules[0].Approvers = "max", 1 // the guard has its own
	r := p.request()
	r.CallID = "call-2"
	a, err := g.Ask(as(t, "bob"), r)
	if err != nil || a.Approvers != 2 {
		t.Fatalf("%d approvers, error %v", a.Approvers, err)
	}
	if err := g.Attach(t.Context(), a.ID, "conf-2"); err != nil {
		t.Fatal(err)
	}
	p.down[strava.Value] = down
	for who, may := range map[string]bool{"eva": false, "max": false, "tom": true} {
		out, err := g.Answer(as(t, who), safety.Answer{Session: nike, ConfirmationID: "conf-2", Confirmed: true, Override: "down"})
		if err != nil || (out.Reason == safety.CodeCheckFailed) != may {
			t.Errorf("%s: %q, %v", who, out.Reason, err)
		}
	}
}

// A ledger that lies about who approved lets nothing run.
func TestLyingLedgerOfConsents(t *testing.T) {
	p := newPeople(t, 2, strava)
	p.approves("eva")
	p.approves("tom")
	for name, spoil := range map[string]func(*safety.Approval){
		"one is missing": func(a *safety.Approval) { a.Consents = a.Consents[:1] },
		"all":            func(a *safety.Approval) { a.Consents = nil },
	} {
		cfg := p.cfg
		cfg.Ledger = spoiled{Ledger: p.ledger, got: func(a *safety.Approval) error { spoil(a); return nil }}
		g, err := safety.NewGuard(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = g.Permit(t.Context(), p.execution())
		if refusal, is := errors.AsType[*safety.Refusal](err); !is || refusal.Code != safety.CodeStore {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The policy of a configuration has its approvals, each with people of its own.
func TestApprovalsOfTheConfiguration(t *testing.T) {
	override := []string{"eva", "tom"}
	p, err := safety.NewPolicy(config.Guard{Approvals: map[string]config.Approvals{"sell": {Override: override}, "buy_*": {Approvers: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	override[0] = "mallory"
	want := []safety.ApprovalRule{{Tool: "buy_*", Approvers: 2}, {Tool: "sell", Approvers: 1, Override: []string{"eva", "tom"}}}
	if diff := cmp.Diff(want, p.Approvals); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
