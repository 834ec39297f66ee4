// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
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
)

func TestRowsAreBounded(t *testing.T) {
	j := openJournal(t, nil)
	for n := range int64(6) { // payloads of 10, 20, ... bytes
		e := event(named(fmt.Sprint("s-", n%2)), "r", n+1, "X")
		pad := []byte(`"` + strings.Repeat("x", int(2*n)) + `"`)
		e.Content, e.ContentParts, e.Attributes, e.LatencyMS = pad, pad, pad, pad
		e.ErrorMessage = strings.Repeat("m", int(2*n+2))
		appendAll(t, j, e)
	}
	flush(t, j)
	for _, tt := range []struct {
		after   int64
		maxRows int
		bytes   int64
		want    []int64
	}{
		{0, 100, 1 << 20, []int64{1, 2, 3, 4, 5, 6}},
		{0, 2, 1 << 20, []int64{1, 2}},
		{4, 100, 1 << 20, []int64{5, 6}},
		{5, 1, 1, []int64{6}}, // one at least
		{6, 100, 1 << 20, nil},
		{-1, 1, 1, []int64{1}},
		{0, 100, 60, []int64{1, 2, 3}},
		{0, 100, 59, []int64{1, 2}},
		{0, 100, 99, []int64{1, 2, 3}},
		{0, 100, 100, []int64{1, 2, 3, 4}},
		{3, 100, 1, []int64{4}},
	} {
		rows, err := j.Outbox(dataset).Rows(t.Context(), tt.after, tt.maxRows, tt.bytes)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, e := range rows {
			got = append(got, e.Seq)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("Rows(%d, %d, %d) differ (-want +got):\n%s", tt.after, tt.maxRows, tt.bytes, d)
		}
	}
}

// recordingChildEnv makes the test binary record rows in the journal it names.
const recordingChildEnv = "JOURNAL_RECORDING_CHILD"

func recordingChild(path string) {
	ctx := context.Background()
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path, CommitInterval: time.Millisecond}})
	if err == nil {
		var rows int64
		if rows, err = strconv.ParseInt(os.Getenv(recordingChildEnv+"_ROWS"), 10, 64); err == nil {
			err = recordAlong(ctx, j, "child", rows)
		}
	}
	if err == nil {
		err = j.Close(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// recordAlong records rows in transactions of a few, some of them twice.
func recordAlong(ctx context.Context, j *journal.Journal, run string, rows int64) error {
	for n := int64(1); n <= rows; n++ {
		j.Append(event(testSession, run, n, "X"))
		if n%7 == 0 {
			j.Append(event(testSession, run, n-3, "X"))
		}
		if n%5 == 0 {
			if err := j.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return j.Flush(ctx)
}

// TestRowsSkipNothing reads on from the last row it saw while this process and another one record into
// the same file: every row is seen.
func TestRowsSkipNothing(t *testing.T) {
	rows := int64(testsize.Rounds(t, 750, 7500)) // of each recorder
	path := journaltest.Path(t)
	reader := reopen(t, journal.Config{Journal: config.Journal{Path: path, CommitInterval: time.Millisecond}})
	var recorders sync.WaitGroup
	recorders.Go(func() {
		if err := recordAlong(t.Context(), reader, "a", rows); err != nil {
			t.Error(err)
		}
	})
	recorders.Go(func() {
		cmd := testBinary(t, recordingChildEnv+"="+path, fmt.Sprint(recordingChildEnv, "_ROWS=", rows))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("the other process: %v: %s", err, out)
		}
	})
	done := make(chan struct{})
	go func() {
		recorders.Wait()
		close(done)
	}()
	o := reader.Outbox(dataset)
	var seen, last, reads int64
	for recording := true; ; {
		read, err := o.Rows(t.Context(), last, 500, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range read {
			if e.Seq <= last {
				t.Fatalf("row %d after row %d", e.Seq, last)
			}
			last = e.Seq
		}
		seen += int64(len(read))
		if len(read) > 0 {
			reads++
			continue
		}
		if !recording {
			break
		}
		select {
		case <-done:
			recording = false
		default:
		}
	}
	conn := connect(t, path)
	stored := selectInt(t, conn, "SELECT count(*) FROM agent_events")
	if stored != 2*rows || seen != stored {
		t.Errorf("%d rows were seen in %d reads, %d are stored, want %d", seen, reads, stored, 2*rows)
	}
	// Without this the test shows little: the rows of the two stand among each other.
	turns := selectInt(t, conn, `SELECT count(*) FROM (SELECT run_id <> lag(run_id) OVER (ORDER BY seq) AS turn FROM agent_events) WHERE turn`)
	t.Logf("%d reads, the recorder changes %d times", reads, turns)
}

// TestBacklog counts a long one by the numbers of its rows.
func TestBacklog(t *testing.T) {
	j := openJournal(t, nil)
	o := j.Outbox(dataset)
	check := func(rows, first, oldest int64) {
		t.Helper()
		want := store.Backlog{Rows: rows, First: first, Oldest: time.UnixMicro(oldest).UTC()}
		got, err := o.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("backlog differs (-want +got):\n%s", d)
		}
	}
	rows := aged(named("new"), "r", 2500, time.Hour)
	appendAll(t, j, rows...)
	flush(t, j)
	acquire(t, o, "a")
	check(2500, 1, rows[0].Timestamp)
	advance(t, o, "a", 1501)
	check(999, 1502, rows[1501].Timestamp)
	// Rows that are gone count only within a long backlog.
	alter(t, j, "DELETE FROM agent_events WHERE seq BETWEEN 2000 AND 2099")
	check(899, 1502, rows[1501].Timestamp)
}

// TestOutboxLooksAreCheap asks SQLite how it reads for a sender: by the numbers of the
// rows and by indexes, never through the whole of a table.
func TestOutboxLooksAreCheap(t *testing.T) {
	j := openJournal(t, nil)
	for name, text := range journal.OutboxSQL() {
		var plan bytes.Buffer
		err := sqlitex.ExecuteTransient(connect(t, j.Path()), "EXPLAIN QUERY PLAN "+text, &sqlitex.ExecOptions{
			ResultFunc: func(s *sqlite.Stmt) error { fmt.Fprintln(&plan, s.ColumnText(3)); return nil },
			Args:       []any{0, 0, 0}[:strings.Count(name, "?")],
		})
		if err != nil {
			t.Fatal(name, err)
		}
		for _, table := range []string{"agent_events", "dead_letters", "e", "l", "d"} {
			if strings.Contains(plan.String(), "SCAN "+table+"\n") || strings.Contains(plan.String(), "B-TREE") {
				t.Errorf("%s reads all of %s:\n%s", name, table, plan.String())
			}
		}
	}
}
