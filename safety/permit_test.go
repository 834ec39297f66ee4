// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestPermitIsForOneCall(t *testing.T) {
	for name, test := range map[string]struct {
		code  string
		spoil func(*safety.Execution)
	}{
		"no session":         {safety.CodeInvalid, func(e *safety.Execution) { e.Session = safety.Session{} }},
		"no approval":        {safety.CodeInvalid, func(e *safety.Execution) { e.ApprovalID = "" }},
		"no call":            {safety.CodeInvalid, func(e *safety.Execution) { e.CallID = "" }},
		"no tool":            {safety.CodeInvalid, func(e *safety.Execution) { e.Tool = "" }},
		"no run":             {safety.CodeInvalid, func(e *safety.Execution) { e.RunID = "" }},
		"unknown approval":   {safety.CodeUnknownRequest, func(e *safety.Execution) { e.ApprovalID = "x" }},
		"another app":        {safety.CodeUnknownRequest, func(e *safety.Execution) { e.Session.App = "x" }},
		"another user":       {safety.CodeUnknownRequest, func(e *safety.Execution) { e.Session.User = "x" }},
		"another session":    {safety.CodeUnknownRequest, func(e *safety.Execution) { e.Session.ID = "x" }},
		"another call":       {safety.CodeOtherCall, func(e *safety.Execution) { e.CallID = "call-2" }},
		"another tool":       {safety.CodeOtherCall, func(e *safety.Execution) { e.Tool = "delete_campaign" }},
		"another agent":      {safety.CodeOtherCall, func(e *safety.Execution) { e.Agent = "root_agent" }},
		"other arguments":    {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args = map[string]any{"total": 1.0} }},
		"no arguments":       {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args = nil }},
		"one more argument":  {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args["x"] = nil }},
		"a text for a value": {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args["total"] = "200000" }},
		"bad arguments":      {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args["x"] = math.NaN() }},
	} {
		b := newBench(t, nil, strava).approved()
		calls := b.world.calls
		e := b.execution()
		test.spoil(&e)
		p, r, err := b.guard.Permit(t.Context(), e)
		wantRefusal(t, err, test.code)
		if p != nil || r.ID() != "" || b.world.calls != calls || b.state() != safety.StateApproved {
			t.Errorf("%s: permit %v, report %q, %d checks, state %s", name, p, r.ID(), b.world.calls-calls, b.state())
		}
	}
	b := newBench(t, nil, strava).approved()
	e := b.execution()
	e.Args = map[string]any{"total": 200000, "campaign": "summer"} // an int, another order
	if _, _, err := b.guard.Permit(t.Context(), e); err != nil {
		t.Errorf("the same arguments: %v", err)
	}
}

// A permit never ends after its approval.
func TestPermitAtExpiry(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.clock.Add(7 * 24 * time.Hour)
	p, _, err := b.permit()
	if err != nil || !p.ExpiresAt().Equal(b.approval.ExpiresAt) {
		t.Errorf("the permit ends at %v, the approval at %v; %v", p.ExpiresAt(), b.approval.ExpiresAt, err)
	}
}

// atOnce calls f a hundred times at the same time. It must return nil once, and else that the
// approval was used.
func atOnce(t *testing.T, f func() error) {
	t.Helper()
	const n = 100
	errs := make(chan error, n)
	gate := make(chan struct{})
	for range n {
		go func() {
			<-gate
			errs <- f()
		}()
	}
	close(gate)
	succeeded := 0
	for range n {
		if err := <-errs; err == nil {
			succeeded++
		} else {
			wantRefusal(t, err, safety.CodeAlreadyUsed)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d of %d at the same time succeeded", succeeded, n)
	}
}

// Many runs carry out the same approval at the same time: one gets the permit.
func TestPermitsRace(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	atOnce(t, func() error {
		p, _, err := b.guard.Permit(t.Context(), b.execution())
		if err == nil {
			err = p.Consume(t.Context(), b.args)
		}
		return err
	})
	if b.state() != safety.StateExecuting {
		t.Errorf("state %s", b.state())
	}
}

func TestConsumeOnce(t *testing.T) {
	b := newBench(t, nil, strava)
	p := b.permitted()
	atOnce(t, func() error { return p.Consume(t.Context(), b.args) })
}

func TestConsumeRefuses(t *testing.T) {
	consume := func(b *bench, p *safety.Permit) error { return p.Consume(b.t.Context(), b.args) }
	at := func(d time.Duration) func(*bench, *safety.Permit) error {
		return func(b *bench, p *safety.Permit) error {
			b.clock.Add(d)
			return consume(b, p)
		}
	}
	with := func(args map[string]any) func(*bench, *safety.Permit) error {
		return func(b *bench, p *safety.Permit) error { return p.Consume(b.t.Context(), args) }
	}
	for name, test := range map[string]struct {
		code string // "" if the permit can be used
		do   func(*bench, *safety.Permit) error
	}{
		"other arguments":    {safety.CodeArgsChanged, with(map[string]any{"campaign": "summer", "total": 300000.0})},
		"no arguments":       {safety.CodeArgsChanged, with(nil)},
		"bad arguments":      {safety.CodeArgsChanged, with(map[string]any{"x": 1i})},
		"at the last moment": {"", at(30 * time.Second)},
		"expired":            {safety.CodeExpired, at(30*time.Second + 1)},
		"clock set back":     {safety.CodeClock, at(-1)},
		"no clock": {safety.CodeClock, func(b *bench, p *safety.Permit) error {
			b.clock.now = time.Time{}
			return consume(b, p)
		}},
		"end of the run": {safety.CodeCanceled, func(b *bench, p *safety.Permit) error {
			ctx, cancel := context.WithCancel(b.t.Context())
			cancel()
			return p.Consume(ctx, b.args)
		}},
		"taken back in the ledger": {safety.CodeAlreadyUsed, func(b *bench, p *safety.Permit) error {
			_, err := b.ledger.Transition(b.t.Context(), safety.Transition{
				ID: p.ApprovalID(), From: []safety.ApprovalState{safety.StatePermitted}, To: safety.StateExpired, At: epoch,
			})
			return errors.Join(err, consume(b, p))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			p := b.permitted()
			err := test.do(b, p)
			if test.code == "" {
				if err != nil || b.state() != safety.StateExecuting {
					t.Errorf("state %s, %v", b.state(), err)
				}
				return
			}
			refusal, _ := errors.AsType[*safety.Refusal](err)
			if refusal == nil || refusal.Code != test.code || refusal.Tool != "provision_campaign" || refusal.ApprovalID != b.approval.ID {
				t.Errorf("refused with %v, want %s", err, test.code)
			}
			if s := b.state(); s == safety.StateExecuting {
				t.Errorf("state %s", s)
			}
			// What failed once does not come back.
			b.clock.now = epoch
			wantRefusal(t, consume(b, p), safety.CodeAlreadyUsed)
			if err := p.Done(t.Context(), nil); err == nil {
				t.Error("done without having been consumed")
			}
		})
	}
}

// The age of a check counts from its start: a check that takes longer than it is good
// for gives a permit that cannot be used.
func TestSlowCheckGivesNoTime(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.world.takes = 30*time.Second + time.Microsecond
	p, _, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, p.Consume(t.Context(), b.args), safety.CodeExpired)
}

func TestResolveRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*safety.Resolution)
		found bool // whether anything was looked for
	}{
		"no session":      {func(r *safety.Resolution) { r.Session = safety.Session{} }, false},
		"no approval":     {func(r *safety.Resolution) { r.ApprovalID = "" }, false},
		"nobody":          {func(r *safety.Resolution) { r.Who = "" }, false},
		"a blank name":    {func(r *safety.Resolution) { r.Who = " \n" }, false},
		"another session": {func(r *safety.Resolution) { r.Session.User = "bob" }, true},
		"unknown":         {func(r *safety.Resolution) { r.ApprovalID = "unknown" }, true},
	} {
		b := newBench(t, nil, strava).approved()
		runs(b)
		r := safety.Resolution{Session: nike, ApprovalID: b.approval.ID, Who: "olga"}
		test.spoil(&r)
		_, err := b.guard.Resolve(t.Context(), r)
		if err == nil || errors.Is(err, safety.ErrNotFound) != test.found || errors.Is(err, safety.ErrConflict) || b.state() != safety.StateExecuting {
			t.Errorf("%s: %v, left %s", name, err, b.state())
		}
	}
}

// The preconditions are those of the check before the effect, not of the one before the approval,
// of what was compared in it and has a version. There are none until the permit is consumed.
func TestPreconditions(t *testing.T) {
	audience := thing("Targeting", "Athletes", values{"reach": number(1)})
	b := newBench(t, all(
		ofType("Targeting", safety.TypePolicy{Optional: true}),
		checking("Targeting", answer(safety.State{Attributes: audience.Attributes, AsOf: epoch, Version: `"9"`}, errors.New("beside a failure"))),
	), yahoo, strava, budget, audience)
	revise := func(e entity.Canonical, version string) {
		s := b.world.states[e.Key]
		s.Version = version
		b.world.states[e.Key] = s
	}
	revise(yahoo, `"1"`)
	revise(strava, `"1"`)
	revise(budget, "") // its source has none
	b.approved()
	revise(strava, `"2"`)
	p, _, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Preconditions(); got != nil {
		t.Errorf("preconditions before the permit is consumed: %v", got)
	}
	revise(yahoo, `"3"`) // after the check: what the effect has to notice
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	want := []safety.Precondition{
		{EntityType: "Product", Entity: yahoo.Value, Key: yahoo.Key, Version: `"1"`},
		{EntityType: "Product", Entity: strava.Value, Key: strava.Key, Version: `"2"`},
	}
	got := p.Preconditions()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preconditions (-want +got):\n%s", diff)
	}
	got[0].Version = "changed by the caller"
	if err := p.Done(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, p.Preconditions()); diff != "" {
		t.Errorf("preconditions after the end (-want +got):\n%s", diff)
	}

	refused := newBench(t, nil, strava).permitted()
	if err := refused.Consume(t.Context(), map[string]any{"other": true}); err == nil {
		t.Fatal("consumed with other arguments")
	}
	for name, p := range map[string]*safety.Permit{"not consumed": refused, "nil": nil, "zero": {}} {
		if got := p.Preconditions(); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
