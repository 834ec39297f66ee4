// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// crashChildEnv makes the test binary record rows in the journal it names until it
// is killed.
const crashChildEnv = "JOURNAL_CRASH_CHILD"

// crashSessions is how many sessions a child records, in turn.
const crashSessions = 4

// crashChild records numbered rows and prints what was acknowledged so far:
// "rows <n>" when Flush returned nil after n rows of each session, "approval <id>"
// when the ledger has one, "sent <seq>" when a destination has the rows up to seq, and then
// "advanced <seq>" when the journal knows.
func crashChild(path string) {
	ctx := context.Background()
	fail := func(args ...any) {
		fmt.Fprintln(os.Stderr, args...)
		os.Exit(1)
	}
	level, run := config.Durability(os.Getenv(crashChildEnv+"_LEVEL")), os.Getenv(crashChildEnv+"_RUN")
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path, Durability: level, CommitInterval: 2 * time.Millisecond}})
	if err != nil {
		fail(err)
	}
	o := j.Outbox(dataset)
	sent, err := o.Acquire(ctx, run, time.Millisecond)
	for errors.Is(err, store.ErrLeased) { // to the one that was killed
		sent, err = o.Acquire(ctx, run, time.Millisecond)
	}
	if err != nil {
		fail(err)
	}
	for n := int64(1); ; n++ {
		for s := range crashSessions {
			e := event(crashSession(s), run, n, record.ToolCompleted)
			e.Content = fmt.Appendf(nil, `{"n":%d,"pad":"%0*d"}`, n, rand.IntN(4000)+1, 0)
			if !j.Append(e) {
				fail("row refused")
			}
		}
		switch rand.IntN(12) {
		case 0:
			if err := j.Flush(ctx); err != nil {
				fail(err)
			}
			fmt.Println("rows", n)
		case 1:
			a := storetest.Pending(1)
			a.ID = fmt.Sprintf("%s-%d", run, n)
			a.CallID = "call-" + a.ID
			a.ConfirmationID, a.Replaces = "", "replaced-"+a.ID
			if err := j.Ledger().Create(ctx, a); err != nil {
				fail(err)
			}
			// The rows of an approval are committed before it.
			fmt.Printf("approval %s\nrows %d\n", a.ID, n)
		case 2:
			if sent, err = sendSome(ctx, o, run, sent); err != nil {
				fail(err)
			}
		}
	}
}

// refusedEvery is of how many rows a destination refuses one.
const refusedEvery = 10

// sendSome sends a few of the rows behind number after, and returns how far it is.
func sendSome(ctx context.Context, o store.Outbox, run string, after int64) (int64, error) {
	rows, err := o.Rows(ctx, after, rand.IntN(50)+1, 1<<20)
	if err != nil || len(rows) == 0 {
		return after, err
	}
	var dead []store.DeadLetter
	for _, e := range rows {
		if e.Seq%refusedEvery == 0 {
			dead = append(dead, store.DeadLetter{Seq: e.Seq, Reason: "refused"})
		}
	}
	to := rows[len(rows)-1].Seq
	fmt.Println("sent", to)
	if err := o.Advance(ctx, run, to, dead); err != nil {
		return 0, err
	}
	fmt.Println("advanced", to)
	return to, nil
}

func crashSession(n int) record.Session {
	s := testSession
	s.ID = fmt.Sprint("crash-", n)
	return s
}

// TestKilledProcessLosesNothingAcknowledged kills processes that record, at random
// moments: what was acknowledged is there, and what is there has no hole.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	kills := testsize.Rounds(t, 12, 300)
	levels := []config.Durability{config.DurabilityMemory, config.DurabilityJournal, config.DurabilitySync}
	for i, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			var path string
			var rows, approvals, advanced int64
			enough := (kills + len(levels) - 1 - i) / len(levels)
			// A few kills may all come before something is acknowledged; many may not.
			for round := 0; round < enough || round < 10*enough && (rows == 0 || approvals == 0 || advanced == 0); round++ {
				if round%20 == 0 { // so that the checks below stay fast
					path = filepath.Join(t.TempDir(), "j.db")
				}
				run := fmt.Sprint("run-", round)
				acked := runAndKill(t, path, level, run)
				checkRecovered(t, path, level, run, acked)
				rows += acked.rows
				approvals += int64(len(acked.approvals))
				advanced += acked.advanced
			}
			if rows == 0 || approvals == 0 || advanced == 0 {
				t.Errorf("%d rows and %d approvals acknowledged, %d rows sent: nothing was tested", rows, approvals, advanced)
			}
			t.Logf("%d rows of each of %d sessions and %d approvals acknowledged and recovered", rows, crashSessions, approvals)
		})
	}
}

// acknowledged is what a child said before it was killed.
type acknowledged struct {
	rows      int64 // of each session
	approvals []string
	// sent is the last row that the destination has, advanced the last that the journal knows of.
	sent, advanced int64
}

func checkRecovered(t *testing.T, path string, level config.Durability, run string, acked acknowledged) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path, Durability: level}})
	if err != nil {
		t.Fatalf("%s: the journal of a killed process does not open: %v", run, err)
	}
	defer closeJournal(t, j)
	conn := connect(t, path)
	defer conn.Close()
	recovered := make(map[string]int64)
	err = sqlitex.ExecuteTransient(conn, `SELECT session_id, count(*), max(run_seq), sum(run_seq <> place)
		FROM (SELECT session_id, run_seq, row_number() OVER (PARTITION BY session_id ORDER BY seq) AS place
		      FROM agent_events WHERE run_id = ?1)
		GROUP BY session_id`, &sqlitex.ExecOptions{
		Args: []any{run},
		ResultFunc: func(s *sqlite.Stmt) error {
			session, rows, last, astray := s.ColumnText(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3)
			if rows != last || astray != 0 {
				t.Errorf("%s of %s: %d rows up to number %d, %d not in their place: a hole or a duplicate", run, session, rows, last, astray)
			}
			recovered[session] = rows
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for s := range crashSessions {
		if n := recovered[crashSession(s).ID]; n < acked.rows {
			t.Errorf("%s of session %d: %d rows recovered, %d were acknowledged", run, s, n, acked.rows)
		}
	}
	for _, id := range acked.approvals {
		if a, err := safety.Get(t.Context(), j.Ledger(), id); err != nil || a.State != safety.StatePending {
			t.Errorf("%s: approval %s is %q, %v; it was acknowledged", run, id, a.State, err)
		}
	}
	checkSent(t, j, conn, run, acked)
	if bad := selectInt(t, conn, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"); bad != 0 {
		t.Fatalf("%s: the file is damaged", run)
	}
	if n := selectInt(t, conn, "SELECT coalesce(sum(events), 0) - (SELECT count(*) FROM agent_events) FROM sessions"); n != 0 {
		t.Fatalf("%s: the list of sessions is off by %d rows", run, n)
	}
}

// checkSent checks that the position is never beyond what was sent, nor before what the journal was
// told, and that the next sender goes on there.
func checkSent(t *testing.T, j *journal.Journal, conn *sqlite.Conn, run string, acked acknowledged) {
	t.Helper()
	o := j.Outbox(dataset)
	p := selectInt(t, conn, "SELECT coalesce(max(cursor), 0) FROM destinations")
	if acked.advanced > 0 && p < acked.advanced || acked.sent > 0 && p > acked.sent {
		t.Fatalf("%s: it is at row %d; %d was the last sent, %d the last it was told of", run, p, acked.sent, acked.advanced)
	}
	lacking, err := o.Rows(t.Context(), p, 1<<20, 1<<30)
	if want := selectInt(t, conn, fmt.Sprint("SELECT count(*) FROM agent_events WHERE seq > ", p)); err != nil || int64(len(lacking)) != want {
		t.Errorf("%s: %d rows are read again, %v, want %d", run, len(lacking), err, want)
	}
	want := selectInt(t, conn, fmt.Sprintf("SELECT count(*) FROM agent_events WHERE seq <= %d AND seq %% %d = 0", p, refusedEvery))
	if l, err := o.Backlog(t.Context()); err != nil || l.DeadLetters != want {
		t.Errorf("%s: %d dead letters up to row %d, %v, want %d", run, l.DeadLetters, p, err, want)
	}
}

// runAndKill starts a child, kills it at a random moment and returns what it had
// acknowledged.
func runAndKill(t *testing.T, path string, level config.Durability, run string) (acked acknowledged) {
	t.Helper()
	cmd := testBinary(t, crashChildEnv+"="+path, crashChildEnv+"_LEVEL="+string(level), crashChildEnv+"_RUN="+run)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { cmd.Process.Kill() }
	killAfter := rand.IntN(20) + 1
	if rand.IntN(8) == 0 { // while it opens the file, or soon after
		time.AfterFunc(time.Duration(rand.IntN(40))*time.Millisecond, kill)
	}
	lines := bufio.NewReader(out)
	for seen := 0; ; seen++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line that the kill cut off was not said
		}
		kind, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "approval":
			acked.approvals = append(acked.approvals, value)
		case "rows", "sent", "advanced":
			n := map[string]*int64{"rows": &acked.rows, "sent": &acked.sent, "advanced": &acked.advanced}[kind]
			if _, err := fmt.Sscan(value, n); err != nil {
				t.Fatal(err)
			}
		}
		if seen == killAfter {
			time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, kill)
		}
	}
	if err := cmd.Wait(); err == nil || complaints.Len() > 0 {
		t.Fatalf("the child ended by itself: %v: %s", err, complaints.Bytes())
	}
	return acked
}

// testBinary returns a command that runs this test binary in a role that the
// environment tells it.
func testBinary(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
