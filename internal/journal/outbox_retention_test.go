// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
)

// wantListed checks which sessions are left, in any of the ways that keep them.
func wantListed(tb testing.TB, j *journal.Journal, heldWant int, want ...string) {
	tb.Helper()
	if want == nil {
		want = []string{}
	}
	if d := cmp.Diff(want, listed(tb, j)); d != "" {
		tb.Errorf("sessions differ (-want +got):\n%s", d)
	}
	if got := j.Stats().HeldSessions; got != heldWant {
		tb.Errorf("%d sessions are held, want %d", got, heldWant)
	}
	wellFormed(tb, j)
}

// TestReplicationStopsRemoval adds a destination while a session is being removed: what
// is left of it is sent first.
func TestReplicationStopsRemoval(t *testing.T) {
	const rows = 1000
	j := openJournal(t, nil)
	recordRows(t, j, testSession, rows)
	alter(t, j, "CREATE TRIGGER broken BEFORE DELETE ON agent_events WHEN OLD.run_seq = 300 BEGIN SELECT raise(ABORT, 'broken'); END")
	cfg := config.Retention{MaxAge: day}
	if err := j.Sweep(t.Context(), cfg, sweepTime); err == nil {
		t.Fatal("the sweep did not fail")
	}
	alter(t, j, "DROP TRIGGER broken")
	o := j.Outbox(dataset)
	acquire(t, o, "a")
	left, err := o.Rows(t.Context(), 0, rows, 1<<30)
	if err != nil || len(left) == 0 || len(left) == rows {
		t.Fatalf("%d rows are left, %v", len(left), err)
	}
	sweep(t, j, cfg)
	if n, err := j.Count(t.Context()); err != nil || int(n) != len(left) || j.Stats().HeldSessions != 1 {
		t.Errorf("%d rows, %v, %d sessions held, want the %d rows of one", n, err, j.Stats().HeldSessions, len(left))
	}
	// The session goes on. What was begun to be removed is replicated, the rest is not.
	appendAll(t, j, aged(testSession, "next", 3, time.Hour)...)
	flush(t, j)
	advance(t, o, "a", rows)
	sweep(t, j, cfg)
	if n, err := j.Count(t.Context()); err != nil || n != 3 || j.Stats().HeldSessions != 0 {
		t.Errorf("%d rows, %v, %d sessions held, want the 3 new ones", n, err, j.Stats().HeldSessions)
	}
}

// TestRetentionBySizeSaysWhatItWaitsFor fills a file beyond its size with rows that
// nobody takes.
func TestRetentionBySizeSaysWhatItWaitsFor(t *testing.T) {
	var log syncBuffer
	clock := newTestClock()
	const limit = 1 << 20
	j := openJournal(t, func(c *journal.Config) {
		c.Retention.MaxSize, c.SweepInterval = limit, time.Millisecond
		c.Now = clock.now
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	o := j.Outbox(dataset)
	acquire(t, o, "a")
	for n := range 40 {
		appendAll(t, j, padded(aged(named(fmt.Sprint("s-", n)), "r", 50, day), 1000)...)
	}
	flush(t, j)
	// Looks that began before the last row was stored found less.
	waitFor(t, func() bool {
		said := fmt.Sprint(j.Stats().RetentionError)
		return strings.Contains(said, "row 0 of 2000,") && strings.Contains(said, "40 sessions")
	})
	s := j.Stats()
	if !errors.Is(s.RetentionError, journal.ErrNotReplicated) || s.HeldSessions != 40 || s.RemovedRows != 0 {
		t.Fatalf("stats %+v: want 40 sessions held", s)
	}
	for _, want := range []string{"40 sessions", `"` + dataset + `" has acknowledged row 0 of 2000`, "1048576 are allowed", "forget"} {
		if !strings.Contains(s.RetentionError.Error(), want) {
			t.Errorf("%q does not say %q", s.RetentionError, want)
		}
	}
	// What is acknowledged makes room; the rest may stay, because there is enough.
	advance(t, o, "a", 1900)
	waitFor(t, func() bool { return j.Stats().RetentionError == nil })
	if s := j.Stats(); s.RemovedSessions == 0 || s.RemovedSessions > 38 {
		t.Errorf("stats %+v: want some sessions removed, but none that is not replicated", s)
	}
	rows, err := o.Rows(t.Context(), 1900, 1000, 1<<30)
	if err != nil || len(rows) != 100 {
		t.Errorf("%d rows are left to send, %v, want 100", len(rows), err)
	}
	if n := strings.Count(log.String(), "rows wait for replication"); n != 1 {
		t.Errorf("the log says %d times what it waits for, want once:\n%s", n, log.String())
	}
}

// TestRetentionWithEnoughRoom: what waits for replication is no error below the size.
func TestRetentionWithEnoughRoom(t *testing.T) {
	j := openJournal(t, nil)
	recordRows(t, j, testSession, 3)
	acquire(t, j.Outbox(dataset), "a")
	sweep(t, j, config.Retention{MaxAge: day, MaxSize: 1 << 30})
	wantListed(t, j, 1, testSession.ID)
	if err := j.Sweep(t.Context(), config.Retention{MaxSize: 1}, sweepTime); !errors.Is(err, journal.ErrNotReplicated) {
		t.Errorf("Sweep() = %v", err)
	}
	// Nor is it one when the file could become no smaller than it should, but is small
	// enough.
	k := openJournal(t, nil)
	for n := range 21 {
		appendAll(t, k, padded(aged(named(fmt.Sprint("s-", n)), "r", 100, 2*day), 1000)...)
	}
	flush(t, k)
	acquire(t, k.Outbox(dataset), "a")
	advance(t, k.Outbox(dataset), "a", 100)
	conn := connect(t, k.Path())
	limit := used(t, conn) - 50_000
	sweep(t, k, config.Retention{MaxSize: config.Size(limit)})
	if n := used(t, conn); n >= limit || n <= limit*9/10 || k.Stats().HeldSessions != 20 {
		t.Errorf("%d bytes of %d are in use, %d sessions held: this shows nothing", n, limit, k.Stats().HeldSessions)
	}
	// An active session is not removed anyway: that is not for want of replication.
	active := openJournal(t, nil)
	appendAll(t, active, aged(testSession, "r", 3, 0)...)
	flush(t, active)
	acquire(t, active.Outbox(dataset), "a")
	sweep(t, active, config.Retention{MaxSize: 1})
	wantListed(t, active, 0, testSession.ID)
}

// TestDestinationsOfTheConfiguration: retention looks as soon as a journal is open. What
// a destination lacks stays although nobody has leased it yet.
func TestDestinationsOfTheConfiguration(t *testing.T) {
	path := journaltest.Path(t)
	cfg := journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)}
	retention := config.Retention{MaxAge: day}
	j := reopen(t, cfg)
	recordRows(t, j, named("a"), 3) // rows 1 to 3
	recordRows(t, j, named("b"), 3) // rows 4 to 6
	closeJournal(t, j)

	cfg.Destinations = []string{"here", "there"}
	j = reopen(t, cfg)
	sweep(t, j, retention)
	wantListed(t, j, 2, "b", "a")
	if p := acquire(t, j.Outbox("here"), "x"); p != 0 {
		t.Errorf("a destination that nobody has leased is at %d", p)
	}
	acquire(t, j.Outbox("there"), "y")
	advance(t, j.Outbox("here"), "x", 6)
	advance(t, j.Outbox("there"), "y", 3)
	closeJournal(t, j)

	// It is as it was left.
	j = reopen(t, cfg)
	sweep(t, j, retention)
	wantListed(t, j, 1, "b")
	closeJournal(t, j)

	cfg.Destinations = []string{""}
	if _, err := journal.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "a destination has no name") {
		t.Errorf("Open() = %v", err)
	}
}
