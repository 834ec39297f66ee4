// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/store"
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
				b := newBench(t, all(realTime, checking("Product", checker)), seenNow(strava, budget)...)
				b.clock.now = time.Now()
				begun := time.Now()
				r := b.check()
				if took := time.Since(begun); took != 5*time.Second {
					t.Errorf("the check took %v, want the timeout of 5s", took)
				}
				time.Sleep(2 * time.Hour) // the abandoned check comes back and changes nothing
				synctest.Wait()
				wantFailure(t, r, safety.ReasonTimeout)
				if got := r.Entities()[1].Outcome; got != safety.EntityUnchanged {
					t.Errorf("the other entity is %s, want unchanged", got)
				}
			})
		})
	}
}

// Sixteen entities are checked at a time, as the policy says, and what is not checked by the deadline fails.
func TestDeadlineOfAllChecks(t *testing.T) {
	for _, test := range []struct {
		n           int
		takes, want time.Duration
		unchanged   int
	}{
		{100, time.Second, 7 * time.Second, 100},
		{100, 4 * time.Second, 15 * time.Second, 48},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			r, err := manyThings(t, test.n, test.takes).Check(t.Context(), nike)
			took := time.Since(begun)
			unchanged := 0
			for _, e := range r.Entities() {
				if e.Outcome == safety.EntityUnchanged {
					unchanged++
				}
			}
			if err != nil || took != test.want || unchanged != test.unchanged || r.IsSafeToApprove() != (unchanged == test.n) {
				t.Errorf("%d of %d are unchanged after %v; want %d after %v", unchanged, test.n, took, test.unchanged, test.want)
			}
			if failed := test.n - unchanged; len(r.Failures()) != failed || slices.ContainsFunc(r.Failures(), func(f safety.Failure) bool { return f.Reason != safety.ReasonTimeout }) {
				t.Errorf("%d failed: %v", failed, r.Failures())
			}
			time.Sleep(test.takes)
			synctest.Wait()
		})
	}
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

func (f evidenceFunc) Collect(ctx context.Context, _ record.Session, _ record.Decision) (safety.Snapshot, error) {
	return f(ctx)
}

// No more checkers run at a time than the policy says.
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

// A checker gets the entity once, with its time and document, and may spoil it: it is its own.
func TestCheckerGetsACopy(t *testing.T) {
	e := strava
	e.ArtifactURI = "gs://plans/summer.json"
	calls := 0
	b := newBench(t, checking("Product", func(_ context.Context, got entity.Canonical) (safety.State, error) {
		calls++
		if diff := cmp.Diff(e, got); diff != "" {
			t.Errorf("the checker got (-want +got):\n%s", diff)
		}
		got.Attributes["price"] = usd("$52,000")
		got.Seen[0].Attributes["price"] = usd("$52,000")
		return safety.State{Attributes: got.Attributes, AsOf: epoch}, nil
	}), e)
	wantDrift(t, b.check(), safety.PriceChanged)
	wantDrift(t, b.check(), safety.PriceChanged)
	if calls != 2 {
		t.Errorf("%d calls for two checks", calls)
	}
}

// sharing answers for all entities with what one call gave.
func sharing[K comparable](key K, call func(context.Context) (values, error)) safety.CheckerFunc {
	return func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		attributes, err := safety.Share(ctx, key, call)
		return safety.State{Attributes: attributes, AsOf: epoch}, err
	}
}

// One call answers for all entities of a check; the next check makes its own.
func TestShareOncePerCheck(t *testing.T) {
	var calls atomic.Int64
	var ids []string
	b := newBench(t, checking("Product", sharing("all", func(ctx context.Context) (values, error) {
		calls.Add(1)
		id, s, ok := safety.CheckOf(ctx)
		if !ok || s != nike {
			t.Errorf("check %q of session %v", id, s)
		}
		ids = append(ids, id)
		return strava.Attributes, nil
	})), thing("Product", yahoo.Value, strava.Attributes), strava)
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
		safety.Share(t.Context(), "key", func(context.Context) (int, error) {
			calls++
			return calls, nil
		})
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
}

// Equal keys of other types share nothing.
func TestShareKeepsTypesApart(t *testing.T) {
	b := newBench(t, checking("Product", func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		n, err := safety.Share(ctx, 1, func(context.Context) (int, error) { return 1, nil })
		s, err2 := safety.Share(ctx, 1, func(context.Context) (string, error) { return "one", nil })
		u, err3 := safety.Share(ctx, uint(1), func(context.Context) (string, error) { return "uno", nil })
		if n != 1 || s != "one" || u != "uno" {
			t.Errorf("%d, %q, %q", n, s, u)
		}
		return safety.State{Attributes: e.Attributes, AsOf: epoch}, errors.Join(err, err2, err3)
	}), strava)
	wantSafe(t, b.check())
}

// What fails in the one call fails every entity that rests on it, each for itself, and holds up
// nobody. A key that no map takes is a panic of its call alone.
func TestShareFails(t *testing.T) {
	for name, test := range map[string]struct {
		checker safety.CheckerFunc
		reason  string
		took    time.Duration
	}{
		"an error": {sharing("all", func(context.Context) (values, error) { return nil, errors.New("no") }), safety.ReasonError, 0},
		"a panic":  {sharing("all", func(context.Context) (values, error) { panic("no") }), safety.ReasonPanic, 0},
		"no key":   {sharing(any([]string{}), func(context.Context) (values, error) { return strava.Attributes, nil }), safety.ReasonPanic, 0},
		"no end": {sharing("all", func(context.Context) (values, error) {
			time.Sleep(time.Hour)
			return strava.Attributes, nil
		}), safety.ReasonTimeout, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, all(realTime, checking("Product", test.checker)), seenNow(yahoo, strava)...)
				begun := time.Now()
				if got := reasons(b.check()); !slices.Equal(got, []string{test.reason, test.reason}) || time.Since(begun) != test.took {
					t.Errorf("failures %v after %v, want %s of each entity after %v", got, time.Since(begun), test.reason, test.took)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
			})
		})
	}
}

// What a checker says of its sources is bounded and printable.
func TestOrigins(t *testing.T) {
	list := make([]safety.Origin, 30)
	list[0] = safety.Origin{Kind: "a\nb", Name: "c\nd", Call: "e\nf", LatencyMS: 3}
	r := newBench(t, answering(safety.State{Attributes: strava.Attributes, AsOf: epoch, Origins: list}, nil), strava).check()
	got := r.Entities()[0].Origins
	if want := (safety.Origin{Kind: "a b", Name: "c d", Call: "e f", LatencyMS: 3}); len(got) != 20 || got[0] != want {
		t.Errorf("%d origins, the first %+v", len(got), got[0])
	}
	got[0].Kind, list[0].Name = "changed", "changed"
	if again := r.Entities()[0].Origins[0]; again.Kind != "a b" || again.Name != "c d" {
		t.Errorf("the report was changed: %+v", again)
	}
}

// manyThings is a guard over n entities whose checkers answer after a while, 16 at a time.
func manyThings(tb testing.TB, n int, takes time.Duration) *safety.Guard {
	tb.Helper()
	var things []entity.Canonical
	for i := range n {
		e := thing("Product", fmt.Sprint("P", i), strava.Attributes)
		e.LastSeen = time.Now()
		things = append(things, e)
	}
	g, err := safety.NewGuard(safety.GuardConfig{
		Ledger: new(store.Memory).Open().Ledger(),
		Evidence: evidenceFunc(func(context.Context) (safety.Snapshot, error) {
			return safety.Snapshot{Evidence: entity.Evidence{Entities: things}, Receipt: record.Receipt{Watermark: 1, RowsRead: 1, Version: "rules"}}, nil
		}),
		Checkers: map[string]safety.Checker{"Product": safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
			time.Sleep(takes)
			return safety.State{Attributes: e.Attributes, AsOf: time.Now()}, nil
		})},
	})
	if err != nil {
		tb.Fatal(err)
	}
	safety.InParallel(g, 16)
	return g
}
