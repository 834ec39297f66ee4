// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

func TestPermitAfterDrift(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.world.put(strava, "availability", entity.Bool(false))
	p, r, err := b.permit()
	refusal := wantRefusal(t, err, safety.CodeDrift)
	wantDrift(t, r, safety.Unavailable)
	if p != nil || b.state() != safety.StateBlocked || refusal.Report.ID() != r.ID() {
		t.Errorf("permit %v, state %s", p, b.state())
	}
	b.world.put(strava, "availability", entity.Bool(true))
	_, _, err = b.permit()
	wantRefusal(t, err, safety.CodeBlocked)
}

func TestPermitAtExpiry(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.clock.Add(7 * 24 * time.Hour)
	p, _, err := b.permit()
	if err != nil {
		t.Fatalf("at the last moment: %v", err)
	}
	if !p.ExpiresAt().Equal(b.approval.ExpiresAt) {
		t.Errorf("the permit ends at %v, after the approval at %v", p.ExpiresAt(), b.approval.ExpiresAt)
	}
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Errorf("consumed at the last moment: %v", err)
	}

	b = newBench(t, nil, strava).approved()
	b.clock.Add(7*24*time.Hour + 1)
	_, _, err = b.permit()
	wantRefusal(t, err, safety.CodeExpired)
	if b.state() != safety.StateExpired {
		t.Errorf("state %s, want expired", b.state())
	}
	_, _, err = b.permit()
	wantRefusal(t, err, safety.CodeExpired)
}

func TestPermitWithoutClock(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	for name, times := range map[string][]time.Time{"at once": {{}}, "before the check": {epoch, {}}} {
		b.cfg.Now = clockOf(times...)
		g := b.made()
		p, _, err := g.Permit(t.Context(), b.execution())
		wantRefusal(t, err, safety.CodeClock)
		if p != nil {
			t.Errorf("%s: a permit", name)
		}
	}
}

// Two runs carry out the same approval at the same time: one gets the permit.
func TestPermitsRace(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	const n = 100
	var permits, losers atomic.Int32
	var all sync.WaitGroup
	gate := make(chan struct{})
	for range n {
		all.Go(func() {
			<-gate
			p, _, err := b.guard.Permit(t.Context(), b.execution())
			var refusal *safety.Refusal
			switch {
			case err == nil && p.Consume(t.Context(), b.args) == nil:
				permits.Add(1)
			case errors.As(err, &refusal) && refusal.Code == safety.CodeAlreadyUsed && p == nil:
				losers.Add(1)
			default:
				t.Errorf("permit %v, error %v", p, err)
			}
		})
	}
	close(gate)
	all.Wait()
	if permits.Load() != 1 || losers.Load() != n-1 || b.state() != safety.StateExecuting {
		t.Errorf("%d permits, %d losers, state %s", permits.Load(), losers.Load(), b.state())
	}
}

func TestConsumeOnce(t *testing.T) {
	b := newBench(t, nil, strava)
	p := b.permitted()
	var ran, refused atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if err := p.Consume(t.Context(), b.args); err == nil {
				ran.Add(1)
			} else {
				wantRefusal(t, err, safety.CodeAlreadyUsed)
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if ran.Load() != 1 || refused.Load() != 99 {
		t.Errorf("ran %d times, refused %d times", ran.Load(), refused.Load())
	}
}

func TestConsumeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		do   func(*bench, *safety.Permit) error
	}{
		"other arguments": {safety.CodeArgsChanged, func(b *bench, p *safety.Permit) error {
			b.args["total"] = 300000.0 // changed between the permit and its use
			return p.Consume(b.t.Context(), b.args)
		}},
		"no arguments":  {safety.CodeArgsChanged, func(b *bench, p *safety.Permit) error { return p.Consume(b.t.Context(), nil) }},
		"bad arguments": {safety.CodeArgsChanged, func(b *bench, p *safety.Permit) error { return p.Consume(b.t.Context(), map[string]any{"x": 1i}) }},
		"end of the run": {safety.CodeCanceled, func(b *bench, p *safety.Permit) error {
			ctx, cancel := context.WithCancel(b.t.Context())
			cancel()
			return p.Consume(ctx, b.args)
		}},
		"expired": {safety.CodeExpired, func(b *bench, p *safety.Permit) error {
			b.clock.Add(30*time.Second + 1)
			return p.Consume(b.t.Context(), b.args)
		}},
		"clock set back": {safety.CodeClock, func(b *bench, p *safety.Permit) error {
			b.clock.Add(-1)
			return p.Consume(b.t.Context(), b.args)
		}},
		"no clock": {safety.CodeClock, func(b *bench, p *safety.Permit) error {
			b.clock.now = time.Time{}
			return p.Consume(b.t.Context(), b.args)
		}},
		"taken back in the ledger": {safety.CodeAlreadyUsed, func(b *bench, p *safety.Permit) error {
			if _, err := b.ledger.Transition(b.t.Context(), safety.Transition{
				ID: p.ApprovalID(), From: []safety.ApprovalState{safety.StatePermitted}, To: safety.StateExpired, At: epoch,
			}); err != nil {
				b.t.Fatal(err)
			}
			return p.Consume(b.t.Context(), b.args)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			p := b.permitted()
			refusal := wantRefusal(t, test.do(b, p), test.code)
			if refusal.Tool != "provision_campaign" || refusal.ApprovalID != b.approval.ID {
				t.Errorf("refusal of %q, %q", refusal.Tool, refusal.ApprovalID)
			}
			if s := b.state(); s == safety.StateExecuting {
				t.Errorf("state %s", s)
			}
			// What failed once does not come back.
			b.clock.now = epoch
			wantRefusal(t, p.Consume(t.Context(), map[string]any{"campaign": "summer", "total": 200000.0}), safety.CodeAlreadyUsed)
			if err := p.Done(t.Context(), nil); err == nil {
				t.Error("done without having been consumed")
			}
		})
	}
}

func TestConsumeAtExpiry(t *testing.T) {
	b := newBench(t, nil, strava)
	p := b.permitted()
	b.clock.Add(30 * time.Second)
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Errorf("at the last moment: %v", err)
	}
}

// The age of a check counts from its start: a check that takes longer than it is good
// for gives a permit that cannot be used.
func TestSlowCheckGivesNoTime(t *testing.T) {
	var b *bench
	var slow atomic.Bool
	b = newBench(t, func(cfg *safety.GuardConfig) {
		good := cfg.Checkers["Product"]
		cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
			if slow.Load() {
				b.clock.Add(30*time.Second + time.Microsecond)
			}
			return good.Check(ctx, e)
		})
	}, strava)
	b.approved()
	slow.Store(true)
	p, _, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, p.Consume(t.Context(), b.args), safety.CodeExpired)
}
