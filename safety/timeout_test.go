// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// realTime makes the guard and its world use the clock of the synctest bubble.
func realTime(cfg *safety.GuardConfig) { cfg.Now = time.Now }

// now returns things seen at the time of the bubble.
func seenNow(es ...entity.Canonical) []entity.Canonical {
	out := make([]entity.Canonical, len(es))
	for i, e := range es {
		e.LastSeen = time.Now()
		out[i] = e
	}
	return out
}

func TestTimeoutOfOneCheck(t *testing.T) {
	for name, checker := range map[string]safety.CheckerFunc{
		"obedient": func(ctx context.Context, _ entity.Canonical) (safety.State, error) {
			<-ctx.Done()
			return safety.State{}, fmt.Errorf("looking up: %w", ctx.Err())
		},
		"deaf": func(context.Context, entity.Canonical) (safety.State, error) {
			time.Sleep(time.Hour) // its context is not looked at
			return safety.State{Attributes: fine, AsOf: time.Now()}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(cfg *safety.GuardConfig) {
					realTime(cfg)
					cfg.Checkers["Product"] = checker
				}, seenNow(strava, budget)...)
				b.world.states[budget.Key] = safety.State{Attributes: budget.Attributes, AsOf: time.Now()}
				begun := time.Now()
				r := b.check()
				if took := time.Since(begun); took != 5*time.Second {
					t.Errorf("the check took %v, want the timeout of 5s", took)
				}
				wantFailure(t, r, safety.ReasonTimeout)
				if got := r.Entities()[1].Outcome; got != safety.EntityUnchanged {
					t.Errorf("the other entity is %s, want unchanged", got)
				}
				time.Sleep(2 * time.Hour) // the abandoned check comes back and changes nothing
				synctest.Wait()
				wantFailure(t, r, safety.ReasonTimeout)
			})
		})
	}
}

func TestDeadlineOfAllChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var things []entity.Canonical
		for i := range 10 {
			things = append(things, thing("Product", fmt.Sprintf("P%d", i), fine))
		}
		var calls atomic.Int32
		b := newBench(t, func(cfg *safety.GuardConfig) {
			realTime(cfg)
			cfg.Policy.Parallel = 1
			cfg.Policy.MaxAge = time.Hour
			cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
				calls.Add(1)
				select {
				case <-time.After(4 * time.Second):
					return safety.State{Attributes: e.Attributes, AsOf: time.Now()}, nil
				case <-ctx.Done():
					return safety.State{}, ctx.Err()
				}
			})
		}, seenNow(things...)...)
		begun := time.Now()
		r := b.check()
		if took := time.Since(begun); took != 15*time.Second {
			t.Errorf("the check took %v, want the deadline of 15s", took)
		}
		wantFailure(t, r, safety.ReasonTimeout)
		unchanged := 0
		for _, e := range r.Entities() {
			if e.Outcome == safety.EntityUnchanged {
				unchanged++
			}
		}
		if unchanged != 3 || len(r.Failures()) != 7 || r.TotalEntities() != 10 {
			t.Errorf("%d unchanged, %d failures of %d; want 3, 7 of 10", unchanged, len(r.Failures()), r.TotalEntities())
		}
	})
}

// The time the record takes counts: what is checked after the deadline fails.
func TestDeadlineCoversTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			realTime(cfg)
			cfg.Evidence = evidenceFunc(func(ctx context.Context) (safety.Snapshot, error) {
				time.Sleep(time.Hour)
				return safety.Snapshot{}, nil
			})
		}, seenNow(strava)...)
		begun := time.Now()
		r := b.check()
		if took := time.Since(begun); took != 15*time.Second {
			t.Errorf("the check took %v, want the deadline of 15s", took)
		}
		wantFailure(t, r, safety.ReasonStore)
		if _, err := b.guard.Ask(t.Context(), b.request()); err == nil {
			t.Error("asked on a record that never came")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
	})
}

type evidenceFunc func(context.Context) (safety.Snapshot, error)

func (f evidenceFunc) Collect(ctx context.Context, _ safety.Session, _ record.Decision) (safety.Snapshot, error) {
	return f(ctx)
}

func TestParallelIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var things []entity.Canonical
		for i := range 50 {
			things = append(things, thing("Product", fmt.Sprintf("P%d", i), fine))
		}
		var mu sync.Mutex
		running, most := 0, 0
		b := newBench(t, func(cfg *safety.GuardConfig) {
			realTime(cfg)
			cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				return safety.State{Attributes: e.Attributes, AsOf: time.Now()}, nil
			})
		}, seenNow(things...)...)
		begun := time.Now()
		wantSafe(t, b.check())
		if took := time.Since(begun); most != 8 || took != 7*time.Second {
			t.Errorf("at most %d at a time in %v; want 8 in 7s", most, took)
		}
	})
}

// A checker may spoil the entity it gets: it is its own.
func TestCheckerGetsACopy(t *testing.T) {
	b := newBench(t, nil, strava)
	b.cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
		e.Attributes["price"] = usd("$52,000")
		e.Seen[0].Attributes["price"] = usd("$52,000")
		return safety.State{Attributes: e.Attributes, AsOf: epoch}, nil
	})
	g := b.made()
	r, err := g.Check(t.Context(), nike)
	if err != nil {
		t.Fatal(err)
	}
	wantDrift(t, r, safety.PriceChanged)
	if got := strava.Seen[0].Attributes["price"]; !got.Equal(usd("$40,000")) {
		t.Errorf("the checker changed the record to %v", got)
	}
}
