// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A report permits nothing: only a permit does, and only the guard makes one.
func TestW33ReportIsNoPermit(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	wantSafe(t, b.check())
	_, _, err := b.permit()
	wantRefusal(t, err, safety.CodeNotApproved)
}

func TestW34ApprovalOfAnotherCallDenies(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	second := b.request()
	second.CallID, second.Args = "call-2", map[string]any{"total": 900000}
	other, err := b.guard.Ask(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	for code, change := range map[string]func(*safety.Execution){
		safety.CodeOtherCall:   func(e *safety.Execution) { e.CallID = "call-2" },
		safety.CodeArgsChanged: func(e *safety.Execution) { e.Args = second.Args },
		safety.CodeNotApproved: func(e *safety.Execution) { e.ApprovalID, e.CallID, e.Args = other.ID, "call-2", second.Args },
	} {
		e := b.execution()
		change(&e)
		_, _, err := b.guard.Permit(t.Context(), e)
		wantRefusal(t, err, code)
	}
}

func TestW35WorldThatMovesAfterTheAnswerDenies(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.clock.Add(48 * time.Hour)
	b.world.put(strava, "price", usd("$52,000"))
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeDrift)
	wantDrift(t, r, safety.PriceChanged)
}

func TestW36ReportReadBackDenies(t *testing.T) {
	r := newBench(t, nil, strava).check()
	wantSafe(t, r)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back safety.Report
	//lint:ignore SA9005 a report that is read back must deny
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.IsSafeToApprove() || !back.CheckFailed() {
		t.Error("a report that was read back is safe")
	}
	var v safety.Verdict
	if err := json.Unmarshal([]byte(`"safe"`), &v); err == nil || v == safety.Safe {
		t.Errorf("a verdict that was read back is %s, %v", v, err)
	}
}

func TestW37EveryStepIsRecorded(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.record.snap.Gaps = []string{"a gap"}
	b.answer(true)
	b.record.snap.Gaps = nil
	b.answer(true)
	b.world.put(strava, "price", usd("$52,000"))
	b.permit()
	steps, err := b.ledger.History(t.Context(), b.approval.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, s := range steps {
		got += string(s.To) + ":" + s.Verdict + " "
	}
	if want := "pending: pending:check_failed approved:safe blocked:drift "; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

func TestW38RejectionAndStrangersDeny(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.wantOutcome(b.answer(false), safety.CodeRejected, safety.StateRejected)
}

func TestW39ReportNamesWhatFailed(t *testing.T) {
	lost := thing("Mystery", "M", fine)
	b := newBench(t, func(cfg *safety.GuardConfig) { delete(cfg.Checkers, "Mystery") }, strava, lost)
	r := b.check()
	f := r.Failures()
	if len(f) != 1 || f[0].EntityType != "Mystery" || f[0].Entity != "M" || f[0].Detail == "" {
		t.Errorf("failures %+v", f)
	}
}

// Two approvals of a session have a check and a permit each.
func TestW40ApprovalsDoNotShareAPermit(t *testing.T) {
	b := newBench(t, nil, strava)
	p := b.permitted()
	second := b.request()
	second.CallID = "call-2"
	other, err := b.guard.Ask(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.guard.Attach(t.Context(), other.ID, "conf-2"); err != nil {
		t.Fatal(err)
	}
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	_, _, err = b.guard.Permit(t.Context(), safety.Execution{
		Session: nike, ApprovalID: other.ID, CallID: "call-2", Tool: "provision_campaign", Agent: "media_planner", RunID: "run-2", Args: b.args,
	})
	wantRefusal(t, err, safety.CodeNotApproved)
}

// An approval given under one policy is not carried out under another.
func TestOtherPolicyDenies(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.cfg.Policy.MinConfidence = 0.6
	g, err := safety.NewGuard(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := g.Permit(t.Context(), b.execution())
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonPolicyChanged)
}

// A guard that is made anew, as after a restart, carries an approval on.
func TestRestart(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	g, err := safety.NewGuard(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := g.Permit(t.Context(), b.execution())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	// The process dies here: the approval is in doubt and never runs again.
	g, err = safety.NewGuard(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b.ledger.Get(t.Context(), b.approval.ID)
	if err != nil || !a.InDoubt() {
		t.Errorf("in doubt %t, %v", a.InDoubt(), err)
	}
	_, _, err = g.Permit(t.Context(), b.execution())
	wantRefusal(t, err, safety.CodeAlreadyUsed)
}

// A change within the tolerance may come again and again: each check compares with
// what the approver saw, not with the check before.
func TestToleranceDoesNotCreep(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Severity: 0.72, Tolerance: safety.Tolerance{Percent: 5}}
	}, strava)
	b.world.put(strava, "price", usd("$41,500"))
	b.approved()
	b.world.put(strava, "price", usd("$43,000"))
	b.record.snap.Entities = []entity.Canonical{thing("Product", strava.Value, values{"price": usd("$41,500")})}
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeDrift)
	wantDrift(t, r, safety.PriceChanged)
}
