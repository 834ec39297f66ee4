// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/journal"
)

// crashChildEnv makes the test binary append rows to the journal it names until it
// is killed.
const crashChildEnv = "JOURNAL_CRASH_CHILD"

// crashChild appends rows of one run and prints the number of rows that Flush has
// acknowledged so far.
func crashChild(path string) {
	ctx := context.Background()
	j, err := journal.Open(ctx, journal.Config{Path: path, CommitInterval: time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	run := os.Getenv(crashChildEnv + "_RUN")
	for n := int64(1); ; n++ {
		e := event(testSession, run, n, "X")
		e.Content = fmt.Appendf(nil, `{"n":%d,"pad":"%0*d"}`, n, rand.IntN(4000)+1, 0)
		if !j.Append(e) {
			fmt.Fprintln(os.Stderr, "row refused")
			os.Exit(1)
		}
		if rand.IntN(20) == 0 {
			if err := j.Flush(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(n)
		}
	}
}

func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	for round := range 12 {
		run := fmt.Sprint("run-", round)
		acked := runAndKill(t, path, run)

		j := reopen(t, journal.Config{Path: path})
		rows, err := j.Events(t.Context(), testSession)
		if err != nil {
			t.Fatal(err)
		}
		var stored int64
		for _, e := range rows {
			if e.RunID != run {
				continue
			}
			stored++
			if e.RunSeq != stored {
				t.Fatalf("round %d: row %d of the run is number %d: there is a gap", round, stored, e.RunSeq)
			}
		}
		if stored < acked {
			t.Fatalf("round %d: %d rows recovered, %d were acknowledged", round, stored, acked)
		}
		conn := connect(t, path)
		if bad := selectInt(t, conn, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"); bad != 0 {
			t.Fatalf("round %d: the file is damaged", round)
		}
		if n := selectInt(t, conn, "SELECT sum(events) - (SELECT count(*) FROM agent_events) FROM sessions"); n != 0 {
			t.Fatalf("round %d: the list of sessions is off by %d rows", round, n)
		}
		conn.Close()
		closeJournal(t, j)
	}
}

// runAndKill starts a child, kills it at a random moment and returns the number of
// rows it had acknowledged.
func runAndKill(t *testing.T, path, run string) (acked int64) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), crashChildEnv+"="+path, crashChildEnv+"_RUN="+run)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killAfter := int64(rand.IntN(30) + 1)
	lines := bufio.NewScanner(out)
	for seen := int64(0); lines.Scan(); seen++ {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			continue // a line cut off by the kill
		}
		acked = n
		if seen == killAfter {
			time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	if acked == 0 {
		t.Fatal("the child acknowledged nothing")
	}
	return acked
}
