// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	dataset = "bigquery:p.d.agent_events"
	ttl     = time.Minute
)

// testClock is a clock that stands still until it is told.
type testClock struct{ micro atomic.Int64 }

func newTestClock() *testClock {
	var c testClock
	c.micro.Store(sweepTime.UnixMicro())
	return &c
}

func (c *testClock) now() time.Time          { return time.UnixMicro(c.micro.Load()).UTC() }
func (c *testClock) advance(d time.Duration) { c.micro.Add(d.Microseconds()) }

// acquire leases the destination and returns its position.
func acquire(tb testing.TB, o store.Outbox, owner string) int64 {
	tb.Helper()
	p, err := o.Acquire(tb.Context(), owner, ttl)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func advance(tb testing.TB, o store.Outbox, owner string, seq int64, dead ...store.DeadLetter) {
	tb.Helper()
	if err := o.Advance(tb.Context(), owner, seq, dead); err != nil {
		tb.Fatal(err)
	}
}

// recordRows stores n rows of a session.
func recordRows(tb testing.TB, j *journal.Journal, s record.Session, n int) {
	tb.Helper()
	appendAll(tb, j, aged(s, "r", n, 2*day)...)
	flush(tb, j)
}

func TestJournalID(t *testing.T) {
	path := journaltest.Path(t)
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	id := j.ID()
	if !regexp.MustCompile("^[0-9a-f]{32}$").MatchString(id) {
		t.Errorf("ID() = %q", id)
	}
	closeJournal(t, j)
	if got := reopen(t, journal.Config{Journal: config.Journal{Path: path}}).ID(); got != id {
		t.Errorf("after it was opened again the id is %q, it was %q", got, id)
	}
	other := reopen(t, journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}})
	if other.ID() == id {
		t.Error("two journals have the same id")
	}
	alter(t, other, "DELETE FROM journal")
	_, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: other.Path()}})
	if err == nil || !strings.Contains(err.Error(), "no id") {
		t.Errorf("a file without an id: %v", err)
	}
}

func TestLastSeq(t *testing.T) {
	j := openJournal(t, nil)
	var want int64
	for n := range int64(3) {
		if got, err := j.LastSeq(t.Context()); err != nil || got != want {
			t.Errorf("LastSeq() = %d, %v, want %d", got, err, want)
		}
		appendAll(t, j, event(testSession, "r", n+1, "X"))
		flush(t, j)
		// A row that is stored already takes a number, but none that anyone waits for.
		appendAll(t, j, event(testSession, "r", n+1, "X"))
		flush(t, j)
		rows, err := j.Events(t.Context(), testSession)
		if err != nil || len(rows) != int(n+1) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		want = rows[n].Seq
	}
}

// TestLeaseTime holds that a lease is over at its time by the clock of the journal, and not before.
func TestLeaseTime(t *testing.T) {
	clock := newTestClock()
	j := openJournal(t, func(c *journal.Config) { c.Now = clock.now })
	o := j.Outbox(dataset)
	taken := func(owner string, after time.Duration, want error) {
		t.Helper()
		clock.advance(after)
		if _, err := o.Acquire(t.Context(), owner, ttl); !errors.Is(err, want) {
			t.Errorf("Acquire by %s after %v = %v, want %v", owner, after, err, want)
		}
	}
	taken("a", 0, nil)
	taken("a", ttl*2/3, nil)
	taken("b", ttl*2/3, store.ErrLeased)
	taken("a", time.Hour, nil)
	taken("b", ttl-time.Microsecond, store.ErrLeased)
	taken("b", time.Microsecond, nil)
	clock.advance(ttl)
	if err := o.Forget(t.Context()); err != nil {
		t.Errorf("Forget after the time = %v", err)
	}
}

// TestLeaseOfOneAmongMany lets senders of two journals on one file race for a lease that
// has expired, over and over.
func TestLeaseOfOneAmongMany(t *testing.T) {
	const senders = 6
	clock := newTestClock()
	path := journaltest.Path(t)
	js := [2]*journal.Journal{
		reopen(t, journal.Config{Journal: config.Journal{Path: path}, Now: clock.now}), reopen(t, journal.Config{Journal: config.Journal{Path: path}, Now: clock.now}),
	}
	rounds := testsize.Rounds(t, 10, 100)
	recordRows(t, js[0], testSession, rounds)
	for round := range int64(rounds) {
		var wg sync.WaitGroup
		var owners, moved atomic.Int32
		for n := range senders {
			o, owner := js[n%2].Outbox(dataset), fmt.Sprintf("%d-%d", round, n)
			wg.Go(func() {
				_, err := o.Acquire(t.Context(), owner, ttl)
				switch {
				case err == nil:
					owners.Add(1)
				case !errors.Is(err, store.ErrLeased):
					t.Error(err)
				}
				err = o.Advance(t.Context(), owner, round+1, nil)
				switch {
				case err == nil:
					moved.Add(1)
				case !errors.Is(err, store.ErrLeaseLost):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if owners.Load() != 1 || moved.Load() != 1 {
			t.Fatalf("round %d: %d senders got the lease, %d moved the position", round, owners.Load(), moved.Load())
		}
		clock.advance(ttl)
	}
}

// TestAdvanceAllOrNothing refuses what would lose rows, and leaves no half of it.
func TestAdvanceAllOrNothing(t *testing.T) {
	letter := func(seq int64) []store.DeadLetter { return []store.DeadLetter{{Seq: seq, Reason: "no"}} }
	for want, tt := range map[string]struct {
		to   int64
		dead []store.DeadLetter
	}{
		"never moves backwards":  {2, letter(1)},
		"would never be sent":    {6, letter(1)},
		"there is no such row":   {5, append(letter(4), letter(9)...)},
		"broken by the database": {5, letter(4)},
	} {
		t.Run(want, func(t *testing.T) {
			j := openJournal(t, nil)
			recordRows(t, j, testSession, 5)
			o := j.Outbox(dataset)
			acquire(t, o, "a")
			advance(t, o, "a", 3)
			alter(t, j, `CREATE TRIGGER broken BEFORE UPDATE ON destinations WHEN NEW.cursor = 5
				BEGIN SELECT raise(ABORT, 'broken by the database'); END`)
			err := o.Advance(t.Context(), "a", tt.to, tt.dead)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Advance() = %v", err)
			}
			if p := acquire(t, o, "a"); p != 3 {
				t.Errorf("it is at %d, want row 3", p)
			}
			if l, err := o.DeadLetters(t.Context(), 0); err != nil || len(l) != 0 {
				t.Errorf("dead letters %+v, %v", l, err)
			}
		})
	}
}

func TestOutboxBadInput(t *testing.T) {
	j := openJournal(t, nil)
	o := j.Outbox(dataset)
	ctx := t.Context()
	for want, do := range map[string]func() error{
		"destination has no name": func() error { _, err := j.Outbox("").Acquire(ctx, "a", ttl); return err },
		"owner has no name":       func() error { _, err := o.Acquire(ctx, "", ttl); return err },
		"time of 0s":              func() error { _, err := o.Acquire(ctx, "a", 0); return err },
		"at most 0 rows":          func() error { _, err := o.Rows(ctx, 0, 0, 1); return err },
		"of -1 bytes":             func() error { _, err := o.Rows(ctx, 0, 1, -1); return err },
		"at most -1 rows":         func() error { _, err := o.DeadRows(ctx, 0, -1, 1); return err },
		"limit -1":                func() error { _, err := o.DeadLetters(ctx, -1); return err },
		"at most 0: it has":       func() error { _, _, err := o.Graphs().Triggers(ctx, 0, 0); return err },
		"a destination of graphs": func() error { _, _, err := o.Triggers(ctx, 0, 1); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// everyCall calls each method that touches the file.
func everyCall(ctx context.Context, j *journal.Journal) map[string]error {
	o := j.Outbox(dataset)
	errs := make(map[string]error)
	_, errs["acquire"] = o.Acquire(ctx, "b", ttl)
	errs["advance"] = o.Advance(ctx, "a", 1, []store.DeadLetter{{Seq: 1}})
	errs["release"] = o.Release(ctx, "a")
	errs["forget"] = o.Forget(ctx)
	_, errs["rows"] = o.Rows(ctx, 0, 1, 1)
	_, errs["dead rows"] = o.DeadRows(ctx, 0, 1, 1)
	_, errs["backlog"] = o.Backlog(ctx)
	_, errs["dead letters"] = o.DeadLetters(ctx, 1)
	_, errs["discard"] = o.Discard(ctx, []string{"x"})
	_, errs["last seq"] = j.LastSeq(ctx)
	errs["set rules"] = j.SetRules(ctx, "digest", []byte(`[]`))
	_, errs["position"] = o.Position(ctx)
	_, _, errs["triggers"] = o.Graphs().Triggers(ctx, 0, 1)
	_, errs["writer"] = j.Writer(ctx, testSession)
	return errs
}

func TestOutboxOfAClosedJournal(t *testing.T) {
	j := openJournal(t, nil)
	stop := j.Outbox(dataset).Changed(make(chan struct{}))
	closeJournal(t, j)
	for name, err := range everyCall(t.Context(), j) {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
	stop()
	stop()
	if j.ID() == "" {
		t.Error("a closed journal has no id")
	}
}

func TestOutboxEndsWithItsContext(t *testing.T) {
	j := openJournal(t, nil)
	recordRows(t, j, testSession, 1)
	acquire(t, j.Outbox(dataset), "a")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for name, err := range everyCall(ctx, j) {
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v, want %v", name, err, cause)
		}
	}
	if p := acquire(t, j.Outbox(dataset), "a"); p != 0 {
		t.Errorf("it is at %d: something was done", p)
	}
}

// TestOutboxWhileCommitsFail locks the file and breaks it: nothing is acknowledged, and
// what waits in the queue is not lost.
func TestOutboxWhileCommitsFail(t *testing.T) {
	j := openImpatient(t, journal.Config{Journal: config.Journal{CommitInterval: time.Hour}})
	recordRows(t, j, testSession, 3)
	o := j.Outbox(dataset)
	acquire(t, o, "a")
	appendAll(t, j, event(testSession, "next", 1, "X"))
	unlock := lockFile(t, j.Path())
	reads := []string{"rows", "dead rows", "backlog", "dead letters", "last seq", "position", "triggers", "writer"}
	for name, err := range everyCall(t.Context(), j) {
		if (err == nil) != slices.Contains(reads, name) || err != nil && sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			t.Errorf("%s in a locked file: %v", name, err)
		}
	}
	unlock()
	if p := acquire(t, o, "a"); p != 0 {
		t.Errorf("it is at %d: a failed call did something", p)
	}
	// The queued row went before.
	advance(t, o, "a", 4)
	if j.Stats().Stored != 4 {
		t.Errorf("stats %+v: want 4 rows stored", j.Stats())
	}
}

func TestChanged(t *testing.T) {
	path := journaltest.Path(t)
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path, CommitInterval: time.Hour}})
	other := reopen(t, journal.Config{Journal: config.Journal{Path: path, CommitInterval: time.Hour}})
	news := make(chan struct{}, 1)
	deaf := make(chan struct{}) // nobody receives
	stop := j.Outbox(dataset).Changed(news)
	defer j.Outbox(dataset).Changed(deaf)()
	heard := func(want bool) {
		t.Helper()
		select {
		case <-news:
			if !want {
				t.Error("news without new rows")
			}
		default:
			if want {
				t.Error("no news of new rows")
			}
		}
	}
	recordRows(t, j, testSession, 2)
	heard(true)
	heard(false)
	recordRows(t, j, testSession, 2) // the same rows
	heard(false)
	acquire(t, j.Outbox(dataset), "a")
	heard(false)
	recordRows(t, other, named("other"), 1) // as another process does
	heard(false)
	recordRows(t, j, named("s-2"), 1)
	recordRows(t, j, named("s-3"), 1) // no room for these
	heard(true)
	appendAll(t, j, event(named("s-4"), "r", 1, "X"))
	advance(t, j.Outbox(dataset), "a", 1) // commits what waits
	heard(true)
	stop()
	stop()
	recordRows(t, j, named("s-5"), 1)
	heard(false)
}
