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
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestRowsAreThoseRecorded compares what a sender reads with what was recorded.
func TestRowsAreThoseRecorded(t *testing.T) {
	full := record.Event{
		Timestamp: 1_700_000_000_000_001, EventID: "id", EventType: "TOOL_ERROR", Agent: "buyer", SessionID: "s", InvocationID: "inv",
		UserID: "ann", TraceID: "t", SpanID: "sp", ParentSpanID: "pa", Content: []byte(`{"a":"ä"}`), ContentParts: []byte(`[{"part_index":0}]`),
		Attributes: []byte(`{"adk":{}}`), LatencyMS: []byte(`{"total_ms":1}`), Status: record.StatusError, ErrorMessage: "no", IsTruncated: true,
		AppName: "shop", RunID: "run", RunSeq: 7,
	}
	bare := record.Event{EventID: "bare", EventType: "X", Status: record.StatusOK, Content: []byte("1")}
	j := openJournal(t, nil)
	appendAll(t, j, full, bare, event(testSession, "r", 1, "X"))
	flush(t, j)
	got, err := j.Outbox(dataset).Rows(t.Context(), 0, 2, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	full.Seq, bare.Seq = 1, 2
	if d := cmp.Diff([]record.Event{full, bare}, got); d != "" {
		t.Errorf("rows differ (-want +got):\n%s", d)
	}
	// Who changes a payload changes nothing else.
	clear(got[0].Content)
	_ = append(got[0].Content, "xxxxxxxx"...)
	full.Content = make([]byte, len(full.Content))
	clear(got[1].Content)
	if d := cmp.Diff(full, got[0]); d != "" {
		t.Errorf("fields share memory (-want +got):\n%s", d)
	}
}

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

// TestRowsSkipNothing reads on from the last row it saw while two journals of this
// process and one of another record into the same file: every row is seen.
func TestRowsSkipNothing(t *testing.T) {
	rows := int64(testsize.Rounds(t, 500, 5000)) // of each recorder
	path := journaltest.Path(t)
	reader := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	var recorders sync.WaitGroup
	for _, run := range []string{"a", "b"} {
		j := reopen(t, journal.Config{Journal: config.Journal{Path: path, CommitInterval: time.Millisecond}})
		recorders.Go(func() {
			if err := recordAlong(t.Context(), j, run, rows); err != nil {
				t.Error(err)
			}
		})
	}
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
	if stored != 3*rows || seen != stored {
		t.Errorf("%d rows were seen in %d reads, %d are stored, want %d", seen, reads, stored, 3*rows)
	}
	// Without this the test shows little: the rows of the three stand among each other.
	turns := selectInt(t, conn, `SELECT count(*) FROM (SELECT run_id <> lag(run_id) OVER (ORDER BY seq) AS turn FROM agent_events) WHERE turn`)
	t.Logf("%d reads, the recorder changes %d times", reads, turns)
}

func TestBacklog(t *testing.T) {
	j := openJournal(t, nil)
	o := j.Outbox(dataset)
	check := func(rows, letters, first, oldest int64) {
		t.Helper()
		want := journal.Backlog{Rows: rows, First: first, DeadLetters: letters}
		if oldest > 0 {
			want.Oldest = time.UnixMicro(oldest).UTC()
		}
		got, err := o.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("backlog differs (-want +got):\n%s", d)
		}
	}
	check(0, 0, 0, 0)
	rows := aged(named("old"), "r", 3, 2*day)
	next := aged(named("new"), "r", 2500, time.Hour)
	appendAll(t, j, rows...)
	flush(t, j)
	check(3, 0, 1, rows[0].Timestamp) // a destination that does not exist yet lacks everything
	acquire(t, o, "a")
	check(3, 0, 1, rows[0].Timestamp)
	advance(t, o, "a", 2, journal.DeadLetter{Seq: 1}, journal.DeadLetter{Seq: 2})
	check(1, 2, 3, rows[2].Timestamp)
	advance(t, o, "a", 3)
	check(0, 2, 0, 0)
	if n, err := o.Discard(t.Context(), []string{rows[0].EventID, "unknown"}); n != 1 || err != nil {
		t.Errorf("Discard() = %d, %v, want 1", n, err)
	}
	check(0, 1, 0, 0)
	appendAll(t, j, next...)
	flush(t, j)
	check(2500, 1, 4, next[0].Timestamp)
	advance(t, o, "a", 3+1501)
	check(999, 1, 1505, next[1501].Timestamp)
	// Rows that are gone count only within a long backlog.
	alter(t, j, "DELETE FROM agent_events WHERE seq BETWEEN 2000 AND 2099")
	check(899, 1, 1505, next[1501].Timestamp)
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
