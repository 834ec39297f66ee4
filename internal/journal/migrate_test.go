// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/record"
)

var quiet = slog.New(slog.DiscardHandler)

func openConn(t *testing.T, path string, flags ...sqlite.OpenFlags) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(path, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// schemaOf returns the text of everything that the schema of a file holds.
func schemaOf(t *testing.T, conn *sqlite.Conn) string {
	t.Helper()
	var b strings.Builder
	err := query(conn, "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY 1", func(*binder) {}, func(s *sqlite.Stmt) error {
		b.WriteString(s.ColumnText(0) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryMigrationIsListed(t *testing.T) {
	files, err := migrationFiles.ReadDir("sql/migrations")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(migrations) {
		t.Fatalf("%d files, %d listed", len(files), len(migrations))
	}
	for i, f := range files {
		if want := "sql/migrations/" + f.Name(); migrations[i] != want {
			t.Errorf("step %d is %s, want %s", i, migrations[i], want)
		}
	}
}

// TestOldVersions opens a file of every released version and of none.
func TestOldVersions(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	openAndClose(t, fresh, nil)
	want := schemaOf(t, openConn(t, fresh, sqlite.OpenReadOnly))
	tests := map[string]struct {
		golden string
		rows   int
	}{
		"version 0, an empty file": {"", 0},
		"version 1":                {"testdata/v1.db", 3},
		"version 2":                {"testdata/v2.db", 3},
		"version 3":                {"testdata/v3.db", 3},
		"version 4":                {"testdata/v4.db", 3},
		"version 5":                {"testdata/v5.db", 3},
		"version 6":                {"testdata/v6.db", 3},
		"version 7":                {"testdata/v7.db", 3},
		"version 8":                {"testdata/v8.db", 3},
		"version 9":                {"testdata/v9.db", 3},
		"version 10":               {"testdata/v10.db", 3},
		"version 11":               {"testdata/v11.db", 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "old.db")
			var data []byte
			if tt.golden != "" {
				var err error
				if data, err = os.ReadFile(tt.golden); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			openAndClose(t, path, func(j *Journal) {
				got, err := j.Events(t.Context(), goldenSession)
				if err != nil || len(got) != tt.rows {
					t.Errorf("%d rows, %v, want %d", len(got), err, tt.rows)
				}
				e := goldenRow(9)
				if !j.Append(e) {
					t.Error("row refused")
				}
			})
			if got := schemaOf(t, openConn(t, path, sqlite.OpenReadOnly)); got != want {
				t.Errorf("the schema differs from that of a new file:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

var goldenSession = record.Session{App: "shop", User: "ann", ID: "golden"}

func goldenRow(n int64) record.Event {
	return record.Event{
		EventID: strings.Repeat("0", 31) + string(rune('0'+n)), EventType: record.AgentStarting, Timestamp: 1_700_000_000_000_000 + n,
		AppName: "shop", UserID: "ann", SessionID: "golden", Agent: "buyer", RunID: "r", RunSeq: n, Status: record.StatusOK,
		Content: []byte(`{"text_summary":"x"}`),
	}
}

func openAndClose(t *testing.T, path string, use func(*Journal)) {
	t.Helper()
	j, err := Open(t.Context(), Config{Journal: config.Journal{Path: path}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if use != nil {
		use(j)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	openAndClose(t, path, nil)
	conn := openConn(t, path, sqlite.OpenReadWrite)
	if err := execAll(conn, "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Journal: config.Journal{Path: path}, Logger: quiet})
	if err == nil {
		t.Fatal("a newer file was opened")
	}
	for _, want := range []string{path, "version 99", "up to 11", "upgrade the program"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestMigrationSteps(t *testing.T) {
	files := fstest.MapFS{
		"1.sql": {Data: []byte("CREATE TABLE a (x); CREATE TRIGGER tr BEFORE DELETE ON a BEGIN SELECT 1; SELECT 2; END;")},
		"2.sql": {Data: []byte("INSERT INTO a VALUES (1);")},
		"3.sql": {Data: []byte("INSERT INTO a VALUES (2); INSERT INTO nosuch VALUES (1);")},
	}
	conn := openConn(t, filepath.Join(t.TempDir(), "m.db"))
	steps := []string{"1.sql", "2.sql"}
	for range 2 { // the second time nothing is left to do
		if err := migrateFS(conn, files, steps); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := userVersion(conn); err != nil || v != 2 {
		t.Errorf("version %d, %v, want 2", v, err)
	}
	err := migrateFS(conn, files, append(steps, "3.sql"))
	if err == nil || !strings.Contains(err.Error(), "from version 2 to 3") {
		t.Errorf("a failing step: %v", err)
	}
	var rows int
	if err := queryRow(conn, "SELECT count(*) FROM a", func(s *sqlite.Stmt) { rows = s.ColumnInt(0) }); err != nil {
		t.Fatal(err)
	}
	if v, _ := userVersion(conn); v != 2 || rows != 1 {
		t.Errorf("after a failed step: version %d, %d rows, want 2 and 1", v, rows)
	}
	if err := migrateFS(conn, files, append(steps, "absent.sql")); err == nil {
		t.Error("an absent step was not noticed")
	}
}

func TestOpenConcurrentSafe(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "j.db")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				j, err := Open(t.Context(), Config{Journal: config.Journal{Path: path}, Logger: quiet})
				if err != nil {
					t.Error(err)
					return
				}
				if err := j.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

func TestAtLeast(t *testing.T) {
	for _, tt := range []struct {
		v    string
		want bool
	}{
		{"3.51.3", true}, {"3.51.10", true}, {"3.52.0", true}, {"4.0.0", true}, {"3.51.3.1", true},
		{"3.51.2", false}, {"3.9.99", false}, {"2.99.99", false}, {"3.51", false}, {"", false}, {"x.y", false},
	} {
		if got := atLeast(tt.v, minSQLite); got != tt.want {
			t.Errorf("atLeast(%q) = %v", tt.v, got)
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	openAndClose(t, path, nil)
	conn := openConn(t, path, sqlite.OpenReadWrite)
	if err := execAll(conn, "PRAGMA user_version = 0", "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := open(ctx, Config{Journal: config.Journal{Path: path}, Logger: quiet}, 200*time.Millisecond); err == nil {
		t.Error("a locked file that needs an upgrade was opened")
	}
}
