// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// alter changes the file of a journal behind its back.
func alter(t testing.TB, j *journal.Journal, statement string) {
	t.Helper()
	conn := connect(t, j.Path(), sqlite.OpenReadWrite)
	defer conn.Close()
	if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
		t.Fatal(err)
	}
}

// TestRejectedRow gives SQLite a row that it refuses: the others must not wait for it.
func TestRejectedRow(t *testing.T) {
	var log syncBuffer
	j := openJournal(t, func(c *journal.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	alter(t, j, `CREATE TRIGGER poison BEFORE INSERT ON agent_events WHEN NEW.event_type = 'POISON'
		BEGIN SELECT raise(ABORT, 'poison'); END`)
	appendAll(t, j, event(testSession, "r", 1, "X"), event(testSession, "r", 2, "POISON"), event(testSession, "r", 3, "X"))
	flush(t, j)
	s := j.Stats()
	if s.Stored != 2 || s.Lost[store.LostRejected] != 1 || s.QueuedRows != 0 || j.Lost(testSession) != 1 {
		t.Errorf("stats %+v, %d lost of the session: want 2 stored, 1 rejected", s, j.Lost(testSession))
	}
	if !strings.Contains(log.String(), "poison") {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
	wantStored(t, j, 1, 3)
	wantLosses(t, j, testSession, "1 rows were dropped before they could be stored")
}

// TestFailureMidway fails a transaction after its rows are inserted.
func TestFailureMidway(t *testing.T) {
	j := openJournal(t, nil)
	alter(t, j, "ALTER TABLE sessions RENAME TO away")
	appendAll(t, j, event(testSession, "r", 1, "X"), event(testSession, "r", 2, "X"))
	if err := j.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Fatalf("Flush() = %v, want the missing table", err)
	}
	if n, err := j.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("Count() = %d, %v: half of a transaction is stored", n, err)
	}
	if err := j.Ledger().Create(t.Context(), storetest.Pending(1)); err == nil {
		t.Error("an approval was stored before the rows it rests on")
	}
	alter(t, j, "ALTER TABLE away RENAME TO sessions")
	flush(t, j)
	if n, err := j.Count(t.Context()); err != nil || n != 2 {
		t.Errorf("Count() = %d, %v, want 2", n, err)
	}
}

func TestBacklogIsStoredInOrder(t *testing.T) {
	const rows = 10_000
	j := openJournal(t, nil)
	unlock := lockFile(t, j.Path())
	for n := range int64(rows) {
		appendAll(t, j, event(testSession, "r", n+1, "X"))
	}
	unlock()
	flush(t, j)
	got, err := j.Events(t.Context(), testSession)
	if err != nil || len(got) != rows {
		t.Fatalf("%d rows, %v, want %d", len(got), err, rows)
	}
	for i, e := range got {
		if e.RunSeq != int64(i+1) {
			t.Fatalf("row %d has run_seq %d", i, e.RunSeq)
		}
	}
	if n := j.Stats().Commits; n < 3 {
		t.Errorf("%d transactions: another process could not write in between", n)
	}
}

// TestCloseOutlivesAnOutage closes a journal while its file is locked.
func TestCloseOutlivesAnOutage(t *testing.T) {
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}, Logger: slog.New(slog.DiscardHandler)}
	j, err := journal.OpenImpatient(t.Context(), cfg, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	unlock := lockFile(t, j.Path())
	appendAll(t, j, event(testSession, "r", 1, "X"))
	closed := make(chan error)
	go func() { closed <- j.Close(t.Context()) }()
	waitFor(t, func() bool { return j.Stats().LastError != nil })
	unlock()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if n, err := reopen(t, cfg).Count(t.Context()); err != nil || n != 1 {
		t.Errorf("Count() = %d, %v, want 1", n, err)
	}
}

// TestCloseLeavesAStuckWriter closes a journal whose writer does not come back.
func TestCloseLeavesAStuckWriter(t *testing.T) {
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}, Logger: slog.New(slog.DiscardHandler)}
	j, err := journal.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stuck, release := make(chan struct{}), make(chan struct{})
	j.SetCloseGrace(10 * time.Millisecond)
	result := make(chan error)
	go func() {
		result <- j.Write(context.Background(), func(*sqlite.Conn) error {
			close(stuck)
			<-release
			return nil
		})
	}()
	<-stuck
	appendAll(t, j, event(testSession, "r", 1, "X"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// It returns, although the writer does not before it is released.
	if err := j.Close(ctx); !errors.Is(err, journal.ErrUnwritten) || !errors.Is(err, context.Canceled) {
		t.Errorf("Close() = %v, want ErrUnwritten", err)
	}
	close(release)
	if err := <-result; err == nil {
		t.Error("a transaction was committed after its connection was interrupted")
	}
	if err := j.Close(t.Context()); !errors.Is(err, journal.ErrUnwritten) {
		t.Errorf("Close() = %v, want ErrUnwritten", err)
	}
	if n := j.Stats().Lost[store.LostUnwritten]; n != 1 {
		t.Errorf("%d rows counted as unwritten, want 1", n)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	j := openJournal(t, nil)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := j.Events(ctx, testSession); !errors.Is(err, cause) {
		t.Errorf("Events() = %v, want %v", err, cause)
	}
	a := storetest.Pending(1)
	if err := j.Ledger().Create(ctx, a); !errors.Is(err, cause) {
		t.Errorf("Create() = %v, want %v", err, cause)
	}
	if _, err := safety.Get(t.Context(), j.Ledger(), a.ID); !errors.Is(err, safety.ErrNotFound) {
		t.Errorf("Get() = %v, want %v: the approval was stored", err, safety.ErrNotFound)
	}
}

// TestLedgerFailures breaks one statement of a step after the other: nothing of the step may be left
// behind.
func TestLedgerFailures(t *testing.T) {
	for _, tt := range []struct{ step, broken, want string }{
		{"create", "INSERT ON approvals", "approval conflict"},
		{"create", "INSERT ON approval_history", "broken"},
		{"reject", "UPDATE ON approvals", "broken"},
		{"reject", "INSERT ON approval_history", "broken"},
	} {
		t.Run(tt.step+" "+tt.broken, func(t *testing.T) {
			j := openJournal(t, nil)
			l, a := j.Ledger(), storetest.Pending(1)
			if err := l.Create(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			// stored returns everything that the ledger has.
			stored := func() (approvals []safety.Approval, steps []safety.Step) {
				approvals, err := l.List(t.Context(), safety.Query{Session: a.Session})
				if err != nil {
					t.Fatal(err)
				}
				if steps, err = l.History(t.Context(), a.ID); err != nil {
					t.Fatal(err)
				}
				return approvals, steps
			}
			approvals, steps := stored()
			alter(t, j, "CREATE TRIGGER broken BEFORE "+tt.broken+" BEGIN SELECT raise(ABORT, 'broken'); END")
			var err error
			if tt.step == "create" {
				err = l.Create(t.Context(), storetest.Pending(2))
			} else {
				from := []safety.ApprovalState{safety.StatePending}
				_, err = l.Transition(t.Context(), safety.Transition{ID: a.ID, From: from, To: safety.StateRejected, At: testTime, Actor: "ana"})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("the step ended with %v, want %q", err, tt.want)
			}
			approvalsAfter, stepsAfter := stored()
			if d := cmp.Diff(approvals, approvalsAfter) + cmp.Diff(steps, stepsAfter); d != "" {
				t.Errorf("a step that failed left a trace (-before +after):\n%s", d)
			}
		})
	}
}

func TestSessionWithoutName(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, event(record.Session{}, "r", 1, "X"))
	flush(t, j)
	if got, err := j.Events(t.Context(), record.Session{}); err != nil || len(got) != 1 {
		t.Errorf("%d rows, %v, want 1", len(got), err)
	}
}

// TestRowsInHandCount fills the queue while the writer cannot get rid of the rows
// it has taken.
func TestRowsInHandCount(t *testing.T) {
	// Two rows are no group yet, so both wait for Flush.
	j := openImpatient(t, journal.Config{QueueRows: 6, Journal: config.Journal{CommitInterval: time.Hour}})
	unlock := lockFile(t, j.Path())
	appendAll(t, j, event(testSession, "r", 1, "X"), event(testSession, "r", 2, "X"))
	if err := j.Flush(t.Context()); err == nil {
		t.Fatal("a locked file was written")
	}
	for n := int64(3); n <= 7; n++ {
		appendAll(t, j, event(testSession, "r", n, "X"))
	}
	if s := j.Stats(); s.QueuedRows != 6 || s.Lost[store.LostDroppedOldest] != 1 {
		t.Errorf("stats %+v: want six rows queued, one dropped", s)
	}
	unlock()
	flush(t, j)
	wantStored(t, j, 1, 2, 4, 5, 6, 7) // rows in hand are not dropped
}
