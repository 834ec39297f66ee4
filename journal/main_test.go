// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/journal"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashChildEnv); path != "" {
		crashChild(path)
		return
	}
	goleak.VerifyTestMain(m)
}

var testSession = schema.Session{App: "shop", User: "ann", ID: "s-1"}

// openJournal opens a journal in a new directory and closes it at the end.
func openJournal(tb testing.TB, mod func(*journal.Config)) *journal.Journal {
	tb.Helper()
	cfg := journal.Config{Path: filepath.Join(tb.TempDir(), "j.db"), Logger: slog.New(slog.DiscardHandler)}
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 20*time.Second)
	defer cancel()
	if err := j.Close(ctx); err != nil {
		tb.Error(err)
	}
}

func flush(tb testing.TB, j *journal.Journal) {
	tb.Helper()
	if err := j.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// event returns row n of a run.
func event(s schema.Session, run string, n int64, typ string) schema.Event {
	return schema.Event{
		Timestamp: 1_700_000_000_000_000 + n, EventID: fmt.Sprintf("%s/%s/%s/%s/%d", s.App, s.User, s.ID, run, n), EventType: typ,
		AppName: s.App, UserID: s.User, SessionID: s.ID, InvocationID: "inv-" + run, Agent: "buyer",
		RunID: run, RunSeq: n, Status: schema.StatusOK,
	}
}

// appendAll appends rows and fails when one is refused.
func appendAll(tb testing.TB, j *journal.Journal, rows ...schema.Event) {
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
