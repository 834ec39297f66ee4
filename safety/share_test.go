// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// sharing answers for all entities with what one call gave.
func sharing(b *bench, call func(context.Context) (map[string]entity.Value, error)) safety.CheckerFunc {
	return func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		attributes, err := safety.Share(ctx, "all", call)
		return safety.State{Attributes: attributes, AsOf: b.clock.Now()}, err
	}
}

// One call answers for all entities of a check; the next check makes its own.
func TestShareOncePerCheck(t *testing.T) {
	same := thing("Product", yahoo.Value, strava.Attributes)
	var calls atomic.Int64
	var b *bench
	var ids []string
	b = newBench(t, nil, same, strava)
	b.cfg.Checkers["Product"] = sharing(b, func(ctx context.Context) (map[string]entity.Value, error) {
		calls.Add(1)
		id, s, ok := safety.CheckOf(ctx)
		if !ok || s != nike {
			t.Errorf("check %q of session %v", id, s)
		}
		ids = append(ids, id)
		return strava.Attributes, nil
	})
	b.guard = b.made()
	first, second := b.check(), b.check()
	if !first.IsSafeToApprove() || !second.IsSafeToApprove() || calls.Load() != 2 {
		t.Errorf("%d calls for two checks\n%s%s", calls.Load(), first.Summary(), second.Summary())
	}
	if diff := cmp.Diff([]string{first.ID(), second.ID()}, ids); diff != "" {
		t.Errorf("ids of the checks (-want +got):\n%s", diff)
	}
}

func TestShareOutsideOfACheck(t *testing.T) {
	if _, _, ok := safety.CheckOf(t.Context()); ok {
		t.Error("there is a check")
	}
	calls := 0
	for range 2 {
		safety.Share(t.Context(), "key", func(context.Context) (int, error) { calls++; return calls, nil })
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
}

// Equal keys of other types share nothing.
func TestShareKeepsTypesApart(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
			n, err := safety.Share(ctx, 1, func(context.Context) (int, error) { return 1, nil })
			s, err2 := safety.Share(ctx, 1, func(context.Context) (string, error) { return "one", nil })
			u, err3 := safety.Share(ctx, uint(1), func(context.Context) (string, error) { return "uno", nil })
			if n != 1 || s != "one" || u != "uno" {
				t.Errorf("%d, %q, %q", n, s, u)
			}
			return safety.State{Attributes: e.Attributes, AsOf: epoch}, errors.Join(err, err2, err3)
		})
	}, strava)
	if r := b.check(); !r.IsSafeToApprove() {
		t.Error(r.Summary())
	}
}

// What fails in the one call fails every entity that rests on it, each for itself.
func TestShareFails(t *testing.T) {
	for name, test := range map[string]struct {
		call   func(context.Context) (map[string]entity.Value, error)
		reason string
	}{
		"error": {func(context.Context) (map[string]entity.Value, error) { return nil, errors.New("no") }, safety.ReasonError},
		"panic": {func(context.Context) (map[string]entity.Value, error) { panic("no") }, safety.ReasonPanic},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, yahoo, strava)
			b.cfg.Checkers["Product"] = sharing(b, test.call)
			b.guard = b.made()
			r := b.check()
			n := 0
			for _, f := range r.Failures() {
				if f.Reason == test.reason && f.EntityType == "Product" {
					n++
				}
			}
			if n != 2 || r.IsSafeToApprove() {
				t.Errorf("%d failures with reason %s\n%s", n, test.reason, r.Summary())
			}
		})
	}
}

// A key that no map takes is a panic of its call alone: no other call waits for it.
func TestShareUnhashableKey(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
			_, err := safety.Share(ctx, any([]string{e.Key}), func(context.Context) (int, error) { return 1, nil })
			return safety.State{}, err
		})
	}, yahoo, strava)
	failures := b.check().Failures()
	if len(failures) != 2 || failures[0].Reason != safety.ReasonPanic || failures[1].Reason != safety.ReasonPanic {
		t.Errorf("failures %v, want a panic for each entity", failures)
	}
}

// A call that never returns holds up nobody.
func TestShareIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(t, realTime, seenNow(yahoo, strava)...)
		b.cfg.Checkers["Product"] = sharing(b, func(context.Context) (map[string]entity.Value, error) {
			<-release
			return strava.Attributes, nil
		})
		b.guard = b.made()
		begun := time.Now()
		r := b.check()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the check took %v, want the timeout of 5s", took)
		}
		wantFailure(t, r, safety.ReasonTimeout)
		close(release)
		synctest.Wait()
	})
}

// What a checker says of its sources is bounded and printable.
func TestOrigins(t *testing.T) {
	list := make([]safety.Origin, 30)
	list[0] = safety.Origin{Kind: "a\nb", Name: "c\nd", Call: "e\nf", LatencyMS: 3}
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
			return safety.State{Attributes: strava.Attributes, AsOf: epoch, Origins: list}, nil
		})
	}, strava)
	r := b.check()
	got := r.Entities()[0].Origins
	if want := (safety.Origin{Kind: "a b", Name: "c d", Call: "e f", LatencyMS: 3}); len(got) != 20 || got[0] != want {
		t.Errorf("%d origins, the first %+v", len(got), got[0])
	}
	got[0].Kind, list[0].Name = "changed", "changed"
	if again := r.Entities()[0].Origins[0]; again.Kind != "a b" || again.Name != "c d" {
		t.Errorf("the report was changed: %+v", again)
	}
}
