// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// spySQL notes, from inside of every transaction that writes a row, an approval, a
// step of one, or rules, the value of PRAGMA synchronous that is in force.
const spySQL = `
CREATE TEMP TABLE seen (what TEXT NOT NULL, level INTEGER NOT NULL);
CREATE TEMP TRIGGER spy_rows AFTER INSERT ON main.agent_events
  BEGIN INSERT INTO seen SELECT 'row ' || NEW.event_id, synchronous FROM pragma_synchronous; END;
CREATE TEMP TRIGGER spy_create AFTER INSERT ON main.approvals
  BEGIN INSERT INTO seen SELECT 'create', synchronous FROM pragma_synchronous; END;
CREATE TEMP TRIGGER spy_update AFTER UPDATE ON main.approvals
  BEGIN INSERT INTO seen SELECT 'transition to ' || NEW.state, synchronous FROM pragma_synchronous; END;
CREATE TEMP TRIGGER spy_rules AFTER INSERT ON main.rules
  BEGIN INSERT INTO seen SELECT 'rules', synchronous FROM pragma_synchronous; END;
`

// TestLevels shows at which level of synchronisation SQLite commits what: rows and rules as the
// durability says, and a request that nobody has been asked yet; every later step of an approval always at FULL.
func TestLevels(t *testing.T) {
	const normal, full = 1, 2
	for level, rows := range map[config.Durability]int{
		"":                       normal,
		config.DurabilityMemory:  normal,
		config.DurabilityJournal: normal,
		config.DurabilitySync:    full,
	} {
		t.Run(fmt.Sprintf("level=%s", level), func(t *testing.T) {
			j := openJournal(t, func(c *journal.Config) { c.Durability = level })
			write := func(fn func(*sqlite.Conn) error) {
				t.Helper()
				if err := j.Write(t.Context(), fn); err != nil {
					t.Fatal(err)
				}
			}
			write(func(conn *sqlite.Conn) error { return sqlitex.ExecuteScript(conn, spySQL, nil) })
			first, second := event(testSession, "r", 1, "X"), event(testSession, "r", 2, "X")
			first.EventID, second.EventID = "1", "2"

			appendAll(t, j, first)
			flush(t, j)
			appendAll(t, j, second) // left for the ledger to commit
			l := j.Ledger()
			a := storetest.Pending(1)
			a.ConfirmationID = ""
			if err := l.Create(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if err := l.Attach(t.Context(), a.ID, "confirmation"); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Transition(t.Context(), safety.Transition{
				ID: a.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateRejected, At: testTime,
			}); err != nil {
				t.Fatal(err)
			}
			if err := j.SetRules(t.Context(), "digest", []byte(`[]`)); err != nil {
				t.Fatal(err)
			}

			got := make(map[string]int)
			var fullfsync int
			write(func(conn *sqlite.Conn) error {
				err := sqlitex.ExecuteTransient(conn, "SELECT what, level FROM seen", &sqlitex.ExecOptions{
					ResultFunc: func(s *sqlite.Stmt) error {
						got[s.ColumnText(0)] = s.ColumnInt(1)
						return nil
					},
				})
				if err != nil {
					return err
				}
				return sqlitex.ExecuteTransient(conn, "PRAGMA fullfsync", &sqlitex.ExecOptions{
					ResultFunc: func(s *sqlite.Stmt) error {
						fullfsync = s.ColumnInt(0)
						return nil
					},
				})
			})
			want := map[string]int{"row 1": rows, "row 2": rows, "create": rows, "transition to pending": full, "transition to rejected": full, "rules": rows}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("levels differ (-want +got):\n%s", d)
			}
			// On macOS a plain fsync, also that of a checkpoint, does not reach the disk.
			if fullfsync != 1 {
				t.Error("fullfsync is off")
			}
		})
	}
}

func TestMemoryWaitsLonger(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) { c.Durability, c.CommitInterval = config.DurabilityMemory, time.Hour })
	for n := range int64(2000) { // more than a group of the other levels
		appendAll(t, j, event(testSession, "r", n+1, "X"))
	}
	if s := j.Stats(); s.Commits != 0 {
		t.Errorf("stats %+v: want all rows to wait", s)
	}
	flush(t, j)
	if s := j.Stats(); s.Stored != 2000 {
		t.Errorf("stats %+v: want all rows stored by Flush", s)
	}
}

func TestDefaultIntervals(t *testing.T) {
	for level, want := range map[config.Durability]time.Duration{
		"":                       20 * time.Millisecond,
		config.DurabilityMemory:  time.Second,
		config.DurabilityJournal: 20 * time.Millisecond,
		config.DurabilitySync:    20 * time.Millisecond,
	} {
		if got := journal.IntervalOf(journal.Config{Journal: config.Journal{Durability: level}}); got != want {
			t.Errorf("level %q commits every %v, want %v", level, got, want)
		}
	}
	if got := journal.IntervalOf(journal.Config{Journal: config.Journal{Durability: config.DurabilityMemory, CommitInterval: 7}}); got != 7 {
		t.Errorf("a given interval became %v", got)
	}
}

// TestPanicInATransaction: nothing that goes wrong in the journal ends the host.
func TestPanicInATransaction(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, event(testSession, "r", 1, "X"))
	err := j.Write(t.Context(), func(conn *sqlite.Conn) error {
		if err := sqlitex.ExecuteTransient(conn, "DELETE FROM agent_events", nil); err != nil {
			return err
		}
		panic("boom")
	})
	if err == nil || err.Error() != "panic: boom" {
		t.Errorf("got %v, want the panic", err)
	}
	appendAll(t, j, event(testSession, "r", 2, "X"))
	flush(t, j)
	wantStored(t, j, 1, 2)
	if n := j.Stats().Panics; n != 1 {
		t.Errorf("%d panics counted, want 1", n)
	}
}
