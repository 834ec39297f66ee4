// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// watched is a source whose calls are counted and may be changed.
type watched struct {
	*memory
	backlogs, reads, lasts atomic.Int32
	// rows and backlog are asked first; they may be nil.
	rows    func(after int64) ([]record.Event, error)
	backlog func(ctx context.Context) error
	slow    time.Duration // of LastSeq
	late    time.Duration // of Changed, which is the first call
}

func (w *watched) Changed(ch chan<- struct{}) (stop func()) {
	if w.late > 0 {
		time.Sleep(w.late)
	}
	return w.memory.Changed(ch)
}

func (w *watched) Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	w.reads.Add(1)
	if w.rows != nil {
		if rows, err := w.rows(after); rows != nil || err != nil {
			return rows, err
		}
	}
	return w.memory.Rows(ctx, after, maxRows, maxBytes)
}

func (w *watched) Backlog(ctx context.Context) (store.Backlog, error) {
	w.backlogs.Add(1)
	if w.backlog != nil {
		if err := w.backlog(ctx); err != nil {
			return store.Backlog{}, err
		}
	}
	return w.memory.Backlog(ctx)
}

func (w *watched) LastSeq(ctx context.Context) (int64, error) {
	w.lasts.Add(1)
	if w.slow > 0 {
		time.Sleep(w.slow)
	}
	return w.memory.LastSeq(ctx)
}

// A silent stream is dropped in time, also when nothing else wakes the replicator.
func TestWatchdogWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(c call) outcome {
			if c.n == 1 {
				return outcome{never: true}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		m.add(rows(10, 10)...)
		r := start(t, m, table, func(c *replicate.Config) { c.LeaseTTL, c.Poll = 24*time.Hour, 24*time.Hour })
		began := time.Now()
		flush(t, r)
		if d := time.Since(began); d > replicate.DefaultAckTimeout+time.Second {
			t.Errorf("the stream was dropped after %v", d)
		}
		wantRows(t, table, 10, 10)
		finish(t, r)
	})
}

// Who learns from the renewal that another one has the lease stops at once.
func TestRenewalFindsAnotherOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return outcome{never: true} }
		m := newMemory(t, table)
		m.add(rows(10, 10)...)
		r := start(t, m, table, nil)
		time.Sleep(2 * time.Second)
		m.mu.Lock()
		m.owner, m.until = "somebody", time.Now().Add(time.Hour)
		m.mu.Unlock()
		time.Sleep(replicate.DefaultLeaseTTL/3 + time.Second) // long before its own would expire
		if s := r.Status(); s.Active || !s.Standby || s.HeldBytes != 0 {
			t.Errorf("Status() = %+v, want a standby", s)
		}
		if table.closes != 1 {
			t.Error("the stream is still open")
		}
		finish(t, r)
	})
}

// The table is upgraded for an error that says so, and not for every stream after it.
func TestUpgradesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(c call) outcome {
			switch {
			case c.n == 1:
				return outcome{err: failure(replicate.ClassSchema, "no column"), broken: true}
			case len(c.ids) > 3:
				return outcome{err: failure(replicate.ClassTooLarge, "too large"), broken: true}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		m.add(rows(10, 10)...)
		r := start(t, m, table, nil)
		flush(t, r)
		wantRows(t, table, 10, 10)
		if table.upgrades != 1 || table.opens < 3 {
			t.Errorf("%d upgrades for %d streams, want 1", table.upgrades, table.opens)
		}
		finish(t, r)
	})
}

// Flush sends the rows of a request at once that is not full and not old.
func TestFlushSendsYoungRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		m := newMemory(t, table)
		r := start(t, m, table, func(c *replicate.Config) { c.BatchAge = time.Hour })
		synctest.Wait()
		m.add(rows(3, 10)...)
		synctest.Wait()
		if r.Status().HeldBytes == 0 {
			t.Fatal("the rows were not read")
		}
		wantRows(t, table, 0, 0)
		began := time.Now()
		flush(t, r)
		if d := time.Since(began); d > 0 {
			t.Errorf("Flush took %v", d)
		}
		wantRows(t, table, 3, 3)
		finish(t, r)
	})
}

// While rows keep being acknowledged the cursor is stored twice a second.
func TestCursorWritesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(100 * time.Millisecond) }
		m := newMemory(t, table)
		m.add(rows(2000, 1000)...)
		began := time.Now()
		r := start(t, m, table, func(c *replicate.Config) { c.BatchBytes, c.InFlight = 20_000, 1 })
		flush(t, r)
		d := time.Since(began)
		if least, most := int(d/time.Second), int(2*d/time.Second)+2; m.advances < least || m.advances > most || d < 5*time.Second {
			t.Errorf("the cursor was stored %d times in %v, want %d to %d", m.advances, d, least, most)
		}
		finish(t, r)
	})
}

// Rows that did not go out are not overtaken by those behind them.
func TestRefusedAppendIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t) // checks the order
		table.respond = func(c call) outcome {
			if c.n == 1 {
				return outcome{appendErr: failure(replicate.ClassTooLarge, "not sent")}
			}
			return taken(time.Second)
		}
		m := newMemory(t, table)
		m.add(rows(100, 1000)...)
		r := start(t, m, table, func(c *replicate.Config) { c.BatchBytes = 11_000 })
		flush(t, r)
		wantRows(t, table, 100, 100)
		finish(t, r)
	})
}

// keeper is a stream that reads what its first Append refused for as long as it lives.
type keeper struct {
	lean
	tb      testing.TB
	refusal error
	appends atomic.Int32
	kept    [][]byte
	ids     []string
}

func (k *keeper) Open(context.Context) (replicate.Stream, error) { return k, nil }

func (k *keeper) Append(ctx context.Context, rows [][]byte) (replicate.Pending, error) {
	if k.appends.Add(1) > 1 {
		return k.lean.Append(ctx, rows)
	}
	k.kept = slices.Clone(rows)
	for _, r := range rows {
		k.ids = append(k.ids, eventID(k.tb, r))
	}
	return nil, k.refusal
}

// What Append refused stays as it is: the stream may go on reading it.
func TestRefusedRowsAreNotChanged(t *testing.T) {
	for _, class := range []replicate.Class{replicate.ClassTransient, replicate.ClassRows, replicate.ClassTooLarge} {
		t.Run(class.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &keeper{tb: t, refusal: failure(class, "refused")}
				m := newMemory(t, nil)
				m.add(rows(300, 1000)...)
				r := start(t, m, k, func(c *replicate.Config) { c.BatchBytes = 11_000; c.InFlight = 1 })
				flush(t, r)
				finish(t, r)
				for i, row := range k.kept {
					if id := eventID(t, row); id != k.ids[i] {
						t.Fatalf("row %s that Append refused was changed to %s", k.ids[i], id)
					}
				}
			})
		})
	}
}

// A source whose rows do not ascend is an error, and neither an endless loop nor a
// cursor that passes rows.
func TestRowsThatDoNotAscend(t *testing.T) {
	for name, numbers := range map[string][]int64{"the same": {1, 2, 2}, "backwards": {3, 2, 4}, "again": {1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newTable(t)
				w := &watched{memory: newMemory(t, table)}
				w.add(rows(4, 10)...)
				w.rows = func(after int64) ([]record.Event, error) {
					if name == "again" && after == 0 {
						return nil, nil
					}
					out := make([]record.Event, len(numbers))
					for i, seq := range numbers {
						out[i] = row("a", int(seq), 10)
						out[i].Seq = seq
					}
					return out, nil
				}
				r := start(t, w, table, nil)
				time.Sleep(10 * time.Second)
				if err := r.Status().LastError; err == nil || !strings.Contains(err.Error(), "rows have to ascend") {
					t.Errorf("LastError = %v", err)
				}
				if n := w.reads.Load(); n > 15 {
					t.Errorf("%d reads in ten seconds", n)
				}
				if name != "again" && w.cursor() > 0 {
					t.Errorf("the cursor is at %d", w.cursor())
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := r.Close(ctx); (err == nil) != (w.cursor() == 4) {
					t.Errorf("Close() = %v with the cursor at %d", err, w.cursor())
				}
			})
		})
	}
}

// Rows whose parts cannot be read are sent without, and each is counted once.
func TestPartsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		table := newTable(t)
		table.respond = func(c call) outcome {
			if c.n <= 3 {
				return outcome{err: failure(replicate.ClassPermanent, "not yet")}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		all := rows(10, 10)
		all[2].ContentParts = []byte(`{"not":"a list"}`)
		all[6].ContentParts = []byte(`[{"mime_type":"text/plain"`)
		all[7].ContentParts = []byte(`[{"mime_type":"text/plain"}]`)
		m.add(all...)
		r := start(t, m, table, func(c *replicate.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(10 * time.Minute)
		wantRows(t, table, 10, 10)
		if n := r.Status().PartsLost; n != 2 {
			t.Errorf("%d rows without their parts, want 2", n)
		}
		finish(t, r)
		if !strings.Contains(log.String(), "without their content_parts") {
			t.Errorf("nobody is told:\n%s", &log)
		}
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, `msg="contextgraph: warehouse: `) {
				t.Errorf("who says this: %s", line)
			}
		}
	})
}

// Thousands of runs that end at a time cost the source a look or two, whatever the target
// does, and are forgotten when they do not wait any more.
func TestManyFlushes(t *testing.T) {
	const n = 5000
	many := func(t *testing.T, r *replicate.Replicator, check func(error)) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				check(r.Flush(ctx))
			})
		}
		wg.Wait()
	}
	synctest.Test(t, func(t *testing.T) {
		var hangs bool
		table := newTable(t)
		table.respond = func(call) outcome { return outcome{delay: time.Second, taken: true, never: hangs} }
		w := &watched{memory: newMemory(t, table), slow: 10 * time.Millisecond}
		first := start(t, w, table, nil)
		synctest.Wait()
		standby := start(t, w, table, nil)
		synctest.Wait()

		w.add(rows(10, 10)...)
		many(t, first, func(err error) {
			if err != nil {
				t.Errorf("Flush() = %v", err)
			}
		})
		// One look for the first of them, and one for those who came during it.
		if looks, reads := w.lasts.Load(), w.reads.Load(); looks > 2 || reads > 10 {
			t.Errorf("%d looks and %d reads for %d flushes", looks, reads, n)
		}
		w.lasts.Store(0)
		w.backlogs.Store(0)
		w.add(row("a", 11, 10))
		many(t, standby, func(err error) {
			if err != nil {
				t.Errorf("in standby Flush() = %v", err)
			}
		})
		if looks, backlogs := w.lasts.Load(), w.backlogs.Load(); looks > 2 || backlogs > 10 {
			t.Errorf("in standby %d and %d looks for %d flushes", looks, backlogs, n)
		}
		table.change(func() { hangs = true })
		w.add(row("a", 12, 10))
		many(t, first, func(err error) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Flush() = %v", err)
			}
		})
		table.change(func() { hangs = false })
		flush(t, first)
		finish(t, standby)
		finish(t, first)
	})
}

// Flush with a context that has ended returns at once and asks nobody.
func TestFlushWithoutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{memory: newMemory(t, nil)}
		w.add(row("a", 1, 10))
		r := start(t, w, newTable(t), nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Flush(ctx); !errors.Is(err, context.Canceled) || w.lasts.Load() != 0 {
			t.Errorf("Flush() = %v after %d looks", err, w.lasts.Load())
		}
		finish(t, r)
	})
}

// Status does not wait for a source that is locked, nor pile up questions; it says what
// it knows.
func TestStatusOfALockedSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return outcome{err: errors.New("no")} }
		w := &watched{memory: newMemory(t, table)}
		w.add(rows(3, 10)...)
		r := start(t, w, table, nil)
		if s := r.Status(); s.LagRows != 3 {
			t.Errorf("Status() = %+v", s)
		}
		w.backlogs.Store(0)
		w.backlog = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		for range 50 {
			if s := r.Status(); s.LagRows != 3 {
				t.Errorf("Status() = %+v", s)
			}
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("50 calls took %v", d)
		}
		if n := w.backlogs.Load(); n != 1 {
			t.Errorf("%d questions at a time", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(ctx); err == nil {
			t.Error("Close() = nil")
		}
	})
}

// After Close, Status says what was left, although the journal is closed by then; a row
// from a clock that is ahead has no negative age.
func TestStatusAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return outcome{err: failure(replicate.ClassPermanent, "no")} }
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		synctest.Wait()
		ahead := row("a", 1, 10)
		ahead.Timestamp = time.Now().Add(time.Hour).UnixMicro()
		m.add(ahead)
		if err := r.Close(t.Context()); err == nil {
			t.Error("Close() = nil")
		}
		m.fail(store.ErrClosed)
		if s := r.Status(); s.LagRows != 1 || s.LagSeconds != 0 || s.Active || s.LastError == nil {
			t.Errorf("Status() = %+v", s)
		}
	})
}

// When the journal was closed first, Close says what is left and takes no time: nothing could be
// noted any more.
func TestCloseOfAClosedSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return outcome{never: true} }
		m := newMemory(t, table)
		m.add(row("a", 1, 10))
		r := start(t, m, table, nil)
		synctest.Wait()
		m.fail(store.ErrClosed)
		began := time.Now()
		if err := r.Close(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Close() = %v", err)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("Close took %v", d)
		}
	})
}

// Close before the source was asked for the first time says that rows are left.
func TestCloseBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1} {
			w := &watched{memory: newMemory(t, nil), late: 100 * time.Millisecond}
			w.add(rows(n, 10)...)
			r := start(t, w, newTable(t), nil)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := r.Close(ended); (err == nil) != (n == 0) {
				t.Errorf("with %d rows Close() = %v", n, err)
			}
		}
	})
}

// A panic of the source does not end the program, and loses nothing.
func TestSourcePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(time.Second) }
		w := &watched{memory: newMemory(t, table)}
		w.add(rows(100, 1000)...)
		panics := 0
		w.rows = func(after int64) ([]record.Event, error) {
			if after > 20 && panics < 3 {
				panics++
				panic(fmt.Sprint("after row ", after))
			}
			return nil, nil
		}
		r := start(t, w, table, func(c *replicate.Config) { c.BatchBytes = 11_000 })
		flush(t, r)
		if n, _ := table.counts(); n != 100 || panics != 3 {
			t.Errorf("%d rows landed after %d panics", n, panics)
		}
		if s := r.Status(); s.LastError != nil || s.HeldBytes != 0 {
			t.Errorf("Status() = %+v", s)
		}
		w.backlog = func(context.Context) error { panic("backlog") }
		r.Status()
		if err := r.Close(t.Context()); err != nil {
			t.Logf("Close() = %v", err)
		}
	})
}

// Close, Flush and Status at a time, with a target that hangs: all return.
func TestEverythingAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{make(chan struct{})}
		m := newMemory(t, nil)
		m.add(rows(10, 10)...)
		r := start(t, m, h, nil)
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				switch {
				case i%3 == 0:
					_ = r.Flush(ctx)
				case i%3 == 1 && i > 100:
					if r.Close(ctx) == nil {
						t.Error("Close() = nil with rows that were not sent")
					}
				default:
					r.Status()
				}
			})
		}
		began := time.Now()
		wg.Wait()
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("it took %v", d)
		}
		if s := r.Status(); s.LagRows != 10 {
			t.Errorf("Status() = %+v", s)
		}
		close(h.release)
	})
}
