// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
)

// Whatever the table does, and however often processes die: every row lands or is a dead
// letter for a reason, only bad rows are, the rows of a session are sent in their order,
// the cursor passes no row that is not settled, memory is bounded, and no goroutine is
// left. What checks order is in Append, what checks the cursor in Advance.
func TestRandomSchedules(t *testing.T) {
	for seed := range testsize.Seeds(t, 150, 5000) {
		if randomSchedule(t, seed); t.Failed() {
			t.Fatalf("it fails with seed %d", seed)
		}
	}
}

// random is a source of random numbers for several goroutines.
type random struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (c *random) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

func (c *random) upTo(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.rng.Int64N(int64(d) + 1))
}

func randomSchedule(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		dice := &random{rng: rand.New(rand.NewPCG(seed, 4))}
		w := &faults{dice: dice, calm: dice.n(60), byName: dice.n(2) == 0, bad: make(map[string]bool)}
		table := newTable(t)
		table.respond, table.open, table.upgrade = w.respond, w.open, w.open
		table.linger = func() { time.Sleep(w.linger()) }
		m := newMemory(t, table)

		largest := 0
		sessions := 1 + dice.n(4)
		total := 1 + dice.n(200)
		var producer sync.WaitGroup
		sizes := make([]int, total)
		for i := range sizes {
			sizes[i] = dice.n(2000)
			largest = max(largest, sizes[i]+200)
		}
		producer.Go(func() {
			next := make([]int, sessions)
			for _, size := range sizes {
				s := dice.n(sessions)
				next[s]++
				e := row(string(rune('a'+s)), next[s], size)
				w.mayBeBad(e.EventID)
				m.add(e)
				if dice.n(4) == 0 {
					time.Sleep(dice.upTo(3 * time.Second))
				}
			}
		})

		mod := func(c *replicate.Config) {
			c.BatchBytes = 500 + dice.n(20_000)
			c.InFlight = 1 + dice.n(5)
		}
		for range dice.n(5) {
			life(t, m, table, dice, largest, mod)
		}
		producer.Wait()
		w.clear()
		r := start(t, m, table, mod)
		for attempt := 0; ; attempt++ {
			err := r.Flush(t.Context())
			if err == nil {
				break
			}
			if !errors.Is(err, replicate.ErrStopped) || attempt == 20 {
				t.Errorf("seed %d: Flush() = %v", seed, err)
				break
			}
			// Bad rows without a good one behind them wait for the next row.
			if attempt > 5 {
				m.add(row("z", attempt, 10))
			}
			time.Sleep(time.Minute)
		}
		finish(t, r)
		time.Sleep(5 * time.Minute) // every Close returns
		for _, e := range m.rows {
			l, buried := m.dead[e.Seq]
			switch {
			case buried && !w.bad[e.EventID]:
				t.Errorf("seed %d: row %s was buried, but it is not bad: %s", seed, e.EventID, l.Reason)
			case buried && !strings.Contains(l.Reason, "INVALID"):
				t.Errorf("seed %d: row %s was buried for %q", seed, e.EventID, l.Reason)
			case !buried && table.landed[e.EventID] == 0:
				t.Errorf("seed %d: row %s is lost", seed, e.EventID)
			}
		}
	})
}

// life runs a process or two for a while. They are killed or closed.
func life(t *testing.T, m *memory, table *table, dice *random, largest int, mod func(*replicate.Config)) {
	var wg sync.WaitGroup
	for range 1 + dice.n(2) {
		alive, kill := context.WithCancel(t.Context())
		var bound int
		r := start(t, process{m, alive}, table, func(c *replicate.Config) {
			mod(c)
			bound = c.InFlight*c.BatchBytes + max(c.BatchBytes, largest)
		})
		wg.Go(func() {
			end := time.Now().Add(dice.upTo(time.Minute))
			for time.Now().Before(end) {
				if held := r.Status().HeldBytes; held > bound {
					t.Errorf("%d bytes are held, want at most %d", held, bound)
				}
				time.Sleep(200 * time.Millisecond)
			}
			ctx, cancel := context.WithTimeout(t.Context(), dice.upTo(10*time.Second))
			defer cancel()
			if dice.n(2) == 0 {
				kill()
				cancel()
			}
			began := time.Now()
			// What it could not send is sent by others.
			_ = r.Close(ctx)
			if d := time.Since(began); d > 11*time.Second {
				t.Errorf("Close took %v", d)
			}
			kill()
		})
	}
	wg.Wait()
}

// faults decides what the table does.
type faults struct {
	dice   *random
	byName bool

	mu   sync.Mutex
	calm int             // of a hundred requests, how many more go well
	bad  map[string]bool // rows that are refused
	over bool
}

func (w *faults) mayBeBad(id string) {
	if w.dice.n(30) == 0 {
		w.mu.Lock()
		w.bad[id] = true
		w.mu.Unlock()
	}
}

func (w *faults) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

func (w *faults) fine() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

func (w *faults) linger() time.Duration {
	if w.fine() || w.dice.n(10) > 0 {
		return 0
	}
	return w.dice.upTo(2 * time.Minute)
}

func (w *faults) open(int) error {
	if w.fine() || w.dice.n(10) > 0 {
		return nil
	}
	if w.dice.n(10) == 0 {
		panic("open")
	}
	return w.trouble()
}

func (w *faults) trouble() error {
	classes := []replicate.Class{
		replicate.ClassAmbiguous, replicate.ClassTransient, replicate.ClassTransient, replicate.ClassExhausted,
		replicate.ClassNotFound, replicate.ClassSchema, replicate.ClassPermanent,
	}
	return failure(classes[w.dice.n(len(classes))], fmt.Sprint("trouble ", w.dice.n(1000)))
}

func (w *faults) respond(c call) outcome {
	delay := w.dice.upTo(300 * time.Millisecond)
	refused := &replicate.Error{Class: replicate.ClassRows, Err: errors.New("INVALID_ARGUMENT")}
	found := false
	w.mu.Lock()
	for i, id := range c.ids {
		if w.bad[id] {
			found = true
			if w.byName {
				refused.Rows = append(refused.Rows, replicate.RowError{Index: i, Code: "C", Message: "INVALID"})
			}
		}
	}
	over, calm := w.over, w.calm
	w.mu.Unlock()
	good := outcome{delay: delay, taken: !found}
	if found {
		good.err = refused
	}
	if over || w.dice.n(100) < calm {
		return good
	}
	switch w.dice.n(12) {
	case 0:
		return outcome{delay: delay, broken: true}
	case 1:
		good.broken = true // taken, but nobody is told
		good.err = nil
		return good
	case 2:
		return outcome{never: true, taken: false}
	case 3:
		return outcome{delay: delay, err: w.trouble()}
	case 4:
		return outcome{delay: delay, err: w.trouble(), broken: true}
	case 5:
		return outcome{appendErr: w.trouble()}
	case 6:
		return outcome{panics: true}
	case 7:
		if len(c.ids) > 1 {
			return outcome{delay: delay, err: failure(replicate.ClassTooLarge, "too large"), broken: true}
		}
	case 8:
		good.delay = w.dice.upTo(40 * time.Second)
	}
	return good
}
