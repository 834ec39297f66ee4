// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// smallPages makes a journal with three rows whose pages have 512 bytes, so that a few bytes are a
// good part of it.
func smallPages(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "j.db")
	openAndClose(t, path, func(j *Journal) {
		for n := range int64(3) {
			j.Append(record.Event{
				EventID: fmt.Sprint(n), EventType: record.AgentStarting, Status: record.StatusOK, Timestamp: n,
				AppName: "app", UserID: "user", SessionID: "session", RunID: "r", RunSeq: n + 1,
			})
		}
	})
	conn := openConn(t, path, sqlite.OpenReadWrite)
	if err := execAll(conn, "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file that runs code of somebody else when it is read or written is refused by name, before
// anything of it is read.
func TestFileWithForeignCode(t *testing.T) {
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
	for name, tt := range map[string]struct {
		statements []string
		want       string
	}{
		"a view in the place of a table": {[]string{"ALTER TABLE agent_events RENAME TO kept", "CREATE VIEW agent_events AS SELECT *, (" + endless + ") FROM kept"}, `a table "kept"`},
		"another view":                   {[]string{"CREATE VIEW v AS " + endless}, `a view "v"`},
		"a trigger":                      {[]string{"CREATE TRIGGER t AFTER INSERT ON agent_events BEGIN DELETE FROM approvals; END"}, `a trigger "t"`},
		"a trigger with a name of ours": {[]string{
			"DROP TRIGGER approval_history_no_update",
			"CREATE TRIGGER approval_history_no_update BEFORE UPDATE ON approval_history BEGIN SELECT 1; END",
		}, `a trigger "approval_history_no_update"`},
		"a virtual table":   {[]string{"CREATE VIRTUAL TABLE x USING fts5(a)"}, `a table "x"`},
		"a computed column": {[]string{"ALTER TABLE agent_events ADD COLUMN more TEXT AS (hex(zeroblob(1000)))"}, `a table "agent_events"`},
		"a name that reads": {[]string{"CREATE VIEW \"x\u202e\x1b[2J\" AS SELECT 1"}, `a view "x  [2J"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j.db")
			openAndClose(t, path, nil)
			conn := openConn(t, path, sqlite.OpenReadWrite)
			if err := execAll(conn, tt.statements...); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			j, err := Open(ctx, Config{Journal: config.Journal{Path: path}, Logger: quiet})
			if err == nil {
				j.Close(ctx)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A file with any damage is opened or refused, and read or refused: nothing breaks down or hangs.
func TestDamagedFiles(t *testing.T) {
	whole, err := os.ReadFile(smallPages(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "j.db")
	opened, tries := 0, 0
	for seed := range testsize.Seeds(t, 60, 2000) {
		random := rand.New(rand.NewPCG(seed, 2))
		data := append([]byte(nil), whole...)
		for range 1 + random.IntN(20) {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
		if random.IntN(4) == 0 {
			data = data[:random.IntN(len(data))]
		}
		for _, end := range []string{"-wal", "-shm"} {
			os.Remove(path + end)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		tries++
		j, err := Open(ctx, Config{Journal: config.Journal{Path: path}, Logger: quiet})
		if err == nil {
			opened++
			s := record.Session{App: "app", User: "user", ID: "session"}
			j.Count(ctx)
			j.Events(ctx, s)
			j.Ledger().List(ctx, safety.Query{Session: s})
			j.Sessions(ctx, store.Query{})
			j.Close(ctx)
		}
		if ctx.Err() != nil {
			t.Fatalf("seed %d: a damaged file takes a minute: %v", seed, err)
		}
		cancel()
	}
	if tries > 1 && (opened == 0 || opened == tries) {
		t.Errorf("%d of %d files were opened", opened, tries)
	}
}
