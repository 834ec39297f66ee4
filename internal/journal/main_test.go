// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashChildEnv); path != "" {
		crashChild(path)
		return
	}
	if path := os.Getenv(faultChildEnv); path != "" {
		faultChild(path)
		return
	}
	if path := os.Getenv(removingChildEnv); path != "" {
		removingChild(path)
		return
	}
	if path := os.Getenv(recordingChildEnv); path != "" {
		recordingChild(path)
		return
	}
	if path := os.Getenv(onceChildEnv); path != "" {
		onceChild(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds what a test waits for that must happen, however slow the machine is.
const patience = 5 * time.Minute

var testSession = record.Session{App: "shop", User: "ann", ID: "s-1"}

var testTime = time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)

// openJournal opens a journal in a new directory and closes it at the end.
func openJournal(tb testing.TB, mod func(*journal.Config)) *journal.Journal {
	tb.Helper()
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(tb)}, Logger: slog.New(slog.DiscardHandler)}
	if mod != nil {
		mod(&cfg)
	}
	return reopen(tb, cfg)
}

func reopen(tb testing.TB, cfg journal.Config) *journal.Journal {
	tb.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	j, err := journal.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closeJournal(tb, j) })
	return j
}

func closeJournal(tb testing.TB, j *journal.Journal) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
	defer cancel()
	if err := j.Close(ctx); err != nil {
		tb.Error(err)
	}
	balance(tb, j)
	if n := j.Stats().QueuedRows; n != 0 {
		tb.Errorf("%d rows are queued in a closed journal", n)
	}
}

// balance checks that the journal knows what became of every row it accepted.
func balance(tb testing.TB, j *journal.Journal) {
	tb.Helper()
	if s := j.Stats(); s.Unaccounted() != 0 {
		tb.Errorf("%d of the accepted rows are not accounted for: %+v", s.Unaccounted(), s)
	}
}

func flush(tb testing.TB, j *journal.Journal) {
	tb.Helper()
	if err := j.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	balance(tb, j)
}

// wantStored checks which rows of testSession are in the journal, by their numbers
// and in this order.
func wantStored(tb testing.TB, j *journal.Journal, want ...int64) {
	tb.Helper()
	rows, err := j.Events(tb.Context(), testSession)
	if err != nil {
		tb.Fatal(err)
	}
	var got []int64
	for _, e := range rows {
		got = append(got, e.RunSeq)
	}
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("stored rows differ (-want +got):\n%s", d)
	}
}

// event returns row n of a run.
func event(s record.Session, run string, n int64, typ string) record.Event {
	return record.Event{
		Timestamp: 1_700_000_000_000_000 + n, EventID: fmt.Sprintf("%s/%s/%s/%s/%d", s.App, s.User, s.ID, run, n), EventType: typ,
		AppName: s.App, UserID: s.User, SessionID: s.ID, InvocationID: "inv-" + run, Agent: "buyer",
		RunID: run, RunSeq: n, Status: record.StatusOK,
	}
}

// appendAll appends rows and fails when one is refused.
func appendAll(tb testing.TB, j *journal.Journal, rows ...record.Event) {
	tb.Helper()
	for _, e := range rows {
		if !j.Append(e) {
			tb.Fatalf("row %s was refused", e.EventID)
		}
	}
}

// connect opens the file of a journal as another process would.
func connect(tb testing.TB, path string, flags ...sqlite.OpenFlags) *sqlite.Conn {
	tb.Helper()
	if len(flags) == 0 {
		flags = []sqlite.OpenFlags{sqlite.OpenReadOnly}
	}
	conn, err := sqlite.OpenConn(path, flags...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}

func selectInt(tb testing.TB, conn *sqlite.Conn, query string) int64 {
	tb.Helper()
	var n int64
	err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// openImpatient opens a journal that gives up waiting for locks at once.
func openImpatient(tb testing.TB, cfg journal.Config) *journal.Journal {
	tb.Helper()
	j := openImpatientUnclosed(tb, cfg)
	tb.Cleanup(func() { closeJournal(tb, j) })
	return j
}

func openImpatientUnclosed(tb testing.TB, cfg journal.Config) *journal.Journal {
	tb.Helper()
	cfg.Path = journaltest.Path(tb)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	j, err := journal.OpenImpatient(tb.Context(), cfg, 10*time.Millisecond)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

// holdWriter runs fn while the writer is busy, so that nothing leaves the queue.
func holdWriter(tb testing.TB, j *journal.Journal, fn func()) {
	tb.Helper()
	begun, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- j.Write(tb.Context(), func(*sqlite.Conn) error {
			close(begun)
			<-release
			return nil
		})
	}()
	<-begun
	fn()
	close(release)
	if err := <-done; err != nil {
		tb.Fatal(err)
	}
}

// lockFile takes the write lock of the file; the returned function gives it back.
func lockFile(tb testing.TB, path string) (unlock func()) {
	tb.Helper()
	conn := connect(tb, path, sqlite.OpenReadWrite)
	if err := sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil); err != nil {
		tb.Fatal(err)
	}
	return func() {
		tb.Helper()
		if err := sqlitex.ExecuteTransient(conn, "ROLLBACK", nil); err != nil {
			tb.Fatal(err)
		}
	}
}
