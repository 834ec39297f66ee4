// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// revise gives an entity of the world a version.
func (w *world) revise(e entity.Canonical, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.states[e.Key]
	s.Version = version
	w.states[e.Key] = s
}

// The preconditions are those of the check before the effect, not of the one before the
// approval, and there are none until the permit is consumed.
func TestPreconditionsAreThoseOfTheConsumedPermit(t *testing.T) {
	b := newBench(t, nil, yahoo, strava, budget)
	b.world.revise(yahoo, `"1"`)
	b.world.revise(strava, `"1"`)
	b.world.revise(budget, "") // its source has none
	b.ask()
	if out := b.answer(true); !out.Accepted {
		t.Fatalf("not accepted: %s", out.Reason)
	}
	b.world.revise(strava, `"2"`)
	p, _, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Preconditions(); got != nil {
		t.Errorf("preconditions before the permit is consumed: %v", got)
	}
	b.world.revise(yahoo, `"3"`) // after the check: what the effect has to notice
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
}

// A permit that could not be consumed has no preconditions, and neither has none.
func TestPreconditionsOfNoPermit(t *testing.T) {
	b := newBench(t, nil, strava)
	b.world.revise(strava, `"1"`)
	p := b.permitted()
	if err := p.Consume(t.Context(), map[string]any{"other": true}); err == nil {
		t.Fatal("consumed with other arguments")
	}
	for name, p := range map[string]*safety.Permit{"not consumed": p, "nil": nil, "zero": {}} {
		if got := p.Preconditions(); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The version that a checker names beside its failure is not one of a state that was
// compared.
func TestPreconditionsLackWhatWasSkipped(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Types = map[string]safety.TypePolicy{"Budget": {Optional: true}}
		checkers := map[string]safety.Checker{"Product": cfg.Checkers["Product"]}
		checkers["Budget"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
			s, _ := cfg.Checkers["Product"].Check(ctx, e)
			s.Version = `"9"`
			return s, errors.New("down")
		})
		cfg.Checkers = checkers
	}, strava, budget)
	b.world.revise(strava, `"1"`)
	p := b.permitted()
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	want := []safety.Precondition{{EntityType: "Product", Entity: strava.Value, Key: strava.Key, Version: `"1"`}}
	if diff := cmp.Diff(want, p.Preconditions()); diff != "" {
		t.Errorf("preconditions (-want +got):\n%s", diff)
	}
}
