// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// sweepTime is the time of the sweeps of these tests.
var sweepTime = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func named(id string) record.Session { return record.Session{App: "shop", User: "ann", ID: id} }

// aged returns n rows of one run, the last of them recorded age before sweepTime.
func aged(s record.Session, run string, n int, age time.Duration) []record.Event {
	rows := make([]record.Event, n)
	for i := range rows {
		rows[i] = event(s, run, int64(i+1), "X")
		rows[i].Timestamp = sweepTime.Add(-age).UnixMicro() - int64(n-1-i)
	}
	rows[n-1].EventType = record.InvocationCompleted
	return rows
}

func sweep(tb testing.TB, j *journal.Journal, cfg config.Retention) {
	tb.Helper()
	if err := j.Sweep(tb.Context(), cfg, sweepTime); err != nil {
		tb.Fatal(err)
	}
}

// listed returns the ids of the sessions that the journal lists.
func listed(tb testing.TB, j *journal.Journal) []string {
	tb.Helper()
	list, err := j.Sessions(tb.Context(), store.Query{Limit: 1 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.Session.ID)
	}
	return ids
}

const day = 24 * time.Hour

func TestRetentionByAge(t *testing.T) {
	tests := []struct {
		name string
		cfg  config.Retention
		want []string // newest first, as listed
	}{
		{"everything is kept", config.Retention{}, []string{"new", "idle", "day", "grown", "old", "older"}},
		{"a day", config.Retention{MaxAge: day}, []string{"new", "idle", "day", "grown"}},
		{"a week", config.Retention{MaxAge: 7 * day}, []string{"new", "idle", "day", "grown", "old"}},
		{"no session is active that short", config.Retention{MaxAge: time.Nanosecond}, []string{"new"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, nil)
			appendAll(t, j, aged(named("older"), "r", 3, 8*day)...)
			appendAll(t, j, aged(named("old"), "r", 1, 2*day)...)
			appendAll(t, j, aged(named("grown"), "r", 3, 8*day)...)
			appendAll(t, j, aged(named("grown"), "r2", 3, 2*time.Hour)...)
			appendAll(t, j, aged(named("day"), "r", 3, day)...)
			appendAll(t, j, aged(named("idle"), "r", 3, journal.MinIdle+time.Microsecond)...)
			appendAll(t, j, aged(named("new"), "r", 3, journal.MinIdle)...)
			flush(t, j)
			sweep(t, j, tt.cfg)
			if d := cmp.Diff(tt.want, listed(t, j)); d != "" {
				t.Errorf("sessions differ (-want +got):\n%s", d)
			}
			s := j.Stats()
			if n, err := j.Count(t.Context()); err != nil || uint64(n)+s.RemovedRows != 19 || int(s.RemovedSessions) != 6-len(tt.want) {
				t.Errorf("%d rows, %v, removed %d and %d sessions: want 19 in all", n, err, s.RemovedRows, s.RemovedSessions)
			}
		})
	}
}

// used returns the bytes of the file that are in use.
func used(tb testing.TB, conn *sqlite.Conn) int64 {
	tb.Helper()
	return selectInt(tb, conn, `SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`)
}

func padded(rows []record.Event, bytes int) []record.Event {
	pad := []byte(`"` + strings.Repeat("x", bytes) + `"`)
	for i := range rows {
		rows[i].Content = pad
	}
	return rows
}

func TestRetentionBySize(t *testing.T) {
	j := openJournal(t, nil)
	const sessions, limit = 40, 1 << 20
	for n := range sessions {
		// In an order that is not that of their age.
		n = n * 7 % sessions
		appendAll(t, j, padded(aged(named(fmt.Sprintf("s-%02d", n)), "r", 50, time.Duration(n)*time.Hour), 1000)...)
	}
	flush(t, j)
	conn := connect(t, j.Path())
	whole := used(t, conn)
	sweep(t, j, config.Retention{MaxSize: 10 << 20})
	if n := len(listed(t, j)); n != sessions {
		t.Fatalf("%d sessions of %d bytes kept in 10 MiB, want %d", n, whole, sessions)
	}
	sweep(t, j, config.Retention{MaxSize: limit})
	if n := used(t, conn); n > limit*9/10 || n < limit*7/10 {
		t.Errorf("%d bytes in use, want a little less than nine tenths of %d", n, limit)
	}
	kept := listed(t, j)
	for n := range sessions {
		if has := strings.Contains(fmt.Sprint(kept), fmt.Sprintf("s-%02d", n)); has != (n < len(kept)) {
			t.Errorf("session %d is listed: %v; %d are kept", n, has, len(kept))
		}
	}
	// Below the limit it waits until the file has grown again.
	appendAll(t, j, padded(aged(named("next"), "r", 20, 0), 1000)...)
	flush(t, j)
	sweep(t, j, config.Retention{MaxSize: limit})
	if n := len(listed(t, j)); n != len(kept)+1 {
		t.Errorf("%d sessions are left, want %d", n, len(kept)+1)
	}
	// What is active stays, whatever the size.
	sweep(t, j, config.Retention{MaxSize: 1})
	if d := cmp.Diff([]string{"next", "s-00"}, listed(t, j)); d != "" {
		t.Errorf("sessions differ (-want +got):\n%s", d)
	}
}

// paths leads an approval to every state.
var paths = storetest.Paths()

// openApproval returns a pending approval that has not expired at sweepTime.
func openApproval(n int) safety.Approval {
	a := storetest.Pending(n)
	a.ExpiresAt = sweepTime.Add(time.Hour)
	return a
}

// lead creates approval n and takes it along a path.
func lead(tb testing.TB, l safety.Ledger, n int, path []safety.ApprovalState) safety.Approval {
	tb.Helper()
	return leadFrom(tb, l, openApproval(n), path)
}

func leadFrom(tb testing.TB, l safety.Ledger, a safety.Approval, path []safety.ApprovalState) safety.Approval {
	tb.Helper()
	if err := l.Create(tb.Context(), a); err != nil {
		tb.Fatal(err)
	}
	for _, to := range path {
		step := safety.Transition{ID: a.ID, From: []safety.ApprovalState{a.State}, To: to, At: a.RequestedAt.Add(time.Second), Actor: "ana"}
		switch to {
		case safety.StateApproved:
			step.Set = safety.Update{Consent: safety.Consent{Who: "ana"}, Verdict: "safe"}
		case safety.StatePermitted:
			step.Set = safety.Update{PermitNonce: "n", PermitRun: "r", PermitExpiresAt: a.RequestedAt.Add(time.Minute)}
		case safety.StateExecuting:
			step.RequireNonce = "n"
		}
		var err error
		if a, err = l.Transition(tb.Context(), step); err != nil {
			tb.Fatal(err)
		}
	}
	return a
}

// TestRetentionAfterApprovalsExpire: a request that nobody answers keeps its session
// until it expires, and as long after that as a row would.
func TestRetentionAfterApprovalsExpire(t *testing.T) {
	tests := []struct {
		state   safety.ApprovalState
		expired time.Duration // at the time of the sweep
		cfg     config.Retention
		kept    bool
	}{
		{safety.StatePending, -time.Hour, config.Retention{MaxAge: day}, true},
		{safety.StatePending, day, config.Retention{MaxAge: day}, true},
		{safety.StatePending, day + time.Microsecond, config.Retention{MaxAge: day}, false},
		{safety.StateApproved, day + time.Microsecond, config.Retention{MaxAge: day}, false},
		{safety.StatePermitted, day + time.Microsecond, config.Retention{MaxAge: day}, false},
		{safety.StatePending, journal.MinIdle, config.Retention{MaxSize: 1}, true},
		{safety.StatePending, journal.MinIdle + time.Microsecond, config.Retention{MaxSize: 1}, false},
		// What has begun and not ended is in doubt, however long ago.
		{safety.StateExecuting, 365 * day, config.Retention{MaxAge: day}, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.state, tt.expired), func(t *testing.T) {
			j := openJournal(t, nil)
			a := openApproval(1)
			a.ExpiresAt = sweepTime.Add(-tt.expired)
			leadFrom(t, j.Ledger(), a, paths[tt.state])
			appendAll(t, j, aged(record.Session(a.Session), "r", 5, 1000*day)...)
			flush(t, j)
			sweep(t, j, tt.cfg)
			if n, err := j.Count(t.Context()); err != nil || (n == 5) != tt.kept {
				t.Errorf("%d rows are left, %v; want them kept: %v", n, err, tt.kept)
			}
		})
	}
}

// TestRetentionFailsMidway fails a removal after some of its transactions.
func TestRetentionFailsMidway(t *testing.T) {
	const rows = 1500
	j := openJournal(t, nil)
	appendAll(t, j, aged(testSession, "r", rows, 2*day)...)
	appendAll(t, j, aged(named("other"), "r", 10, 2*day-time.Hour)...)
	flush(t, j)
	alter(t, j, "CREATE TRIGGER broken BEFORE DELETE ON agent_events WHEN OLD.run_seq = 1000 BEGIN SELECT raise(ABORT, 'broken'); END")
	cfg := config.Retention{MaxAge: day}
	if err := j.Sweep(t.Context(), cfg, sweepTime); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Fatalf("the sweep ended with %v", err)
	}
	left, err := j.Events(t.Context(), testSession)
	if err != nil || len(left) == 0 || len(left) == rows || left[0].RunSeq != int64(rows-len(left)+1) {
		t.Fatalf("%d rows are left, %v, want some of %d, the newest", len(left), err, rows)
	}
	wantLosses(t, j, testSession, fmt.Sprintf("%d rows of this session were removed by retention", rows-len(left)))
	if n := j.Stats().RemovedRows; n != uint64(rows-len(left)) {
		t.Errorf("%d rows counted as removed, want %d", n, rows-len(left))
	}
	alter(t, j, "DROP TRIGGER broken")

	// The session goes on: what is left of the old rows stays while it is active, and
	// goes even if nothing else has to, but not the new ones.
	appendAll(t, j, aged(testSession, "next", 3, time.Minute)...)
	flush(t, j)
	sweep(t, j, cfg)
	if got, err := j.Events(t.Context(), testSession); err != nil || len(got) != len(left)+3 {
		t.Errorf("%d rows are left, %v, want %d: the session is active", len(got), err, len(left)+3)
	}
	if err := j.Sweep(t.Context(), config.Retention{MaxSize: 1 << 40}, sweepTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	list, err := j.Sessions(t.Context(), store.Query{})
	if err != nil || len(list) != 1 || list[0].Events != 3 || !list[0].First.After(sweepTime.Add(-2*time.Minute)) || list[0].Agents == nil {
		t.Errorf("sessions %+v, %v: want the new rows of one", list, err)
	}
	wantLosses(t, j, testSession, fmt.Sprintf("%d rows of this session were removed by retention", rows))
}

// TestRetentionAfterRowsWereDeletedByHand: a list of sessions that is wrong does not
// keep retention busy for ever.
func TestRetentionAfterRowsWereDeletedByHand(t *testing.T) {
	j := openJournal(t, nil)
	for _, id := range []string{"emptied", "thinned", "whole"} {
		appendAll(t, j, aged(named(id), "r", 10, 2*day)...)
	}
	flush(t, j)
	alter(t, j, "DELETE FROM agent_events WHERE session_id = 'emptied' OR session_id = 'thinned' AND run_seq < 5")
	alter(t, j, "UPDATE sessions SET last_seq = last_seq - 2 WHERE session_id = 'whole'")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := j.Sweep(ctx, config.Retention{MaxAge: day}, sweepTime); err != nil {
		t.Fatal(err)
	}
	if n, err := j.Count(t.Context()); err != nil || n != 0 || len(listed(t, j)) != 0 {
		t.Errorf("%d rows are left, %v, of %q", n, err, listed(t, j))
	}
	wellFormed(t, j)
}

// TestRetentionBoundsItsSteps fails the removal of large rows in a later step than
// the first.
func TestRetentionBoundsItsSteps(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, padded(aged(testSession, "r", 12, 2*day), 1_000_000)...)
	flush(t, j)
	alter(t, j, "CREATE TRIGGER broken BEFORE DELETE ON agent_events WHEN OLD.run_seq = 12 BEGIN SELECT raise(ABORT, 'broken'); END")
	if err := j.Sweep(t.Context(), config.Retention{MaxAge: day}, sweepTime); err == nil {
		t.Fatal("the sweep did not fail")
	}
	if n, err := j.Count(t.Context()); err != nil || n == 0 || n == 12 {
		t.Errorf("%d rows of 1 MB are left, %v: 12 MB were one step", n, err)
	}
	alter(t, j, "DROP TRIGGER broken")
	// What was begun is finished, also when nothing else is due.
	sweep(t, j, config.Retention{MaxSize: 1 << 40})
	if s := j.Stats(); s.RemovedRows != 12 || s.RemovedSessions != 1 {
		t.Errorf("stats %+v: want 12 rows of one session removed", s)
	}
}

// TestRetentionStepsAreSmall counts what a transaction of retention removes: others who want to write
// wait that long.
func TestRetentionStepsAreSmall(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, aged(testSession, "r", 300, 2*day)...)
	appendAll(t, j, padded(aged(named("fat"), "r", 12, 2*day), 400_000)...)
	flush(t, j)
	// Each transaction marks its session once, after it removed rows.
	alter(t, j, "CREATE TABLE work (rows INTEGER, bytes INTEGER)")
	alter(t, j, "INSERT INTO work VALUES (0, 0)")
	alter(t, j, "CREATE TABLE steps (rows INTEGER, bytes INTEGER)")
	alter(t, j, `CREATE TRIGGER count_rows AFTER DELETE ON agent_events BEGIN
		UPDATE work SET rows = rows + 1, bytes = bytes + coalesce(octet_length(OLD.content), 0); END`)
	alter(t, j, `CREATE TRIGGER count_steps AFTER UPDATE OF removed ON sessions BEGIN
		INSERT INTO steps SELECT rows, bytes FROM work; UPDATE work SET rows = 0, bytes = 0; END`)
	sweep(t, j, config.Retention{MaxAge: day})
	if s := j.Stats(); s.RemovedSessions != 2 || s.RemovedRows != 312 {
		t.Fatalf("stats %+v: want 312 rows of two sessions removed", s)
	}
	conn := connect(t, j.Path())
	defer conn.Close()
	if n := selectInt(t, conn, "SELECT max(rows) FROM steps"); n < 32 || n > 64 {
		t.Errorf("%d rows were removed in one transaction, want 64 at most", n)
	}
	if n := selectInt(t, conn, "SELECT max(bytes) FROM steps"); n < 1<<20 || n > 1<<20+400_000 {
		t.Errorf("%d bytes were removed in one transaction, want a row more than 1 MiB at most", n)
	}
}

// TestRetentionCopiesTheLog holds that the writer finds a short log, however much is removed: to copy a
// long one would keep rows waiting.
func TestRetentionCopiesTheLog(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, padded(aged(testSession, "r", 6000, 2*day), 1000)...)
	flush(t, j)
	alter(t, j, "PRAGMA wal_checkpoint(TRUNCATE)")
	sweep(t, j, config.Retention{MaxAge: day})
	info, err := os.Stat(j.Path() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if n := j.Stats().RemovedRows; n != 6000 || info.Size() == 0 || info.Size() > 6<<20 {
		t.Errorf("%d rows were removed, and the log has %d bytes, want 6 MiB at most", n, info.Size())
	}
}

// TestApprovalStopsRemoval opens an approval while its session is being removed.
func TestApprovalStopsRemoval(t *testing.T) {
	a := openApproval(1)
	s := record.Session(a.Session)
	j := openJournal(t, nil)
	appendAll(t, j, aged(s, "r", 1000, 2*day)...)
	flush(t, j)
	alter(t, j, "CREATE TRIGGER broken BEFORE DELETE ON agent_events WHEN OLD.run_seq = 300 BEGIN SELECT raise(ABORT, 'broken'); END")
	cfg := config.Retention{MaxAge: day}
	if err := j.Sweep(t.Context(), cfg, sweepTime); err == nil {
		t.Fatal("the sweep did not fail")
	}
	alter(t, j, "DROP TRIGGER broken")
	before, err := j.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	sweep(t, j, cfg)
	if n, err := j.Count(t.Context()); err != nil || n != before || n == 0 {
		t.Errorf("%d rows are left, %v, want %d", n, err, before)
	}
	_, err = j.Ledger().Transition(t.Context(), safety.Transition{ID: a.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateRejected, At: a.RequestedAt, Actor: "ana"})
	if err != nil {
		t.Fatal(err)
	}
	sweep(t, j, cfg)
	if n, err := j.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("%d rows are left, %v, want none", n, err)
	}
}

// TestRetentionBesideAppends removes many rows while others are appended.
func TestRetentionBesideAppends(t *testing.T) {
	const rows = 500
	sessions := testsize.Rounds(t, 10, 200)
	j := openJournal(t, nil)
	alter(t, j, fmt.Sprintf(`WITH RECURSIVE row(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM row WHERE n + 1 < %d)
		INSERT INTO agent_events (session, app_name, run_id, run_seq, timestamp, event_id, event_type, session_id, user_id, status, is_truncated)
		SELECT 1 + n / %[3]d, 'shop', 'r', n, %[2]d, 'old/' || n, 'X', 'old-' || (n / %[3]d), 'ann', 'OK', 0 FROM row`,
		sessions*rows, sweepTime.Add(-2*day).UnixMicro(), rows))
	alter(t, j, `INSERT INTO sessions (number, app_name, user_id, session_id, first_time, last_time, last_seq, events)
		SELECT session, app_name, user_id, session_id, min(timestamp), max(timestamp), max(seq), count(*) FROM agent_events GROUP BY 1`)
	stop := make(chan struct{})
	appended := make(chan int64)
	go func() {
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for n := int64(1); ; n++ {
			e := event(testSession, "live", n, "X")
			e.Timestamp = sweepTime.UnixMicro()
			if !j.Append(e) {
				t.Error("a row was refused")
			}
			if n%5 == 0 {
				if err := j.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				select {
				case <-stop:
					appended <- n
					return
				case <-pace.C:
				}
			}
		}
	}()
	sweep(t, j, config.Retention{MaxAge: day})
	close(stop)
	want := <-appended
	got, err := j.Events(t.Context(), testSession)
	if err != nil || int64(len(got)) != want {
		t.Fatalf("%d rows are stored, %v, %d were appended", len(got), err, want)
	}
	for i, e := range got {
		if e.RunSeq != int64(i+1) {
			t.Fatalf("row %d has number %d", i+1, e.RunSeq)
		}
	}
	if n, err := j.Count(t.Context()); err != nil || n != want {
		t.Errorf("%d rows are left, %v, want %d", n, err, want)
	}
	s := j.Stats()
	if s.RemovedRows != uint64(sessions*rows) || s.RemovedSessions != uint64(sessions) || len(s.Lost) != 0 {
		t.Errorf("stats %+v: want %d rows of %d sessions removed, none lost", s, sessions*rows, sessions)
	}
	wellFormed(t, j)
}

// wellFormed checks what holds for every journal.
func wellFormed(tb testing.TB, j *journal.Journal) {
	tb.Helper()
	conn := connect(tb, j.Path())
	defer conn.Close()
	if bad := selectInt(tb, conn, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"); bad != 0 {
		tb.Error("the file is damaged")
	}
	if bad := selectInt(tb, conn, "SELECT count(*) FROM pragma_foreign_key_check"); bad != 0 {
		tb.Errorf("%d rows refer to nothing", bad)
	}
	if bad := selectInt(tb, conn, `SELECT count(*) FROM sessions AS s WHERE events <> (SELECT count(*) FROM agent_events AS e
		WHERE e.session = s.number)`); bad != 0 {
		tb.Errorf("the list of sessions is wrong about %d", bad)
	}
}

// TestRetentionOfTwoProcesses lets two journals remove the same sessions at once.
func TestRetentionOfTwoProcesses(t *testing.T) {
	const sessions, rows = 30, 300
	path := journaltest.Path(t)
	js := []*journal.Journal{reopen(t, journal.Config{Journal: config.Journal{Path: path}}), reopen(t, journal.Config{Journal: config.Journal{Path: path}})}
	for n := range sessions {
		appendAll(t, js[0], aged(named(fmt.Sprint("old-", n)), "r", rows, 2*day)...)
	}
	appendAll(t, js[0], aged(named("new"), "r", rows, 0)...)
	flush(t, js[0])
	var wg sync.WaitGroup
	for _, j := range js {
		wg.Go(func() {
			if err := j.Sweep(t.Context(), config.Retention{MaxAge: day}, sweepTime); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	a, b := js[0].Stats(), js[1].Stats()
	if n := a.RemovedRows + b.RemovedRows; n != sessions*rows || a.RemovedSessions+b.RemovedSessions != sessions {
		t.Errorf("%d rows removed, want %d", n, sessions*rows)
	}
	if d := cmp.Diff([]string{"new"}, listed(t, js[1])); d != "" {
		t.Errorf("sessions differ (-want +got):\n%s", d)
	}
	if n := selectInt(t, connect(t, path), "SELECT sum(removed) FROM sessions"); n != sessions*rows {
		t.Errorf("the sessions say that %d rows were removed, want %d", n, sessions*rows)
	}
	wellFormed(t, js[0])
}

func TestRetentionShrinksTheFile(t *testing.T) {
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	fill := func(j *journal.Journal, name string) {
		for n := range 30 {
			appendAll(t, j, padded(aged(named(fmt.Sprint(name, n)), "r", 50, 2*day), 7000)...)
		}
		appendAll(t, j, padded(aged(named("new"), name, 20, 0), 2000)...)
		flush(t, j)
	}
	path := journaltest.Path(t)
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	fill(j, "a")
	closeJournal(t, j)
	full := size(path)
	if full < 10<<20 {
		t.Fatalf("the file has %d bytes", full)
	}
	j = reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	conn := connect(t, path)
	sweep(t, j, config.Retention{MaxAge: day})
	if n := used(t, conn); n > full/20 {
		t.Errorf("%d of %d bytes are in use", n, full)
	}
	conn.Close()
	closeJournal(t, j)
	if n := size(path); n > full/20 {
		t.Errorf("the file has %d bytes, it had %d", n, full)
	}
}

// removingChildEnv makes the test binary remove sessions from the journal it names
// until it is killed.
const removingChildEnv = "JOURNAL_REMOVING_CHILD"

// removingChild prints a line when it has begun to remove.
func removingChild(path string) {
	j, err := journal.Open(context.Background(), journal.Config{
		Journal: config.Journal{Path: path, Retention: config.Retention{MaxAge: day}}, Now: func() time.Time { return sweepTime },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for j.Stats().RemovedRows == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("removing")
	select {}
}

func TestKilledInTheMiddleOfRemoval(t *testing.T) {
	const sessions, rows = 4, 1000
	path := journaltest.Path(t)
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	for n := range sessions {
		appendAll(t, j, aged(named(fmt.Sprint("s-", n)), "r", rows, 2*day)...)
	}
	flush(t, j)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if len(listed(t, j)) == 0 {
			break // the kills came late
		}
		closeJournal(t, j)
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), removingChildEnv+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(5_000)) * time.Microsecond)
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		j = reopen(t, journal.Config{Journal: config.Journal{Path: path}})
		wellFormed(t, j)
		for n := range sessions {
			s := named(fmt.Sprint("s-", n))
			left, err := j.Events(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if removed := rows - len(left); removed > 0 {
				want = append(want, fmt.Sprintf("%d rows of this session were removed by retention", removed))
			}
			wantLosses(t, j, s, want...)
		}
	}
	sweep(t, j, config.Retention{MaxAge: day})
	if n, err := j.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("%d rows are left, %v, want none", n, err)
	}
}

// TestRetentionInTheBackground lets a journal do its work by itself.
func TestRetentionInTheBackground(t *testing.T) {
	var log syncBuffer
	var clock atomic.Int64
	clock.Store(sweepTime.UnixMicro())
	j := openJournal(t, func(c *journal.Config) {
		c.Retention.MaxAge, c.SweepInterval = day, time.Millisecond
		c.CommitInterval = time.Hour // the rows are stored at once, when they are flushed
		c.Now = func() time.Time { return time.UnixMicro(clock.Load()) }
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	appendAll(t, j, aged(testSession, "r", 30, time.Hour)...)
	appendAll(t, j, aged(named("old"), "r", 20, 2*day)...)
	flush(t, j)
	waitFor(t, func() bool { return j.Stats().RemovedSessions == 1 })
	if d := cmp.Diff([]string{testSession.ID}, listed(t, j)); d != "" {
		t.Errorf("sessions differ (-want +got):\n%s", d)
	}
	alter(t, j, "ALTER TABLE approvals RENAME TO away")
	waitFor(t, func() bool { return j.Stats().RetentionError != nil })
	clock.Add(int64(2 * day / time.Microsecond))
	alter(t, j, "ALTER TABLE away RENAME TO approvals")
	waitFor(t, func() bool { s := j.Stats(); return s.RemovedSessions == 2 && s.RetentionError == nil })
	if s := j.Stats(); s.RemovedRows != 50 {
		t.Errorf("%d rows removed, want 50", s.RemovedRows)
	}
	closeJournal(t, j)
	for _, want := range []string{"removed by retention", "sessions=1 rows=20", "sessions=1 rows=30", "retention fails"} {
		if strings.Count(log.String(), want) == 0 {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
}

// TestCloseEndsRetention closes a journal in the middle of a long removal, and while
// that waits for a file that another process has locked.
func TestCloseEndsRetention(t *testing.T) {
	const sessions = 500
	// start returns a journal with one session that was removed, and others that are
	// when the function it returns was called.
	start := func(t *testing.T) (j *journal.Journal, due func()) {
		var clock atomic.Int64
		clock.Store(sweepTime.Add(-2 * day).UnixMicro())
		j, err := journal.OpenImpatient(t.Context(), journal.Config{
			Journal: config.Journal{Path: journaltest.Path(t), CommitInterval: time.Hour, Retention: config.Retention{MaxAge: day}}, SweepInterval: time.Millisecond,
			Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.UnixMicro(clock.Load()) },
		}, time.Hour) // a lock is waited for until Close
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, j, aged(named("first"), "r", 2, 4*day)...)
		for n := range sessions {
			appendAll(t, j, aged(named(fmt.Sprint("old-", n)), "r", 2, 2*day)...)
		}
		flush(t, j)
		waitFor(t, func() bool { return j.Stats().RemovedSessions == 1 })
		return j, func() { clock.Store(sweepTime.UnixMicro()) }
	}
	cutShort := func(t *testing.T, j *journal.Journal) {
		t.Helper()
		if s := j.Stats(); s.RemovedSessions == 1+sessions || s.RetentionError != nil {
			t.Errorf("stats %+v: want a removal cut short without an error", s)
		}
	}
	t.Run("removing", func(t *testing.T) {
		j, due := start(t)
		removing, release := make(chan struct{}), make(chan struct{})
		rows := 0
		pause := func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) {
			if rows++; rows == 10 {
				close(removing)
				<-release
			}
			return sqlite.Value{}, nil
		}
		err := j.Write(t.Context(), func(conn *sqlite.Conn) error {
			if err := conn.CreateFunction("pause", &sqlite.FunctionImpl{Scalar: pause, AllowIndirect: true}); err != nil {
				return err
			}
			return sqlitex.ExecuteTransient(conn, "CREATE TEMP TRIGGER paused BEFORE DELETE ON main.agent_events BEGIN SELECT pause(); END", nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		due()
		<-removing
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			closeJournal(t, j)
		}()
		waitFor(t, func() bool { return !j.Append(event(named("late"), "r", 1, "X")) }) // Close has begun
		close(release)
		<-closed
		if n := j.Stats().RemovedSessions; n < 4 {
			t.Errorf("%d sessions were removed before the tenth row", n)
		}
		cutShort(t, j)
	})
	t.Run("locked", func(t *testing.T) {
		j, due := start(t)
		defer lockFile(t, j.Path())()
		due()
		waitFor(t, func() bool { // the writer waits for the lock, and serves nobody
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			return j.Flush(ctx) != nil
		})
		closeJournal(t, j)
		cutShort(t, j)
	})
}

// TestRetentionLookIsCheap asks SQLite how it looks for something to remove: by the
// indexes, never through the whole of a table.
func TestRetentionLookIsCheap(t *testing.T) {
	j := openJournal(t, nil)
	var plan strings.Builder
	err := sqlitex.ExecuteTransient(connect(t, j.Path()), "EXPLAIN QUERY PLAN "+journal.SelectRemovableSQL(), &sqlitex.ExecOptions{
		Args:       []any{0, 0, 0, 1, 0},
		ResultFunc: func(s *sqlite.Stmt) error { fmt.Fprintln(&plan, s.ColumnText(3)); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"USING COVERING INDEX sessions_idle (removing=? AND last_time>? AND last_time<?)", "USING INDEX approvals_open (session=?)",
		"USING COVERING INDEX destinations_cursor", "USING COVERING INDEX dead_letters_session",
		"USING COVERING INDEX child_sessions_child"} {
		if !strings.Contains(plan.String(), want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan.String())
		}
	}
	for _, bad := range []string{"SCAN", "B-TREE"} {
		if strings.Contains(plan.String(), bad) {
			t.Errorf("the plan has a %s:\n%s", bad, plan.String())
		}
	}
}

// TestNumbersAreNotUsedAgain holds that the number of a row that somebody deleted is not given again: a
// destination would take the new row for one that it has.
func TestNumbersAreNotUsedAgain(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, aged(named("old"), "a", 3, 2*day)...)
	flush(t, j)
	alter(t, j, "DELETE FROM agent_events")
	appendAll(t, j, aged(named("new"), "b", 1, time.Hour)...)
	flush(t, j)
	if last, err := j.LastSeq(t.Context()); err != nil || last != 4 {
		t.Errorf("the next row has the number %d, %v, want 4", last, err)
	}
}
