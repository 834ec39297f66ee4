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
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
)

// sendingChildEnv makes the test binary record rows in the journal it names and send
// them until it is killed.
const sendingChildEnv = "JOURNAL_SENDING_CHILD"

// refusedEvery is of how many rows one is refused.
const refusedEvery = 10

// sendingChild takes the lease over and prints "sent <n>" when rows up to number n are
// acknowledged, and then "advanced <n>" when the journal knows.
func sendingChild(path string) {
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	run := os.Getenv(sendingChildEnv + "_RUN")
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path, CommitInterval: time.Millisecond}})
	fail(err)
	o := j.Outbox(dataset)
	p, err := o.Acquire(ctx, run, time.Millisecond)
	for errors.Is(err, journal.ErrLeased) { // to the one that was killed
		p, err = o.Acquire(ctx, run, time.Millisecond)
	}
	fail(err)
	for n := int64(1); ; n++ {
		j.Append(event(testSession, run, n, "X"))
		if n%20 == 0 {
			fail(j.Flush(ctx))
		}
		rows, err := o.Rows(ctx, p, rand.IntN(50)+1, 1<<20)
		fail(err)
		if len(rows) == 0 {
			continue
		}
		var dead []journal.DeadLetter
		for _, e := range rows {
			if e.Seq%refusedEvery == 0 {
				dead = append(dead, journal.DeadLetter{Seq: e.Seq, Reason: "refused"})
			}
		}
		p = rows[len(rows)-1].Seq
		fmt.Println("sent", p)
		fail(o.Advance(ctx, run, p, dead))
		fmt.Println("advanced", p)
	}
}

// TestKilledSender kills processes that send: the position is never beyond what was
// acknowledged, nor before what the journal was told, and the next one goes on there.
func TestKilledSender(t *testing.T) {
	path := journaltest.Path(t)
	for n := range rounds(30, 5) {
		run := fmt.Sprint("run-", n)
		sent, advanced := sendAndKill(t, path, run)
		j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
		o := j.Outbox(dataset)
		conn := connect(t, path)
		p := selectInt(t, conn, "SELECT coalesce(max(cursor), 0) FROM destinations")
		if advanced > 0 && p < advanced || sent > 0 && p > sent {
			t.Fatalf("%s: it is at row %d; %d was the last acknowledged, %d the last it was told of", run, p, sent, advanced)
		}
		lacking, err := o.Rows(t.Context(), p, 1<<20, 1<<30)
		if want := selectInt(t, conn, fmt.Sprint("SELECT count(*) FROM agent_events WHERE seq > ", p)); err != nil || int64(len(lacking)) != want {
			t.Errorf("%s: %d rows are read again, %v, want %d", run, len(lacking), err, want)
		}
		want := selectInt(t, conn, fmt.Sprintf("SELECT count(*) FROM agent_events WHERE seq <= %d AND seq %% %d = 0", p, refusedEvery))
		if l, err := o.Backlog(t.Context()); err != nil || l.DeadLetters != want {
			t.Errorf("%s: %d dead letters up to row %d, %v, want %d", run, l.DeadLetters, p, err, want)
		}
		conn.Close()
		closeJournal(t, j)
	}
}

// sendAndKill starts a child, kills it at a random moment and returns the rows it had
// acknowledged and told the journal of.
func sendAndKill(t *testing.T, path, run string) (sent, advanced int64) {
	t.Helper()
	cmd := testBinary(t, sendingChildEnv+"="+path, sendingChildEnv+"_RUN="+run)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killAfter := rand.IntN(40) + 1
	lines := bufio.NewScanner(out)
	for seen := 0; lines.Scan(); seen++ {
		var what string
		var seq int64
		if n, _ := fmt.Sscan(lines.Text(), &what, &seq); n != 2 {
			continue // cut off by the kill
		}
		if what == "sent" {
			sent = seq
		} else {
			advanced = seq
		}
		if seen == killAfter {
			time.AfterFunc(time.Duration(rand.IntN(1000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || complaints.Len() > 0 {
		t.Fatalf("the child ended by itself: %v: %s", err, complaints.Bytes())
	}
	return sent, advanced
}
