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

func TestRequester(t *testing.T) {
	for name, tt := range map[string]struct {
		identity safety.IdentityFunc
		ctx      context.Context
		want     string
		known    bool
	}{
		"no identity":      {nil, as(t, "bob"), "ana", false},
		"known":            {known, as(t, "bob"), "bob", true},
		"no token":         {known, t.Context(), "ana", false},
		"nobody":           {known, as(t, " \u200b"), "ana", false},
		"an error and bob": {func(context.Context) (string, error) { return "bob", errors.New("expired") }, t.Context(), "ana", false},
		"a panic":          {func(context.Context) (string, error) { panic("boom") }, t.Context(), "ana", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Identity = tt.identity }, strava)
			a, err := b.guard.Ask(tt.ctx, b.request())
			if err != nil || a.Requester != tt.want || a.RequesterAuthenticated != tt.known {
				t.Fatalf("requester %q, authenticated %t, error %v; want %q, %t", a.Requester, a.RequesterAuthenticated, err, tt.want, tt.known)
			}
			steps, err := b.ledger.History(t.Context(), a.ID)
			if err != nil || steps[0].Actor != tt.want || steps[0].Authenticated != tt.known {
				t.Errorf("history %+v, %v", steps, err)
			}
			hint := a.Hint("buy")
			want := "Requester: " + tt.want + "."
			if !tt.known {
				want = "Requester: " + tt.want + " (not authenticated)."
			}
			if !strings.HasSuffix(hint, want) {
				t.Errorf("hint %q, want %q at the end", hint, want)
			}
			if strings.Contains(hint, "Approvers needed") {
				t.Errorf("hint %q", hint)
			}
			if got := a.Shown()["requester"]; !cmp.Equal(got, any(map[string]any{"name": tt.want, "authenticated": tt.known})) {
				t.Errorf("shown %v", got)
			}
			report, err := b.guard.Check(t.Context(), nike)
			if err != nil || strings.Contains(report.Summary(), "  Requester        : ana (not authenticated)\n") == tt.known {
				t.Errorf("error %v, summary\n%s", err, report.Summary())
			}
			data, err := report.MarshalJSON()
			if err != nil || strings.Contains(string(data), `"requester":{"name":"`+tt.want+`","authenticated":true}`) != tt.known {
				t.Errorf("error %v, report %s", err, data)
			}
		})
	}
}

func TestRequesterOfNoApproval(t *testing.T) {
	b := newBench(t, nil, strava)
	data, err := b.check().MarshalJSON()
	if err != nil || strings.Contains(string(data), "requester") || strings.Contains(b.check().Summary(), "Requester") {
		t.Errorf("error %v, report %s", err, data)
	}
}

// Whoever asked does not approve, however the name is written.
func TestFourEyes(t *testing.T) {
	names := func(who string) safety.AuthorizerFunc {
		return func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
			if r.Identity == "" {
				return "", errors.New("no identity")
			}
			return who, nil
		}
	}
	for name, tt := range map[string]struct {
		caller     string
		authorizer safety.Authorizer
		self       bool
		want       string // of the detail; "" for an approval that is accepted
	}{
		"another":                      {caller: "eva"},
		"another, by the authorizer":   {caller: "eva", authorizer: names("eva@example.com")},
		"the requester":                {caller: "bob smith", want: "may not give it"},
		"the requester may":            {caller: "bob smith", self: true},
		"in capitals":                  {caller: "BOB SMITH", want: "may not give it"},
		"without the space":            {caller: "bobsmith", want: "may not give it"},
		"with space around":            {caller: " bob smith\t", want: "may not give it"},
		"in full width":                {caller: "ｂｏｂ　ｓｍｉｔｈ", want: "may not give it"},
		"with a zero-width space":      {caller: "bo\u200bb smith", want: "may not give it"},
		"by another name":              {caller: "Bob Smith", authorizer: names("boss"), want: "may not give it"},
		"named by the authorizer":      {caller: "eva", authorizer: names("BOB SMITH"), want: "may not give it"},
		"nobody":                       {caller: "\u2060", want: "nothing authenticated"},
		"nobody, with an authorizer":   {caller: " ", authorizer: names("boss"), want: "nothing authenticated"},
		"the authorizer names nothing": {caller: "eva", authorizer: names("\u200b "), want: "names nobody"},
		"the authorizer refuses":       {caller: "eva", authorizer: safety.AuthorizerFunc(nil), want: "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Identity, cfg.Authorizer, cfg.SelfApproval = known, tt.authorizer, tt.self
			}, strava)
			a, err := b.guard.Ask(as(t, "Bob Smith"), b.request())
			if err == nil {
				err = b.guard.Attach(t.Context(), a.ID, "conf-1")
			}
			if err != nil {
				t.Fatal(err)
			}
			p := &people{bench: b}
			out := p.approves(tt.caller)
			switch {
			case tt.want == "":
				if !out.Accepted || !out.Authenticated {
					t.Errorf("not accepted: %+v", out)
				}
			case out.Reason != safety.CodeNotAuthorized || !strings.Contains(out.Detail, tt.want) || len(b.reports) > 0:
				t.Errorf("reason %q, detail %q, %d checks; want %q", out.Reason, out.Detail, len(b.reports), tt.want)
			}
		})
	}
}

func TestIdentityOfAnswer(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Identity = known }, strava)
	b.ask()
	for _, confirmed := range []bool{true, false} {
		out := b.answer(confirmed) // without a token
		b.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
		if out.Cause == nil || !strings.Contains(out.Cause.Error(), "no token") {
			t.Errorf("cause %v", out.Cause)
		}
	}
	out, err := b.guard.Answer(as(t, "eva"), safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, Peer: true})
	if err != nil || out.Reason != safety.CodeNotAuthorized || !strings.Contains(out.Detail, "peer") {
		t.Errorf("a peer without an authorizer: %+v, %v", out, err)
	}
	p := &people{bench: b}
	if out := p.approves("ana"); !out.Accepted { // ana is the word of a client, and not the requester's
		if !strings.Contains(out.Detail, "may not give it") {
			t.Errorf("%+v", out)
		}
	} else {
		t.Error("the user of the session approves a request of the session that nobody else is known to have asked")
	}
	if out := p.says("eva", safety.Answer{}); out.Reason != safety.CodeRejected || out.Approval.Approver != "eva" {
		t.Errorf("rejected: %+v", out)
	}
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
			var err error
			if p.guard, err = safety.NewGuard(p.cfg); err != nil {
				t.Fatal(err)
			}
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

func TestChange(t *testing.T) {
	p := newPeople(t, 1, strava)
	out := p.says("eva", safety.Answer{Change: " at most $30,000\n"})
	p.wantOutcome(out, safety.CodeChange, safety.StateRejected)
	if out.Approval.Change != "at most $30,000" || out.Approval.Approver != "eva" {
		t.Errorf("%+v", out.Approval)
	}
	steps, err := p.ledger.History(t.Context(), p.approval.ID)
	if err != nil || steps[1].Note != "rejected, with a wish for a change, in run run of eva" {
		t.Errorf("history %+v, %v", steps, err)
	}
	r := p.request()
	r.CallID = "call-2"
	_, err = p.guard.Ask(as(t, "bob"), r)
	wantCode(t, err, safety.CodeChange, `to be different: "at most $30,000".`)

	r.Args, r.Redact = map[string]any{"campaign": "summer", "total": 30000.0}, func(args []byte) []byte { return args }
	a, err := p.guard.Ask(as(t, "bob"), r)
	if err != nil || a.Replaces != p.approval.ID || a.Chain != 0 {
		t.Fatalf("replaces %q, chain %d, error %v", a.Replaces, a.Chain, err)
	}
	want := []safety.ValueDifference{{Name: "total", Was: "200000", Now: "30000"}}
	if diff := cmp.Diff(want, a.Difference.Arguments); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if !strings.Contains(a.Hint("buy"), "argument total 200000 → 30000") {
		t.Errorf("hint %q", a.Hint("buy"))
	}
	r.CallID, r.Args = "call-3", map[string]any{"total": 1.0}
	if a, err := p.guard.Ask(as(t, "bob"), r); err != nil || a.Replaces != "" {
		t.Errorf("one more: replaces %q, error %v", a.Replaces, err)
	}
}

// In a later turn the same call may be asked again, and a request that is not chained replaces none.
func TestChangeLater(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.says("eva", safety.Answer{Change: "wait a day"})
	r := p.request()
	r.CallID, r.InvocationID, r.Chained = "call-2", "inv-2", false
	if a, err := p.guard.Ask(as(t, "bob"), r); err != nil || a.Replaces != "" {
		t.Errorf("not chained: replaces %q, error %v", a.Replaces, err)
	}
	r.Chained, r.CallID = true, "call-3"
	if id, err := p.guard.Replaces(as(t, "bob"), r); err != nil || id != p.approval.ID {
		t.Errorf("replaces %q, error %v", id, err)
	}
	if a, err := p.guard.Ask(as(t, "bob"), r); err != nil || a.Replaces != p.approval.ID || !strings.Contains(a.Hint(""), "Replaces the request of 11:00 UTC.") {
		t.Errorf("replaces %q, error %v, hint %q", a.Replaces, err, a.Hint(""))
	}
}

// A later turn may ask for the same call at once.
func TestChangeInTheNextTurn(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.says("eva", safety.Answer{Change: "wait a day"})
	r := p.request()
	r.CallID, r.InvocationID = "call-2", "inv-2"
	if a, err := p.guard.Ask(as(t, "bob"), r); err != nil || a.Replaces != p.approval.ID {
		t.Errorf("replaces %q, error %v", a.Replaces, err)
	}
}

// What the ledger says of a change must fit.
func TestChangeOfABadLedger(t *testing.T) {
	change := func(f func(*safety.Approval)) func(*safety.Approval) error {
		return func(a *safety.Approval) error { f(a); return nil }
	}
	fails := func(*safety.Approval) error { return errors.New("disk") }
	for name, l := range map[string]spoiled{
		"it cannot be read":         {change: fails},
		"it is of another session":  {change: change(func(a *safety.Approval) { a.Session.ID = "other" })},
		"it is of another tool":     {change: change(func(a *safety.Approval) { a.Tool = "other" })},
		"it was not rejected":       {change: change(func(a *safety.Approval) { a.State = safety.StateBlocked })},
		"it has no wish":            {change: change(func(a *safety.Approval) { a.Change = "" })},
		"it cannot be read in full": {got: fails},
	} {
		p := newPeople(t, 1, strava)
		p.says("eva", safety.Answer{Change: "less"})
		l.Ledger = p.ledger
		r := p.request()
		r.CallID, r.Args = "call-2", map[string]any{"total": 1.0}
		_, err := p.with(l).Ask(as(t, "bob"), r)
		wantCode(t, err, safety.CodeStore, "")
		if n := len(p.list()); n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

func TestWordsAreBounded(t *testing.T) {
	long := strings.Repeat("x", safety.MaxWords+1)
	for name, ans := range map[string]safety.Answer{"change": {Change: long}, "override": {Confirmed: true, Override: long}} {
		p := newPeople(t, 1, strava)
		out := p.says("eva", ans)
		p.wantOutcome(out, safety.CodeInvalid, safety.StatePending)
		if !strings.Contains(out.Detail, "2000 bytes") {
			t.Errorf("%s: %q", name, out.Detail)
		}
		ans.Change, ans.Override = strings.TrimPrefix(ans.Change, "x"), strings.TrimPrefix(ans.Override, "x")
		if out := p.says("eva", ans); out.Reason == safety.CodeInvalid {
			t.Errorf("%s of the greatest length: %+v", name, out)
		}
	}
}

func TestApprovalRules(t *testing.T) {
	two := []string{"eva", "tom"}
	for name, tt := range map[string]struct {
		rule safety.ApprovalRule
		want string // "" if the rule is valid
	}{
		"nothing":        {safety.ApprovalRule{Tool: "buy"}, ""},
		"two":            {safety.ApprovalRule{Tool: "buy_*", Approvers: 2, Override: two}, ""},
		"a hundred":      {safety.ApprovalRule{Tool: "buy", Approvers: 100}, ""},
		"more":           {safety.ApprovalRule{Tool: "buy", Approvers: 101}, "Approvers is 101"},
		"less than none": {safety.ApprovalRule{Tool: "buy", Approvers: -1}, "Approvers is -1"},
		"no tool":        {safety.ApprovalRule{}, `Tool "" is no pattern`},
		"no pattern":     {safety.ApprovalRule{Tool: "["}, `Tool "[" is no pattern`},
		"one overrides":  {safety.ApprovalRule{Tool: "buy", Override: two[:1]}, "names one person"},
		"one twice":      {safety.ApprovalRule{Tool: "buy", Override: []string{"eva", "Eva "}}, `names "Eva " twice`},
		"nobody":         {safety.ApprovalRule{Tool: "buy", Override: []string{"eva", " "}}, "an empty name"},
	} {
		p := safety.DefaultPolicy()
		p.Approvals = []safety.ApprovalRule{tt.rule}
		err := p.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), "approval rule 0: ") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
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
	g, err := safety.NewGuard(p.cfg)
	if err != nil {
		t.Fatal(err)
	}
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

func TestVersionOfApprovals(t *testing.T) {
	version := func(rules ...safety.ApprovalRule) string {
		p := safety.DefaultPolicy()
		p.Approvals = rules
		return p.Version()
	}
	none := version()
	two := safety.ApprovalRule{Tool: "buy", Approvers: 2}
	may := safety.ApprovalRule{Tool: "sell", Override: []string{"eva", "tom"}}
	for name, same := range map[string][2]string{
		"one approver":    {none, version(safety.ApprovalRule{Tool: "buy", Approvers: 1})},
		"no approver":     {none, version(safety.ApprovalRule{Tool: "buy"})},
		"another order":   {version(two, may), version(may, two)},
		"people in order": {version(may), version(safety.ApprovalRule{Tool: "sell", Approvers: 1, Override: []string{"TOM", "eva"}})},
	} {
		if same[0] != same[1] {
			t.Errorf("%s: another version", name)
		}
	}
	all := []string{none, version(two), version(may), version(two, may), version(safety.ApprovalRule{Tool: "buy", Approvers: 3}),
		version(safety.ApprovalRule{Tool: "sell", Override: []string{"eva", "ann"}}), version(safety.ApprovalRule{Tool: "sell", Approvers: 2, Override: []string{"eva", "tom"}})}
	slices.Sort(all)
	if len(slices.Compact(all)) != 7 || slices.Contains(all, "") {
		t.Errorf("versions %v", all)
	}
}

// older is a ledger with approvals of a version that did not keep consents.
type older struct{ safety.Ledger }

func (o older) Find(ctx context.Context, s safety.Session, id string) (safety.Approval, error) {
	a, err := o.Ledger.Find(ctx, s, id)
	a.Consents = nil
	return a, err
}

func (o older) Get(ctx context.Context, id string) (safety.Approval, error) {
	a, err := o.Ledger.Get(ctx, id)
	a.Consents = nil
	return a, err
}

// An approval of an earlier version may be repeated by who gave it, and runs.
func TestApprovalWithoutConsents(t *testing.T) {
	p := newPeople(t, 1, strava)
	p.approves("eva")
	p.cfg.Ledger = older{p.ledger}
	var err error
	if p.guard, err = safety.NewGuard(p.cfg); err != nil {
		t.Fatal(err)
	}
	if out := p.approves("tom"); out.Accepted || out.Reason != safety.CodeNotPending {
		t.Errorf("another: %+v", out)
	}
	if out := p.approves("Eva"); !out.Accepted {
		t.Errorf("the approver: %+v", out)
	}
	if _, err := p.runs(); err != nil {
		t.Error(err)
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
	var err error
	if p.guard, err = safety.NewGuard(p.cfg); err != nil {
		t.Fatal(err)
	}
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
	var err error
	if p.guard, err = safety.NewGuard(p.cfg); err != nil {
		t.Fatal(err)
	}
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
