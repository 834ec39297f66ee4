// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestLifecycle(t *testing.T) {
	b := newBench(t, nil, yahoo, strava, budget)
	a := b.ask()
	want := safety.Approval{
		ID: a.ID, Session: nike, CallID: "call-1", Tool: "provision_campaign", Agent: "media_planner", InvocationID: "inv-1", RunID: "run-1",
		DecisionNode: "node-1", Answer: "answer-1", After: "after-1", TraceID: "trace-1", SpanID: "span-1",
		ArgsDigest: a.ArgsDigest, Args: []byte(`{"campaign":"summer","total":200000}`),
		Entities: []entity.Canonical{yahoo, strava, budget}, Fingerprint: safety.Fingerprint([]entity.Canonical{budget, strava, yahoo}),
		PolicyVersion: safety.DefaultPolicy().Version(), Receipt: safety.Receipt{Watermark: 12, RowsRead: 10, Version: "rules"},
		Requester: "ana", Approvers: 1, RequestedAt: epoch, ExpiresAt: epoch.Add(7 * 24 * time.Hour), State: safety.StatePending, UpdatedAt: epoch,
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("Ask (-want +got):\n%s", diff)
	}
	if digest, _, _ := safety.ArgsDigest(b.args); len(a.ID) != 32 || a.ArgsDigest != digest {
		t.Errorf("id %q, digest %q", a.ID, a.ArgsDigest)
	}

	b.clock.Add(time.Hour)
	out := b.answer(true)
	wantSafe(t, out.Report)
	if !out.Accepted || out.Reason != "" || out.Approval.State != safety.StateApproved || out.Approval.Approver != "ana" ||
		!out.Approval.DecidedAt.Equal(epoch.Add(time.Hour)) || out.Approval.Verdict != "safe" ||
		out.Report.ApprovalID() != a.ID || out.Report.Fingerprint() != a.Fingerprint || out.Report.PolicyVersion() != a.PolicyVersion {
		t.Errorf("Answer: %+v", out)
	}
	// The ledger gives back less than that.
	if out.Approval.Args == nil || len(out.Approval.Entities) != 3 {
		t.Errorf("%d entities, arguments %s", len(out.Approval.Entities), out.Approval.Args)
	}
	if stored := string(out.Approval.Report); !strings.Contains(stored, out.Report.ID()) {
		t.Errorf("stored report %s is not report %s", stored, out.Report.ID())
	}

	b.clock.Add(time.Hour)
	p, r, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	wantSafe(t, r)
	if p.ApprovalID() != a.ID || !p.ExpiresAt().Equal(epoch.Add(2*time.Hour+30*time.Second)) || b.state() != safety.StatePermitted {
		t.Errorf("permit of %s until %v, state %s", p.ApprovalID(), p.ExpiresAt(), b.state())
	}
	if !r.StartedAt().Equal(epoch.Add(2*time.Hour)) || !r.CheckedAt().Equal(epoch.Add(2*time.Hour)) {
		t.Errorf("checked from %v to %v", r.StartedAt(), r.CheckedAt())
	}
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	stored, err := b.ledger.Get(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !stored.InDoubt() || stored.PermitRun != "run-2" || len(stored.PermitNonce) != 32 {
		t.Errorf("while it runs: %+v", stored)
	}
	if err := p.Done(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []safety.Stage{safety.StageAnswer, safety.StageExecute}; !slices.Equal(b.stages, want) {
		t.Errorf("reports at %v, want %v", b.stages, want)
	}
	asked := safety.Decision{Node: "node-1", Answer: "answer-1", Run: "run-1", After: "after-1", Tool: "provision_campaign", Args: `{"campaign":"summer","total":200000}`}
	checked := asked
	checked.UpTo = 12
	if want := []safety.Decision{asked, checked, checked}; !slices.Equal(b.record.seen, want) {
		t.Errorf("record read for %+v, want %+v", b.record.seen, want)
	}
}

// TestHistory holds every step of a request: by whom or in which run, on what verdict, how anybody
// knows them, and what is noted.
func TestHistory(t *testing.T) {
	// odd cannot be compared: the check fails.
	odd, back, changed := becomes(strava, "price", entity.Text("?")), becomes(strava, "price", usd("$40,000")), becomes(strava, "price", usd("$1"))
	olga := authorized(func(context.Context, safety.AuthorizationRequest) (string, error) { return "olga", nil })
	const byUser = " in run run-2 by the user of the session; nothing authenticated them"
	for name, test := range map[string]struct {
		change func(*safety.GuardConfig)
		steps  []step
		want   []string // all but the first
	}{
		"carried out": {nil, []step{odd, approves(""), back, approves(""), odd, isPermitted, back, runs, ends(nil)}, []string{
			"pending, pending, ana, run-2, check_failed: approved" + byUser, "pending, approved, ana, run-2, safe: approved" + byUser,
			"approved, approved, run-2, run-2, check_failed: check before execution failed", "approved, permitted, run-2, run-2, safe: unchanged before execution",
			"permitted, executing, run-2, run-2", "executing, executed, run-2, run-2",
		}},
		"by somebody known": {olga, []step{odd, approves(""), back, approves(""), runs, ends(errors.New("ad server: 503\nretry later"))}, []string{
			"pending, pending, olga, run-2, check_failed, authenticated: approved in run run-2", "pending, approved, olga, run-2, safe, authenticated: approved in run run-2",
			"approved, permitted, run-2, run-2, safe: unchanged before execution", "permitted, executing, run-2, run-2",
			"executing, failed, run-2, run-2: ad server: 503 retry later",
		}},
		"resolved": {olga, []step{approves(""), runs, resolves(true)}, []string{
			"pending, approved, olga, run-2, safe, authenticated: approved in run run-2", "approved, permitted, run-2, run-2, safe: unchanged before execution",
			"permitted, executing, run-2, run-2", "executing, executed, olga, , resolved: looked at the ad server",
		}},
		"rejected":            {nil, []step{rejects("")}, []string{"pending, rejected, ana, run-2: rejected" + byUser}},
		"drift at the answer": {nil, []step{changed, approves("")}, []string{"pending, blocked, ana, run-2, drift: approved" + byUser}},
		"too late":            {nil, []step{wait(8 * 24 * time.Hour), approves("")}, []string{"pending, expired, run-2, run-2: expired"}},
		"drift at the call": {olga, []step{approves(""), changed, isPermitted}, []string{
			"pending, approved, olga, run-2, safe, authenticated: approved in run run-2", "approved, blocked, run-2, run-2, drift: changed before execution",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.change, strava)
			b.ask()
			for _, do := range test.steps {
				do(b)
			}
			var got []string
			checks := b.reports
			for _, s := range b.history() {
				line := fmt.Sprintf("%s, %s, %s, %s", s.From, s.To, s.Actor, s.Run)
				if s.Verdict != "" {
					line += ", " + s.Verdict
					if s.Check != checks[0].ID() {
						t.Errorf("%s: check %s, want %s", line, s.Check, checks[0].ID())
					}
					checks = checks[1:]
				}
				if s.Authenticated {
					line += ", authenticated"
				}
				if s.Resolved {
					line += ", resolved"
				}
				if s.Note != "" {
					line += ": " + s.Note
				}
				if !s.At.Equal(b.clock.Now()) && len(got) > 0 {
					t.Errorf("%s: at %v", line, s.At)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(append([]string{", pending, ana, run-1"}, test.want...), got); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAskRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*bench, *safety.Request){
		"app":       func(_ *bench, r *safety.Request) { r.Session.App = "" },
		"user":      func(_ *bench, r *safety.Request) { r.Session.User = "" },
		"session":   func(_ *bench, r *safety.Request) { r.Session.ID = "" },
		"call":      func(_ *bench, r *safety.Request) { r.CallID = "" },
		"tool":      func(_ *bench, r *safety.Request) { r.Tool = "" },
		"run":       func(_ *bench, r *safety.Request) { r.RunID = "" },
		"arguments": func(_ *bench, r *safety.Request) { r.Args = map[string]any{"x": func() {}} },
		"record":    func(b *bench, _ *safety.Request) { b.record.err = errors.New("disk") },
		"clock":     func(b *bench, _ *safety.Request) { b.clock.now = time.Time{} },
	} {
		b := newBench(t, nil, strava)
		r := b.request()
		spoil(b, &r)
		a, err := b.guard.Ask(t.Context(), r)
		if err == nil || a.ID != "" || a.State != "" {
			t.Errorf("%s: approval %q in state %q, error %v", name, a.ID, a.State, err)
		}
		if stored, err := b.ledger.List(t.Context(), nike); err != nil || len(stored) != 0 {
			t.Errorf("%s: %d approvals stored, error %v", name, len(stored), err)
		}
	}
}

func TestShown(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	want := map[string]any{
		"approval_id": a.ID, "tool": "provision_campaign", "agent": "media_planner", "args_digest": a.ArgsDigest, "fingerprint": a.Fingerprint,
		"requested_at": "2026-01-19T11:00:13Z", "expires_at": "2026-01-26T11:00:13Z",
		"requester": map[string]any{"name": "ana", "authenticated": false}, "approvers": 1,
		"entities": []any{map[string]any{
			"type": "Product", "value": "Strava Sponsored Routes", "confidence": 0.95, "seen_at": "2026-01-19T11:00:03Z", "age": "10s",
			"attributes": map[string]any{"price": "$40,000", "availability": "available"},
		}},
		"warnings": []any{},
	}
	if diff := cmp.Diff(want, a.Shown()); diff != "" {
		t.Errorf("Shown (-want +got):\n%s", diff)
	}
	a.Receipt.Notes = []string{"rule \"x\" found\nnothing"}
	if diff := cmp.Diff([]any{"rule \"x\" found nothing"}, a.Shown()["notes"]); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	a.Entities, a.Receipt.Failed, a.Receipt.Truncated, a.Gaps = nil, 1, 2, []string{"a gap"}
	if got := a.Shown()["warnings"].([]any); len(got) != 4 {
		t.Errorf("warnings %q, want 4", got)
	}
	if got := (safety.Approval{}).Shown()["warnings"].([]any); len(got) != 2 {
		t.Errorf("warnings of the zero approval %q, want 2", got)
	}
}

func TestCheckLooksAtTheOpenApproval(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	b.record.snap.Entities = append(b.record.snap.Entities, thing("Product", "New", fine))
	r := b.check()
	if r.ApprovalID() != a.ID || r.TotalEntities() != 2 || !r.Entities()[1].Unseen {
		t.Errorf("report of approval %q with %d entities", r.ApprovalID(), r.TotalEntities())
	}
	if b.state() != safety.StatePending || b.stages[0] != safety.StageCheck {
		t.Errorf("Check left the approval %s, stage %s", b.state(), b.stages[0])
	}
	b.answer(false)
	if r := b.check(); r.ApprovalID() != "" {
		t.Errorf("report of the rejected approval %q", r.ApprovalID())
	}
	b.guard = b.with(altered{Ledger: b.ledger, list: func() error { return errInjected }})
	wantFailure(t, b.check(), safety.ReasonStore)
}

func TestObserve(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	b.world.put(strava, "price", usd("$52,000"))
	r, err := b.guard.Observe(t.Context(), nike, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantDrift(t, r, safety.PriceChanged)
	if b.state() != safety.StatePending || b.stages[0] != safety.StageObserve {
		t.Errorf("Observe left the approval %s, stage %s", b.state(), b.stages[0])
	}
	other := nike
	other.User = "bob"
	for name, of := range map[string]safety.Execution{"unknown": {Session: nike, ApprovalID: "x"}, "none": {Session: nike}, "another user": {Session: other, ApprovalID: a.ID}} {
		if _, err := b.guard.Observe(t.Context(), of.Session, of.ApprovalID); !errors.Is(err, safety.ErrNotFound) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
