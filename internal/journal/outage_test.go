// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// faultChildEnv makes the test binary meet a fault that a process can only have as a
// whole; the value is the path of a journal.
const faultChildEnv = "JOURNAL_FAULT_CHILD"

// TestOutages breaks the file under a running journal and repairs it: the host goes
// on, no row disappears without being counted, and rows are stored again.
func TestOutages(t *testing.T) {
	// pragma changes the writing connection.
	pragma := func(t *testing.T, j *journal.Journal, format string, args ...any) {
		t.Helper()
		err := j.Write(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.ExecuteTransient(conn, fmt.Sprintf(format, args...), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		want  string
		fault func(t *testing.T, j *journal.Journal) (repair func())
	}{
		{"disk full", "the disk is full, or the file may not grow: free some space",
			func(t *testing.T, j *journal.Journal) func() {
				pragma(t, j, "PRAGMA max_page_count = 1") // that is: as many as there are
				return func() {
					// No transaction of the writer begins before its rows are stored, so
					// the repair comes from outside: pages that become free.
					alter(t, j, "DROP TABLE ballast")
				}
			}},
		{"locked", "another process holds the write lock",
			func(t *testing.T, j *journal.Journal) func() { return lockFile(t, j.Path()) }},
		{"a table is gone", "no such table",
			func(t *testing.T, j *journal.Journal) func() {
				alter(t, j, "ALTER TABLE sessions RENAME TO away")
				return func() { alter(t, j, "ALTER TABLE away RENAME TO sessions") }
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log syncBuffer
			j := openImpatient(t, journal.Config{QueueRows: 100, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			alter(t, j, "CREATE TABLE ballast AS SELECT zeroblob(4 << 20) AS x")
			n := int64(0)
			add := func(rows int, typ string) {
				for range rows {
					n++
					e := event(testSession, "r", n, typ)
					e.Content = []byte(`"` + strings.Repeat("x", 4000) + `"`)
					appendAll(t, j, e) // the host is not told, and does not wait
				}
			}
			add(10, "X")
			flush(t, j)
			repair := tt.fault(t, j)
			add(20, "X")
			waitFor(t, func() bool { return j.Stats().LastError != nil })
			add(150, "X")
			add(1, record.WorldChangeCheck)
			add(60, "X")
			for what, err := range map[string]error{
				"Flush":     j.Flush(t.Context()),
				"Create":    j.Ledger().Create(t.Context(), storetest.Pending(1)),
				"LastError": j.Stats().LastError,
			} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", what, err, tt.want)
				}
			}
			s := j.Stats()
			if s.Stored != 10 || s.QueuedRows != 100 || s.Lost[store.LostDroppedOldest] != 131 || s.FailingSince.IsZero() {
				t.Errorf("stats %+v: want 10 rows stored, 100 queued, 131 dropped", s)
			}
			balance(t, j)
			if lines := strings.Count(log.String(), "cannot be stored"); lines != 1 || !strings.Contains(log.String(), tt.want) {
				t.Errorf("%d lines tell of the outage, want 1 that says %q:\n%s", lines, tt.want, log.String())
			}
			repair()
			waitFor(t, func() bool { return j.Stats().Stored == 110 }) // nobody calls Flush: the writer tries again by itself
			if lines := strings.Count(log.String(), "stored again"); lines != 1 {
				t.Errorf("%d lines tell of the end of the outage, want 1:\n%s", lines, log.String())
			}
			flush(t, j)
			if s := j.Stats(); s.LastError != nil || !s.FailingSince.IsZero() || s.QueuedRows != 0 {
				t.Errorf("stats %+v: want no error", s)
			}
			rows, err := j.Events(t.Context(), testSession)
			if err != nil || len(rows) != 110 || rows[109].RunSeq != n {
				t.Fatalf("%d rows, %v; want 110 up to the last", len(rows), err)
			}
			approvals := 0
			for i, e := range rows {
				if i > 0 && e.RunSeq <= rows[i-1].RunSeq {
					t.Errorf("row %d comes after row %d", e.RunSeq, rows[i-1].RunSeq)
				}
				if schema.IsApproval(e.EventType) {
					approvals++
				}
			}
			if approvals != 1 {
				t.Errorf("%d approval rows stored, want 1", approvals)
			}
		})
	}
}

// TestReadOnlyConnection writes while SQLite takes the file for read-only.
func TestReadOnlyConnection(t *testing.T) {
	j := openJournal(t, nil)
	err := j.Write(t.Context(), func(conn *sqlite.Conn) error {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA query_only = ON", nil); err != nil {
			return err
		}
		return errors.Join(sqlitex.ExecuteTransient(conn, "DELETE FROM agent_events", nil),
			sqlitex.ExecuteTransient(conn, "PRAGMA query_only = OFF", nil))
	})
	if want := "the file or its folder is read-only"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	appendAll(t, j, event(testSession, "r", 1, "X"))
	flush(t, j)
}

// damaged returns the path of a journal with 300 rows that damage has changed.
func damaged(t *testing.T, damage func(t *testing.T, path string)) string {
	t.Helper()
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}}
	j := reopen(t, cfg)
	for n := range int64(300) {
		appendAll(t, j, sized(n+1, "X", 3000))
	}
	closeJournal(t, j)
	damage(t, cfg.Path)
	return cfg.Path
}

// overwrite writes garbage into a file.
func overwrite(t *testing.T, path string, at int64, bytes int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(strings.Repeat("garbage!", bytes/8)), at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenDamagedFile(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, path string)
		want   string
	}{
		{"header", func(t *testing.T, path string) { overwrite(t, path, 0, 64) }, "not a SQLite database: choose another path"},
		{"behind the header", func(t *testing.T, path string) { overwrite(t, path, 100, 800) }, "the file is damaged: stop the program, move the file away"},
		{"cut off", func(t *testing.T, path string) {
			if err := os.Truncate(path, 6000); err != nil {
				t.Fatal(err)
			}
		}, "the file is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := damaged(t, tt.damage)
			j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				closeJournal(t, j)
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q does not say %q and which file", err, tt.want)
			}
		})
	}
}

// TestDamagedInside opens a file whose tables are damaged: what cannot be stored is
// counted, and every error says what to do.
func TestDamagedInside(t *testing.T) {
	const want = "the file is damaged: stop the program, move the file away"
	path := damaged(t, func(t *testing.T, path string) {
		conn := connect(t, path)
		root := selectInt(t, conn, "SELECT rootpage FROM sqlite_schema WHERE name = 'agent_events'")
		size := selectInt(t, conn, "PRAGMA page_size")
		conn.Close()
		overwrite(t, path, (root-1)*size, int(size))
	})
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Events(t.Context(), testSession); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Events() = %v, want %q", err, want)
	}
	appendAll(t, j, event(testSession, "again", 1, "X"), event(testSession, "again", 2, "X"))
	if err := j.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Flush() = %v, want %q", err, want)
	}
	j.SetCloseGrace(patience)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Close(ctx); !errors.Is(err, journal.ErrUnwritten) || !strings.Contains(err.Error(), want) {
		t.Errorf("Close() = %v, want %v and %q", err, journal.ErrUnwritten, want)
	}
	balance(t, j)
	if n := j.Stats().Lost[store.LostUnwritten]; n != 2 || j.Lost(testSession) != 2 {
		t.Errorf("%d rows counted as unwritten, %d of the session, want 2", n, j.Lost(testSession))
	}
}

// TestDamagedLog copies a journal that is in use and damages the copy's log, as a
// crash of the machine may: the rows before the damage are there, in order and
// without a hole, and the journal goes on.
func TestDamagedLog(t *testing.T) {
	j := openJournal(t, nil)
	const rows = 200
	for n := range int64(rows) {
		appendAll(t, j, sized(n+1, "X", 1000))
		if n%10 == 9 {
			flush(t, j)
		}
	}
	file, err := os.ReadFile(j.Path())
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(j.Path() + "-wal")
	if err != nil || len(log) < 200<<10 {
		t.Fatalf("log of %d bytes, %v", len(log), err)
	}
	type damage struct {
		name string
		do   func(log []byte) []byte
	}
	tests := []damage{
		{"none", func(log []byte) []byte { return log }},
		{"empty", func([]byte) []byte { return nil }},
		{"header", func(log []byte) []byte { copy(log, "garbage!"); return log }},
		{"zeros at the end", func(log []byte) []byte { clear(log[len(log)*3/4:]); return log }},
	}
	for _, share := range []int{1, 10, 33, 50, 75, 99} {
		tests = append(tests,
			damage{fmt.Sprint("cut off at ", share, "%"), func(log []byte) []byte { return log[:len(log)*share/100] }},
			damage{fmt.Sprint("a bit at ", share, "%"), func(log []byte) []byte { log[len(log)*share/100] ^= 4; return log }})
	}
	stored := make(map[string]int)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "copy.db")
			for name, data := range map[string][]byte{path: file, path + "-wal": tt.do(append([]byte(nil), log...))} {
				if err := os.WriteFile(name, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
			got, err := j.Events(t.Context(), testSession)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range got {
				if e.RunSeq != int64(i+1) {
					t.Fatalf("row %d is number %d: there is a hole", i+1, e.RunSeq)
				}
			}
			stored[tt.name] = len(got)
			appendAll(t, j, event(testSession, "next", 1, "X"))
			flush(t, j)
		})
	}
	if stored["none"] != rows || stored["cut off at 99%"] < rows/2 || stored["cut off at 99%"] == rows || stored["empty"] != 0 {
		t.Errorf("rows stored: %v", stored)
	}
}

// TestOpenLockedFile opens a file that another process has to itself.
func TestOpenLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	conn := connect(t, path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err := sqlitex.ExecuteTransient(conn, "BEGIN EXCLUSIVE", nil); err != nil {
		t.Fatal(err)
	}
	j, err := journal.OpenImpatient(t.Context(), journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)}, 10*time.Millisecond)
	if err == nil {
		closeJournal(t, j)
		t.Fatal("it opened")
	}
	if want := "another process holds the write lock"; !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}
