// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

// testDestination is that of the flags --project my-project --dataset agents.
const testDestination = "bigquery:my-project.agents.agent_events"

func rowID(n int) string { return fmt.Sprintf("%032x", n) }

// refusedRows makes a journal in the current directory with count rows, of which the
// first dead are dead letters. The lease is held until the function returned is called.
func refusedRows(t *testing.T, count, dead int) (release func()) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var letters []store.DeadLetter
	for i := range count {
		j.Append(record.Event{
			Timestamp: time.Date(2026, 11, 1, 10, 0, i, 0, time.UTC).UnixMicro(), EventID: rowID(i), EventType: record.UserMessageReceived,
			AppName: "shop", UserID: "alice", SessionID: "s1", TraceID: "t", SpanID: "root", Status: record.StatusOK, RunID: "r", RunSeq: int64(i + 1),
			Content: []byte(`{"text":"<b>5 > 3</b>"}`), Attributes: []byte(`{"broken`),
		})
		if i < dead {
			letters = append(letters, store.DeadLetter{
				Seq: int64(i + 1), Bytes: 100 + i, Code: "FIELDS_ERROR", At: time.Date(2026, 11, 2, 10, 0, i, 0, time.UTC),
				Reason: "row says \x1b[2J\n" + strings.Repeat("too much ", 20) + "in the end",
			})
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := j.Outbox(testDestination)
	if _, err := o.Acquire(t.Context(), "agent", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := o.Advance(t.Context(), "agent", int64(dead), letters); err != nil {
		t.Fatal(err)
	}
	closed := false
	closeJournal := func() {
		if closed {
			return
		}
		closed = true
		if err := o.Release(t.Context(), "agent"); err != nil {
			t.Error(err)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return closeJournal
}

// listed returns the event ids of the dead letters in the current directory.
func listed(t *testing.T) (ids []string) {
	t.Helper()
	code, stdout, stderr := dead(t, nil, "--json --limit 5000")
	if code != exitOK {
		t.Fatalf("%d: %s", code, stderr)
	}
	for d := json.NewDecoder(strings.NewReader(stdout)); d.More(); {
		var l struct {
			EventID string `json:"event_id"`
		}
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, l.EventID)
	}
	return ids
}

// dead runs dead-letters with a write service.
func dead(t *testing.T, server *writefake.Server, args string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs}
	if server != nil {
		a.client = server.ClientOptions()
	}
	args = "dead-letters --project my-project --dataset agents " + args
	code = run(t.Context(), strings.Fields(args), a)
	return code, out.String(), errs.String()
}

func TestDeadLettersUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	hold(t, func(args ...string) (int, string, string) { return dead(t, nil, strings.Join(args, " ")) }, []said{
		{"--help", exitOK, "contextgraph dead-letters --resend --all"},
		{"--help", exitOK, "retention may remove sessions"},
		{"now", exitUsage, `takes no argument, got "now"`},
		{"--resend", exitUsage, "give either --event or --all"},
		{"--resend --all --event x", exitUsage, "give either --event or --all"},
		{"--discard --yes", exitUsage, "give either --event or --all"},
		{"--discard --all", exitUsage, "add --yes"},
		{"--forget", exitUsage, "add --yes"},
		{"--forget --discard --all --yes", exitUsage, "one thing each"},
		{"--show x --all", exitUsage, "go with --resend or --discard"},
		{"--all", exitUsage, "go with --resend or --discard"},
		{"--json --show x", exitUsage, "--json goes with the list"},
		{"--limit 0", exitUsage, "--limit 0: it must be positive"},
		{"--width -1", exitUsage, "--width -1: it must be positive"},
		{"", exitError, "there is no journal"},
		{"--forget --yes", exitError, "journal.path"},
	})
	if code, _, stderr := in(t, nil, "dead-letters"); code != exitUsage || !strings.Contains(stderr, "no dataset is named") {
		t.Errorf("without a dataset: %d: %s", code, stderr)
	}
}

func TestDeadLettersList(t *testing.T) {
	t.Chdir(t.TempDir())
	defer refusedRows(t, 5, 3)()

	code, stdout, stderr := dead(t, nil, "--limit 2 --width 150 --utc")
	if code != exitOK || !strings.Contains(stderr, "note: 1 more are not listed") {
		t.Errorf("%d: %s", code, stderr)
	}
	want := "" +
		"SEQ  TIME (UTC)           SESSION  TYPE                   BYTES  CODE          EVENT                             REASON\n" +
		"1    2026-11-02 10:00:00  s1       USER_MESSAGE_RECEIVED  100    FIELDS_ERROR  00000000000000000000000000000000  row says too much too much too much …\n" +
		"2    2026-11-02 10:00:01  s1       USER_MESSAGE_RECEIVED  101    FIELDS_ERROR  00000000000000000000000000000001  row says too much too much too much …\n"
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if _, stdout, _ := dead(t, nil, "--width 8"); !strings.Contains(stdout, "SEQ  TI…\n") {
		t.Errorf("a narrow table:\n%s", stdout)
	}
	if _, stdout, _ := dead(t, nil, "--width 1000"); !strings.Contains(stdout, "in the end\n") {
		t.Errorf("a wide table:\n%s", stdout)
	}

	code, stdout, stderr = dead(t, nil, "--json --limit 1")
	if code != exitOK || strings.Count(stdout, "\n") != 1 {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	var got store.DeadLetter
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	letter := store.DeadLetter{
		Seq: 1, EventID: rowID(0), At: time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC), EventType: record.UserMessageReceived,
		Bytes: 100, Code: "FIELDS_ERROR", Reason: "row says \x1b[2J\n" + strings.Repeat("too much ", 20) + "in the end",
	}
	letter.Session = record.Session{App: "shop", User: "alice", ID: "s1"}
	if diff := cmp.Diff(letter, got); diff != "" {
		t.Errorf("letter (-want +got):\n%s", diff)
	}

	code, stdout, stderr = dead(t, nil, "--table others")
	if code != exitOK || stdout != "" || !strings.Contains(stderr, "bigquery:my-project.agents.others has no dead letters") {
		t.Errorf("another table: %d: %s%s", code, stdout, stderr)
	}
}

func TestDeadLettersShow(t *testing.T) {
	t.Chdir(t.TempDir())
	defer refusedRows(t, 5, 3)()
	code, stdout, stderr := dead(t, nil, "--show "+rowID(2))
	if code != exitOK {
		t.Fatalf("%d: %s", code, stderr)
	}
	var got struct {
		DeadLetter store.DeadLetter `json:"dead_letter"`
		Row        map[string]any   `json:"row"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"timestamp": "2026-11-01T10:00:02.000000Z", "event_id": rowID(2), "event_type": record.UserMessageReceived, "agent": nil,
		"user_id": "alice", "session_id": "s1", "invocation_id": nil, "trace_id": "t", "span_id": "root", "parent_span_id": nil,
		"content": map[string]any{"text": "<b>5 > 3</b>"}, "content_parts": []any{}, "attributes": `{"broken`, "latency_ms": nil,
		"status": "OK", "error_message": nil, "is_truncated": false,
	}
	if diff := cmp.Diff(want, got.Row); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if got.DeadLetter.Seq != 3 || !strings.HasSuffix(got.DeadLetter.Reason, "in the end") || !strings.Contains(stdout, "<b>5 > 3</b>") {
		t.Errorf("%s", stdout)
	}
	if code, whole, stderr := dead(t, nil, "--show 0…2"); code != exitOK || whole != stdout {
		t.Errorf("a part of the id: %d: %s%s", code, whole, stderr)
	}
	if code, _, stderr := dead(t, nil, "--show 00"); code != exitUsage || !strings.Contains(stderr, "3 dead letters have event ids that begin with \"00\"") {
		t.Errorf("the beginning of several: %d: %s", code, stderr)
	}
	// Row 4 was acknowledged or waits: no dead letter.
	for _, id := range []string{rowID(4), "x"} {
		if code, _, stderr := dead(t, nil, "--show "+id); code != exitError || !strings.Contains(stderr, "no dead letter with the event id") {
			t.Errorf("--show %s: %d: %s", id, code, stderr)
		}
	}
}

// Rows are sent again while another has the lease.
func TestDeadLettersResend(t *testing.T) {
	t.Chdir(t.TempDir())
	defer refusedRows(t, 8, 6)()
	server := refusing(t, "")
	server.Refuse(func(r writefake.Row) string {
		if r.EventID == rowID(1) || r.EventID == rowID(4) {
			return "no\nagain"
		}
		return ""
	})
	steps := []struct {
		args string
		code int
		want []string
		left []int
	}{
		{"--resend --event " + rowID(5) + "," + rowID(0), exitOK, []string{"2 rows sent, 0 refused again"}, []int{1, 2, 3, 4}},
		{
			"--resend --event " + rowID(1) + " --event " + rowID(7), exitError,
			[]string{"0 rows sent, 1 refused again", rowID(1) + ": refused again: FIELDS_ERROR: no again", rowID(7) + ": there is no dead letter", "2 rows were not sent"},
			[]int{1, 2, 3, 4},
		},
		{"--resend --all", exitError, []string{"2 rows sent, 2 refused again", rowID(4) + ": refused again", "2 rows were not sent"}, []int{1, 4}},
	}
	for _, step := range steps {
		code, stdout, stderr := dead(t, server, step.args)
		if code != step.code {
			t.Errorf("%s = %d\n%s%s", step.args, code, stdout, stderr)
		}
		for _, want := range step.want {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%s does not say %q:\n%s%s", step.args, want, stdout, stderr)
			}
		}
		var left []string
		for _, n := range step.left {
			left = append(left, rowID(n))
		}
		if diff := cmp.Diff(left, listed(t)); diff != "" {
			t.Errorf("%s: dead letters that are left (-want +got):\n%s", step.args, diff)
		}
	}
	server.Refuse(func(writefake.Row) string { return "" })
	if code, stdout, stderr := dead(t, server, "--resend --all"); code != exitOK || !strings.Contains(stdout, "2 rows sent, 0 refused again") || listed(t) != nil {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := dead(t, server, "--resend --all"); code != exitOK || !strings.Contains(stdout, "0 rows sent") {
		t.Errorf("with nothing to send: %d: %s%s", code, stdout, stderr)
	}
	if n := server.Distinct(); n != 6 {
		t.Errorf("%d rows in the table, want 6", n)
	}
}

func TestDeadLettersDiscard(t *testing.T) {
	t.Chdir(t.TempDir())
	const count = maxDiscard + 10
	defer refusedRows(t, count, count)()
	for _, step := range []struct {
		args string
		code int
		want string
		left int
	}{
		{"--discard --all", exitUsage, "add --yes", count},
		{"--discard --yes --event " + rowID(3), exitOK, "1 dead letters discarded", count - 1},
		{"--discard --yes --event " + rowID(3) + "," + rowID(4) + "," + rowID(4), exitError, "of 2 event ids 1 have no dead letter", count - 2},
		{"--discard --yes --all", exitOK, fmt.Sprint(count-2, " dead letters discarded"), 0},
		{"--discard --yes --all", exitOK, "0 dead letters discarded", 0},
	} {
		code, stdout, stderr := dead(t, nil, step.args)
		if code != step.code || !strings.Contains(stdout+stderr, step.want) {
			t.Errorf("%s = %d\n%s%s", step.args, code, stdout, stderr)
		}
		if n := len(listed(t)); n != step.left {
			t.Errorf("%s leaves %d dead letters, want %d", step.args, n, step.left)
		}
	}
}

func TestDeadLettersForget(t *testing.T) {
	t.Chdir(t.TempDir())
	release := refusedRows(t, 5, 3)
	defer release()
	code, stdout, stderr := dead(t, nil, "--forget --yes")
	if code != exitError || stdout != "" || !strings.Contains(stderr, `a program streams to it`) || !strings.Contains(stderr, `"agent"`) {
		t.Errorf("while a program streams: %d: %s%s", code, stdout, stderr)
	}
	if n := len(listed(t)); n != 3 {
		t.Errorf("%d dead letters are left, want 3", n)
	}
	release()
	code, stdout, stderr = dead(t, nil, "--forget --yes")
	if code != exitOK || !strings.Contains(stdout, testDestination+" is forgotten, with 3 dead letters; 2 rows of the journal were not sent to it") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	if listed(t) != nil {
		t.Error("dead letters are left")
	}
}
