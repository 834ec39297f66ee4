// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestOpenCreatesPrivateFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "j.db")
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	appendAll(t, j, event(testSession, "r", 1, record.UserMessageReceived))
	flush(t, j)
	if j.Path() != path {
		t.Errorf("Path() = %q, want %q", j.Path(), path)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, mode)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	t.Chdir(t.TempDir())
	j := reopen(t, journal.Config{})
	if filepath.Base(j.Path()) != config.Default().Journal.Path {
		t.Errorf("Path() = %q", j.Path())
	}
}

// A file that is up to date and only read is the same afterwards, byte for byte.
func TestOpenWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	appendAll(t, j, event(testSession, "r", 1, record.UserMessageReceived))
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	j = reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	if list, err := j.Sessions(t.Context(), store.Query{Limit: 1}); err != nil || len(list) != 1 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file is another one: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := filepath.Join(dir, "foreign.db")
	conn := connect(t, foreign, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err := sqlitex.ExecuteScript(conn, "CREATE TABLE x (y)", nil); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		cfg  journal.Config
		want string
	}{
		{"directory", journal.Config{Journal: config.Journal{Path: dir}}, "is a directory: name a file in it"},
		{"device", journal.Config{Journal: config.Journal{Path: os.DevNull}}, "not a regular file"},
		{"memory", journal.Config{Journal: config.Journal{Path: ":memory:"}}, "plain file"},
		{"URI", journal.Config{Journal: config.Journal{Path: "file:x.db?mode=memory"}}, "plain file"},
		{"parent is a file", journal.Config{Journal: config.Journal{Path: filepath.Join(write("file", ""), "j.db")}}, "create its directory"},
		{"not a database", journal.Config{Journal: config.Journal{Path: write("text", strings.Repeat("hello ", 200))}}, "not a SQLite database"},
		{"another program's database", journal.Config{Journal: config.Journal{Path: foreign}}, "of another program"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.cfg.Path == "" {
				tt.cfg.Path = filepath.Join(dir, "unused.db")
			}
			tt.cfg.Logger = slog.New(slog.DiscardHandler)
			j, err := journal.Open(t.Context(), tt.cfg)
			if err == nil {
				closeJournal(t, j)
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q does not say %q", err, tt.want)
			}
		})
	}
	if n := selectInt(t, conn, "SELECT count(*) FROM sqlite_schema"); n != 1 {
		t.Error("another program's database was changed")
	}
}
