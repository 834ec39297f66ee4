// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
)

func TestRowsLand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(50 * time.Millisecond) }
		m := newMemory(t, table)
		m.add(rows(5000, 1000)...)
		r := start(t, m, table, nil)
		began := time.Now()
		flush(t, r)
		if d := time.Since(began); d > 500*time.Millisecond {
			t.Errorf("5000 rows took %v with answers after 50 ms", d)
		}
		wantRows(t, table, 5000, 5000)
		if table.largest > replicate.DefaultBatchBytes || table.largest < replicate.DefaultBatchBytes-2000 {
			t.Errorf("the largest request has %d bytes", table.largest)
		}
		if table.most != replicate.DefaultInFlight {
			t.Errorf("%d requests were in flight, want %d", table.most, replicate.DefaultInFlight)
		}
		s := r.Status()
		if !s.Active || s.LagRows != 0 || s.LagSeconds != 0 || s.Acknowledged != 5000 || s.Bytes != uint64(table.bytes) || s.LastError != nil || s.Retries != 0 {
			t.Errorf("Status() = %+v", s)
		}
		if s.HeldBytes != 0 {
			t.Errorf("%d bytes are held when nothing is left", s.HeldBytes)
		}
		finish(t, r)
		if table.opens != 1 || table.closes != 1 || m.owner != "" {
			t.Errorf("%d streams opened, %d closed; the lease is with %q", table.opens, table.closes, m.owner)
		}
		if m.advances > 3 {
			t.Errorf("%d transactions for one burst", m.advances)
		}
	})
}

// A row waits for others until BatchAge, but not when somebody flushes.
func TestBatchAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		synctest.Wait()
		m.add(row("a", 1, 10))
		time.Sleep(replicate.DefaultBatchAge - time.Millisecond)
		m.add(row("a", 2, 10))
		synctest.Wait()
		wantRows(t, table, 0, 0)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		wantRows(t, table, 2, 2)
		m.add(row("a", 3, 10))
		began := time.Now()
		flush(t, r)
		if d := time.Since(began); d > 0 {
			t.Errorf("Flush took %v", d)
		}
		wantRows(t, table, 3, 3)
		if table.sent() != 2 {
			t.Errorf("%d requests, want 2", table.sent())
		}
		finish(t, r)
	})
}

// Rows of other processes give no notice.
func TestPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		synctest.Wait()
		m.mu.Lock()
		m.watchers = nil
		m.mu.Unlock()
		m.add(row("a", 1, 10))
		time.Sleep(replicate.DefaultPoll + replicate.DefaultBatchAge)
		synctest.Wait()
		wantRows(t, table, 1, 1)
		finish(t, r)
	})
}

// Each case lets something go wrong with the first requests. All rows land, so often.
func TestErrorsLoseNothing(t *testing.T) {
	once := func(o outcome) func(call) outcome {
		return func(c call) outcome {
			if c.n == 1 {
				return o
			}
			return taken(time.Millisecond)
		}
	}
	const n = 100
	for name, c := range map[string]struct {
		respond  func(call) outcome
		open     func(int) error
		all      int           // rows that landed, counting each time
		opens    int           // streams
		atMost   time.Duration // until everything is acknowledged
		upgrades int
	}{
		"unavailable":                 {once(outcome{err: failure(replicate.ClassTransient, "UNAVAILABLE")}), nil, n, 2, 200 * time.Millisecond, 0},
		"exhausted":                   {once(outcome{err: failure(replicate.ClassExhausted, "RESOURCE_EXHAUSTED")}), nil, n, 2, 3 * time.Second, 0},
		"broken before it is taken":   {once(outcome{broken: true}), nil, n, 2, 200 * time.Millisecond, 0},
		"broken after it was taken":   {once(outcome{taken: true, broken: true}), nil, n + 10, 2, 200 * time.Millisecond, 0},
		"an error that is not ours":   {once(outcome{err: errors.New("what")}), nil, n, 2, 200 * time.Millisecond, 0},
		"a stream that never answers": {once(outcome{never: true}), nil, n, 2, 31 * time.Second, 0},
		"an answer that is late":      {once(outcome{taken: true, delay: 29 * time.Second}), nil, n, 1, 30 * time.Second, 0},
		"a panic":                     {once(outcome{panics: true}), nil, n, 2, 200 * time.Millisecond, 0},
		"refused by Append":           {once(outcome{appendErr: errBroken}), nil, n, 2, 200 * time.Millisecond, 0},
		"too large":                   {once(outcome{err: failure(replicate.ClassTooLarge, "too large")}), nil, n, 2, 100 * time.Millisecond, 0},
		"refused once for no reason":  {once(outcome{err: failure(replicate.ClassRows, "INVALID_ARGUMENT")}), nil, n, 1, 100 * time.Millisecond, 0},
		"a schema without a column":   {once(outcome{err: failure(replicate.ClassSchema, "no column")}), nil, n, 2, 2 * time.Second, 1},
		"a table that is new": {func(c call) outcome {
			if c.n <= 8 {
				return outcome{err: failure(replicate.ClassNotFound, "NOT_FOUND"), broken: true}
			}
			return taken(0)
		}, nil, n, 3, 5 * time.Second, 0},
		"a stream that cannot be opened": {nil, func(n int) error {
			if n <= 3 {
				return failure(replicate.ClassTransient, "UNAVAILABLE")
			}
			return nil
		}, n, 4, time.Second, 0},
		"an Open that says too large": {nil, func(n int) error {
			if n <= 3 {
				return failure(replicate.ClassTooLarge, "of no sense")
			}
			return nil
		}, n, 4, time.Second, 0},
		"an Open that panics": {nil, func(n int) error {
			if n == 1 {
				panic("open")
			}
			return nil
		}, n, 2, 200 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newTable(t)
				table.respond, table.open = c.respond, c.open
				m := newMemory(t, table)
				m.add(rows(n, 1000)...)
				r := start(t, m, table, func(c *replicate.Config) { c.BatchBytes = 11_000 })
				began := time.Now()
				flush(t, r)
				if d := time.Since(began); d > c.atMost {
					t.Errorf("it took %v, want at most %v", d, c.atMost)
				}
				wantRows(t, table, n, c.all)
				if len(m.letters()) > 0 {
					t.Errorf("dead letters: %v", m.dead)
				}
				if table.opens != c.opens || table.upgrades != c.upgrades {
					t.Errorf("%d streams and %d upgrades, want %d and %d", table.opens, table.upgrades, c.opens, c.upgrades)
				}
				if s := r.Status(); s.LastError != nil || !s.FailingSince.IsZero() || s.Reopened != uint64(c.opens-1) {
					t.Errorf("Status() = %+v", s)
				}
				finish(t, r)
			})
		})
	}
}

// Attempts are made less and less often, and Status says since when they fail.
func TestBackoff(t *testing.T) {
	for name, c := range map[string]struct {
		class       replicate.Class
		least, most int // attempts in ten minutes
	}{
		"transient": {replicate.ClassTransient, 25, 90},
		"exhausted": {replicate.ClassExhausted, 8, 40},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newTable(t)
				table.respond = func(call) outcome { return outcome{err: failure(c.class, "UNAVAILABLE")} }
				m := newMemory(t, table)
				m.add(rows(3, 10)...)
				began := time.Now()
				r := start(t, m, table, nil)
				time.Sleep(5 * time.Second)
				if n := table.sent(); n > 16 {
					t.Errorf("%d attempts in five seconds", n)
				}
				time.Sleep(10*time.Minute - 5*time.Second)
				if n := table.sent(); n < c.least || n > c.most {
					t.Errorf("%d attempts in ten minutes, want %d to %d", n, c.least, c.most)
				}
				s := r.Status()
				if s.LagRows != 3 || s.LagSeconds < 600 || s.Stopped || s.LastError == nil || s.FailingSince.Sub(began) > 2*time.Second {
					t.Errorf("Status() = %+v", s)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := r.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "UNAVAILABLE") {
					t.Errorf("Flush() = %v, want the end of its time and the last error", err)
				}
				if err := r.Close(ctx); err == nil || !strings.Contains(err.Error(), "stay in the journal") {
					t.Errorf("Close() = %v, want what is left", err)
				}
			})
		})
	}
}

// A permanent error stops; once somebody has removed the reason it goes on by itself.
func TestPermanent(t *testing.T) {
	for name, err := range map[string]error{
		"permission": &replicate.Error{Class: replicate.ClassPermanent, Err: errors.New("PERMISSION_DENIED"), Remedy: "grant roles/bigquery.dataEditor"},
		"not found":  &replicate.Error{Class: replicate.ClassNotFound, Err: errors.New("NOT_FOUND"), Remedy: "run contextgraph init"},
		"schema":     &replicate.Error{Class: replicate.ClassSchema, Err: errors.New("no column"), Remedy: "run contextgraph init"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var healed bool
				table := newTable(t)
				table.respond = func(call) outcome {
					if healed {
						return taken(0)
					}
					return outcome{err: err, broken: true}
				}
				m := newMemory(t, table)
				m.add(rows(10, 10)...)
				r := start(t, m, table, nil)
				time.Sleep(6 * time.Minute)
				s := r.Status()
				if !s.Stopped || !errors.Is(s.LastError, err) || !strings.Contains(s.LastError.Error(), err.(*replicate.Error).Remedy) {
					t.Errorf("Status() = %+v", s)
				}
				began := time.Now()
				if err := r.Flush(t.Context()); !errors.Is(err, replicate.ErrStopped) {
					t.Errorf("Flush() = %v, want ErrStopped", err)
				}
				if time.Since(began) > 0 {
					t.Errorf("Flush took %v", time.Since(began))
				}
				before := table.sent()
				time.Sleep(10 * time.Minute)
				if n := table.sent() - before; n < 9 || n > 10 {
					t.Errorf("%d attempts in ten minutes", n)
				}
				table.change(func() { healed = true })
				time.Sleep(2 * time.Minute)
				wantRows(t, table, 10, 10)
				if s := r.Status(); s.Stopped || s.LastError != nil || s.LagRows != 0 {
					t.Errorf("after the remedy Status() = %+v", s)
				}
				finish(t, r)
			})
		})
	}
}

// Nothing of a target that hangs in every method holds up Close, Flush or Status.
type hanging struct{ release chan struct{} }

func (h hanging) Open(context.Context) (replicate.Stream, error) { return h, nil }
func (h hanging) Upgrade(context.Context) error                  { <-h.release; return nil }
func (h hanging) Close() error                                   { <-h.release; return nil }
func (h hanging) Append(context.Context, [][]byte) (replicate.Pending, error) {
	<-h.release
	return nil, errBroken
}

func TestTargetThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{make(chan struct{})}
		var opens atomic.Int32
		m := newMemory(t, nil)
		m.add(rows(10, 10)...)
		r := start(t, m, counting{h, &opens}, nil)
		time.Sleep(time.Hour)
		if n := opens.Load(); n != 4 {
			t.Errorf("%d streams were opened that do not return, want 4", n)
		}
		if s := r.Status(); s.LastError == nil || s.Acknowledged != 0 {
			t.Errorf("Status() = %+v", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := r.Close(ctx); err == nil {
			t.Error("Close() = nil with rows that were not sent")
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("Close took %v", d)
		}
		if err := r.Close(t.Context()); err == nil {
			t.Error("the second Close() = nil")
		}
		if err := r.Flush(t.Context()); !errors.Is(err, replicate.ErrClosed) {
			t.Errorf("Flush() = %v, want ErrClosed", err)
		}
		close(h.release)
	})
}

type counting struct {
	replicate.Target
	opens *atomic.Int32
}

func (c counting) Open(ctx context.Context) (replicate.Stream, error) {
	c.opens.Add(1)
	return c.Target.Open(ctx)
}

// breaking is a target whose streams fail at the first request, until it hangs.
type breaking struct {
	hanging
	broken, hung atomic.Int32 // streams that were opened
	hangs        atomic.Bool
}

func (b *breaking) Open(ctx context.Context) (replicate.Stream, error) {
	if b.hangs.Load() {
		b.hung.Add(1)
		return b.hanging, nil
	}
	b.broken.Add(1)
	return broken{}, nil
}

type broken struct{}

func (broken) Append(context.Context, [][]byte) (replicate.Pending, error) { return nil, errBroken }
func (broken) Close() error                                                { return nil }

// However many streams were dropped before, one that has ended counts once: the bound of
// those that hang is the same.
func TestHangsAfterManyFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &breaking{hanging: hanging{make(chan struct{})}}
		m := newMemory(t, nil)
		m.add(rows(1, 10)...)
		r := start(t, m, b, nil)
		for b.broken.Load() < 10_000 {
			time.Sleep(time.Hour)
		}
		b.hangs.Store(true)
		time.Sleep(time.Hour)
		if n := b.hung.Load(); n != 4 {
			t.Errorf("%d streams were opened that do not return, want 4", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = r.Close(ctx)
		close(b.release)
	})
}

// An upgrade that fails is tried again with the next attempt, and one that may not be
// done stops.
func TestUpgradeFails(t *testing.T) {
	for class, stopped := range map[replicate.Class]bool{replicate.ClassTransient: false, replicate.ClassPermanent: true} {
		t.Run(class.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newTable(t)
				var upgraded bool
				table.respond = func(call) outcome {
					if !upgraded {
						return outcome{err: failure(replicate.ClassSchema, "no column"), broken: true}
					}
					return taken(0)
				}
				table.upgrade = func(n int) error {
					if n < 3 {
						return failure(class, "the upgrade failed")
					}
					table.change(func() { upgraded = true })
					return nil
				}
				m := newMemory(t, table)
				m.add(rows(10, 10)...)
				r := start(t, m, table, nil)
				if stopped {
					err := r.Flush(t.Context())
					if !errors.Is(err, replicate.ErrStopped) || !strings.Contains(err.Error(), "the upgrade failed") {
						t.Errorf("Flush() = %v", err)
					}
					time.Sleep(3 * time.Minute)
				}
				flush(t, r)
				wantRows(t, table, 10, 10)
				finish(t, r)
			})
		})
	}
}

// A stream that gives an error and then falls silent is not waited for long.
func TestSilenceAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(c call) outcome {
			switch c.n {
			case 1:
				return outcome{err: failure(replicate.ClassTransient, "UNAVAILABLE")}
			case 2:
				return outcome{never: true}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		m.add(rows(100, 1000)...)
		r := start(t, m, table, func(c *replicate.Config) { c.BatchBytes = 11_000 })
		began := time.Now()
		flush(t, r)
		if d := time.Since(began); d > 6*time.Second {
			t.Errorf("it took %v", d)
		}
		wantRows(t, table, 100, 100)
		finish(t, r)
	})
}

// Close without time says what it leaves, and sends nothing more.
func TestCloseWithoutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(time.Minute) }
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		synctest.Wait()
		m.add(rows(10, 10)...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		err := r.Close(ctx)
		if err == nil || !strings.Contains(err.Error(), "rows after 0 are not acknowledged and stay in the journal") {
			t.Errorf("Close() = %v", err)
		}
		if again := r.Close(t.Context()); !errors.Is(again, err) {
			t.Errorf("the second Close() = %v, the first %v", again, err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("Close took %v", d)
		}
		if m.owner != "" {
			t.Errorf("the lease is still with %q", m.owner)
		}
	})
}

// Close sends what is left at once.
func TestCloseSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		synctest.Wait()
		m.add(rows(10, 10)...)
		began := time.Now()
		finish(t, r)
		if d := time.Since(began); d > 0 {
			t.Errorf("Close took %v", d)
		}
		wantRows(t, table, 10, 10)
	})
}

// While nothing is acknowledged, rows wait in the journal and not in memory.
func TestMemoryInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return outcome{never: true} }
		m := newMemory(t, table)
		m.add(rows(3000, 1000)...)
		r := start(t, m, table, func(c *replicate.Config) { c.BatchBytes = 50_000 })
		for range 100 {
			time.Sleep(time.Second)
			if held := r.Status().HeldBytes; held < 200_000 || held > 5*50_000 {
				t.Errorf("%d bytes are held, want about five batches", held)
			}
		}
		table.change(func() { table.respond = nil })
		flush(t, r)
		wantRows(t, table, 3000, 3000)
		finish(t, r)
	})
}

// A success makes the next wait a short one again.
func TestBackoffIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(c call) outcome {
			if c.n <= 8 || c.n == 10 {
				return outcome{err: failure(replicate.ClassTransient, "UNAVAILABLE"), broken: true}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		m.add(row("a", 1, 10))
		flush(t, r)
		m.add(row("a", 2, 10))
		began := time.Now()
		flush(t, r)
		if d := time.Since(began); d > 100*time.Millisecond {
			t.Errorf("the wait after one error was %v", d)
		}
		wantRows(t, table, 2, 2)
		finish(t, r)
	})
}

// A row that no request can hold is a dead letter, and the others land.
func TestRowOverTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		m := newMemory(t, table)
		m.add(row("a", 1, 10), row("a", 2, replicate.MaxRequestBytes), row("a", 3, 3<<20), row("a", 4, 10))
		r := start(t, m, table, nil)
		flush(t, r)
		wantRows(t, table, 3, 3)
		if l := m.dead[2]; len(m.letters()) != 1 || l.Bytes < replicate.MaxRequestBytes || !strings.Contains(l.Reason, "at most 9437184") {
			t.Errorf("dead letters: %+v", m.dead)
		}
		finish(t, r)
	})
}

func TestCloseBeforeStart(t *testing.T) {
	good := replicate.Config{Source: newMemory(t, nil), Target: newTable(t)}
	r := replicate.New(good)
	if err := r.Close(t.Context()); err != nil {
		t.Errorf("Close() of one that was not started = %v", err)
	}
	r.Start()
	good.Source.(*memory).add(row("a", 1, 1))
	if err := r.Flush(t.Context()); !errors.Is(err, replicate.ErrClosed) {
		t.Errorf("Flush() = %v, want ErrClosed", err)
	}
}

func TestErrorText(t *testing.T) {
	err := &replicate.Error{Class: replicate.ClassRows, Err: errors.New("refused"), Remedy: "look", Rows: []replicate.RowError{
		{Index: 1, Code: "C", Message: "m"}, {Index: 2, Message: "m"}, {Index: 3, Code: "C"}, {Index: 4},
	}}
	const want = "refused; row 1: C: m; row 2: m; row 3: C; and 1 more: look"
	if got := fmt.Errorf("%w", err).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&replicate.Error{}).Error(); got != "error of class ambiguous" {
		t.Errorf("the zero Error is %q", got)
	}
}
