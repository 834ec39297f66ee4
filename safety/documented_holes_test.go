// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The tests in this file are named after the ways in which a world-change check can
// approve by mistake. Each must deny.

func TestW03UnknownSessionDenies(t *testing.T) {
	b := newBench(t, nil, strava)
	for _, s := range []safety.Session{
		{}, {App: "a", User: "b"}, {App: "a", ID: "c"}, {User: "b", ID: "c"},
	} {
		r, err := b.guard.Check(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		wantFailure(t, r, safety.ReasonSession)
	}
	b.record.snap = safety.Snapshot{} // what a mistyped session has
	r := b.check()
	wantFailure(t, r, safety.ReasonNoEntities)
	wantFailure(t, r, safety.ReasonIncompleteRecord)
}

func TestW05ShorterRecordDenies(t *testing.T) {
	for name, spoil := range map[string]func(*safety.Receipt){
		"watermark": func(r *safety.Receipt) { r.Watermark-- },
		"rows":      func(r *safety.Receipt) { r.RowsRead-- },
	} {
		b := newBench(t, nil, strava).approved()
		spoil(&b.record.snap.Receipt)
		_, r, err := b.permit()
		wantRefusal(t, err, safety.CodeCheckFailed)
		if got := reasons(r); len(got) != 1 || got[0] != safety.ReasonIncompleteRecord {
			t.Errorf("%s: failures %v", name, got)
		}
	}
	b := newBench(t, nil, strava).approved()
	b.record.snap.Receipt.Watermark++ // a longer one is what a run brings
	b.record.snap.Receipt.RowsRead++
	if _, _, err := b.permit(); err != nil {
		t.Error(err)
	}
}

// An entity the record does not link to a span any more is checked all the same.
func TestW08LostEntityIsChecked(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.record.snap.Entities = nil
	b.world.put(strava, "price", usd("$52,000"))
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeDrift)
	wantDrift(t, r, safety.PriceChanged)
}

func TestW09OtherRulesDeny(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.record.snap.Receipt.Version = "other rules"
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonRulesChanged)
}

// What a model adds is checked; what it leaves out stays.
func TestW12ModelsAddAndNeverRemove(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	added := entity.Canonicalize([]entity.Entity{{
		Type: "Audience", Value: "Runners", Confidence: 0.9, Source: entity.SourceModel, SeenAt: epoch, Attributes: values{"reach": number(9)},
	}})[0]
	b.record.snap.Entities = []entity.Canonical{added}
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonNoChecker)
	if r.TotalEntities() != 2 || r.Entities()[0].Outcome != safety.EntityUnchanged {
		t.Errorf("%d entities, the first %s", r.TotalEntities(), r.Entities()[0].Outcome)
	}
}

// The same thing seen in many spans is checked once, against all values that count.
func TestW20OneThingIsCheckedOnce(t *testing.T) {
	var seen []entity.Entity
	for i := range 10 {
		seen = append(seen, entity.Entity{Source: entity.SourceRule, Attributes: values{"price": number(100 + i)}})
	}
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Tolerance: safety.Tolerance{Absolute: 9}}
	}, sighted("Product", "Strava", seen...))
	r := b.check()
	wantSafe(t, r)
	if b.world.calls != 1 || r.TotalEntities() != 1 || !r.Entities()[0].Seen["price"].Equal(number(109)) {
		t.Errorf("%d checks of %d entities, seen %v", b.world.calls, r.TotalEntities(), r.Entities()[0].Seen)
	}
	// Twice under one key, with answers that differ: the stricter one counts.
	twice := newBench(t, nil, strava, thing("Product", strava.Value, values{"price": usd("$39,000")}))
	twice.world.put(strava, "price", usd("$40,000"))
	twice.world.put(strava, "availability", entity.Bool(true))
	wantDrift(t, twice.check(), safety.PriceChanged)
}

func TestW32CanceledRunDenies(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	ctx, cancel := context.WithCancel(t.Context())
	b.cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
		cancel()
		return safety.State{Attributes: fine, AsOf: epoch}, nil
	})
	g := b.made()
	p, r, err := g.Permit(ctx, b.execution())
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonCanceled)
	if p != nil || b.state() != safety.StateApproved {
		t.Errorf("permit %v, state %s", p, b.state())
	}
	if stored, _ := b.ledger.Get(t.Context(), b.approval.ID); stored.Verdict != "check_failed" {
		t.Errorf("the report of a canceled run is not stored: %q", stored.Verdict)
	}
}

// A report permits nothing: only a permit does, and only the guard makes one.
func TestW33ReportIsNoPermit(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	wantSafe(t, b.check())
	_, _, err := b.permit()
	wantRefusal(t, err, safety.CodeNotApproved)
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
	g := b.made()
	_, r, err := g.Permit(t.Context(), b.execution())
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonPolicyChanged)
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
