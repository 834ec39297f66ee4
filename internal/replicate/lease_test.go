// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
)

// Of two processes one sends. The other knows how far that one is, and takes over.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(time.Second) }
		m := newMemory(t, table)
		first := start(t, m, table, nil)
		synctest.Wait()
		second := start(t, m, table, nil)
		synctest.Wait()
		if !first.Status().Active || second.Status().Active {
			t.Fatalf("active: %v and %v", first.Status().Active, second.Status().Active)
		}
		m.add(rows(10, 10)...)
		flush(t, second)
		wantRows(t, table, 10, 10)
		if n := second.Status().Acknowledged; n != 0 {
			t.Errorf("the one that stands by sent %d rows", n)
		}
		finish(t, first)
		m.add(row("a", 11, 10))
		flush(t, second)
		if !second.Status().Active {
			t.Error("nobody took over")
		}
		wantRows(t, table, 11, 11)
		finish(t, second)
	})
}

// Close of one that stands by does not wait.
func TestCloseInStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return outcome{never: true} }
		m := newMemory(t, table)
		m.add(row("a", 1, 10))
		first := start(t, m, table, nil)
		synctest.Wait()
		second := start(t, m, table, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := second.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush() = %v, want the end of its time", err)
		}
		began := time.Now()
		finish(t, second)
		if d := time.Since(began); d > 0 {
			t.Errorf("Close took %v", d)
		}
		if err := first.Close(ctx); err == nil {
			t.Error("Close() = nil with a row that was not acknowledged")
		}
	})
}

// After a crash another process goes on when the lease has expired, and nothing is lost.
func TestTakeOverAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(10 * time.Second) }
		m := newMemory(t, table)
		m.add(rows(100, 100)...)
		alive, kill := context.WithCancel(t.Context())
		first := start(t, process{m, alive}, table, nil)
		time.Sleep(5 * time.Second)
		kill()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := first.Close(ended); err == nil {
			t.Error("a process that was killed closed well")
		}
		second := start(t, m, table, nil)
		began := time.Now()
		flush(t, second)
		if d := time.Since(began); d > replicate.DefaultLeaseTTL+replicate.DefaultLeaseTTL/3+11*time.Second {
			t.Errorf("it took %v to take over", d)
		}
		wantRows(t, table, 100, 100)
		finish(t, second)
	})
}

// Who has lost the lease sends nothing more, and comes back later.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(3 * time.Second) }
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		synctest.Wait()
		m.add(rows(10, 100)...)
		time.Sleep(2 * time.Second)
		// Another process took over while this one could not renew the lease.
		m.mu.Lock()
		m.owner, m.until = "somebody", time.Now().Add(time.Minute)
		m.mu.Unlock()
		time.Sleep(10 * time.Second)
		if s := r.Status(); s.Active || m.cursor() != 0 {
			t.Errorf("it goes on without a lease: cursor %d, %+v", m.cursor(), s)
		}
		requests := table.sent()
		m.add(row("a", 11, 10))
		time.Sleep(40 * time.Second)
		if table.sent() != requests {
			t.Errorf("%d requests without a lease", table.sent()-requests)
		}
		flush(t, r)
		wantRows(t, table, 11, 21)
		finish(t, r)
	})
}

// A cursor that another process has moved meanwhile is where this one goes on.
func TestCursorMovedByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(call) outcome { return taken(time.Hour) }
		m := newMemory(t, nil)
		m.add(rows(10, 100)...)
		r := start(t, m, table, nil)
		time.Sleep(2 * time.Second)
		m.mu.Lock()
		m.position = 8
		m.mu.Unlock()
		table.change(func() { table.respond = nil })
		time.Sleep(10 * time.Second)
		flush(t, r)
		wantRows(t, table, 2, 2)
		finish(t, r)
	})
}

// A journal that cannot be written for a while costs duplicates at most.
func TestSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		m := newMemory(t, table)
		r := start(t, m, table, nil)
		m.add(rows(10, 100)...)
		flush(t, r)
		m.fail(errors.New("disk I/O error"))
		m.add(row("a", 11, 100))
		time.Sleep(time.Minute)
		if s := r.Status(); s.LastError == nil || s.Active {
			t.Errorf("Status() = %+v", s)
		}
		if err := r.Flush(t.Context()); err == nil {
			t.Error("Flush() = nil")
		}
		m.fail(nil)
		time.Sleep(10 * time.Second)
		wantRows(t, table, 11, 11)
		if s := r.Status(); s.LastError != nil || s.LagRows != 0 {
			t.Errorf("Status() = %+v", s)
		}
		finish(t, r)
	})
}
