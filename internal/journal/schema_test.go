// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
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

// A file of another version is refused, by who opens it and by who looks at it, with the way out. It
// stays as it is.
func TestOtherVersionIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	openAndClose(t, path, nil)
	for _, version := range []int{0, schemaVersion - 1, schemaVersion + 1} {
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		// A view as well: the version is what the person can do something about.
		err = execAll(conn, fmt.Sprintf("PRAGMA user_version = %d", version), fmt.Sprintf("CREATE VIEW v%d AS SELECT 1", version))
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, openErr := Open(t.Context(), Config{Journal: config.Journal{Path: path}, Logger: quiet})
		_, examineErr := Examine(t.Context(), path, true)
		for name, err := range map[string]error{"Open": openErr, "Examine": examineErr} {
			for _, want := range []string{
				fmt.Sprintf("the file has version %d and this program needs version %d", version, schemaVersion),
				fmt.Sprintf("contextgraph export --all --journal %q --file rows.ndjson", path),
				"contextgraph import rows.ndjson --journal NEW.db",
			} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("version %d: %s says %v, want %q", version, name, err, want)
				}
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("version %d: the file was changed, %v", version, err)
		}
	}
}

// The schema is made whole or not at all, and once.
func TestCreateSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	conn := openConn(t, path)
	if err := execAll(conn, "PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
	if err := createSchema(conn, path); sqlite.ErrCode(err).ToPrimary() != sqlite.ResultFull {
		t.Fatalf("with room for 20 pages: %v, want a full disk", err)
	}
	if isNew, err := checkFile(conn, path); !isNew || err != nil {
		t.Errorf("after a failure: new %t, %v, want a new file", isNew, err)
	}
	if err := execAll(conn, "PRAGMA max_page_count = 1000"); err != nil {
		t.Fatal(err)
	}
	var id string
	for range 2 { // the second time as who saw a new file, and then another process was faster
		if err := createSchema(conn, path); err != nil {
			t.Fatal(err)
		}
		got, _, err := identify(conn)
		if err != nil || id != "" && got != id {
			t.Errorf("id %q, %v, want %q", got, err, id)
		}
		id = got
	}
	if isNew, err := checkFile(conn, path); isNew || err != nil {
		t.Errorf("new %t, %v, want a journal", isNew, err)
	}
}

// Who open a new file at once find one journal.
func TestOpenAtOnceConcurrentSafe(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "j.db")
		var ids sync.Map
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				j, err := Open(t.Context(), Config{Journal: config.Journal{Path: path}, Logger: quiet})
				if err != nil {
					t.Error(err)
					return
				}
				ids.Store(j.ID(), true)
				if err := j.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d ids, want 1", n)
		}
	}
}

// Open waits for another process that makes the tables of the file, until its context ends.
func TestOpenEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	conn := openConn(t, path)
	if err := execAll(conn, "PRAGMA journal_mode = WAL", "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := open(ctx, Config{Journal: config.Journal{Path: path}, Logger: quiet}, 200*time.Millisecond); err == nil {
		t.Error("a locked file without tables was opened")
	}
}
