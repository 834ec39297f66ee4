// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

func letters(tb testing.TB, o *journal.Outbox, limit int) []journal.DeadLetter {
	tb.Helper()
	list, err := o.DeadLetters(tb.Context(), limit)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func TestDeadLetters(t *testing.T) {
	clock := newTestClock()
	j := openJournal(t, func(c *journal.Config) { c.Now = clock.now })
	first, second := named("first"), named("second")
	recordRows(t, j, first, 2)
	recordRows(t, j, second, 2)
	o := j.Outbox(dataset)
	acquire(t, o, "a")
	acquire(t, j.Outbox("other"), "a")
	at := time.Date(2026, 4, 1, 0, 0, 0, 1000, time.UTC)
	advance(t, o, "a", 2, journal.DeadLetter{
		Seq: 2, Bytes: 1234, Reason: "field x: out of range", Code: "INVALID", At: at,
		// The row decides what it is.
		EventID: "x", Session: second, EventType: "Y",
	})
	// A row that is ahead of the position may be known as refused already.
	advance(t, o, "a", 2, journal.DeadLetter{Seq: 4}, journal.DeadLetter{Seq: 3, Reason: "no"})
	want := []journal.DeadLetter{
		{Seq: 2, EventID: "shop/ann/first/r/2", Session: first, EventType: record.InvocationCompleted, Bytes: 1234, Reason: "field x: out of range", Code: "INVALID", At: at},
		{Seq: 3, EventID: "shop/ann/second/r/1", Session: second, EventType: "X", Reason: "no", At: clock.now()},
		{Seq: 4, EventID: "shop/ann/second/r/2", Session: second, EventType: record.InvocationCompleted, At: clock.now()},
	}
	if d := cmp.Diff(want, letters(t, o, 0)); d != "" {
		t.Errorf("letters differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want[:2], letters(t, o, 2)); d != "" {
		t.Errorf("the first two differ (-want +got):\n%s", d)
	}
	if got := letters(t, j.Outbox("other"), 0); len(got) != 0 {
		t.Errorf("another destination has %+v", got)
	}
	// Refused again.
	advance(t, o, "a", 3, journal.DeadLetter{Seq: 2, Bytes: 9, Reason: "still no", Code: "OTHER"})
	want[0].Bytes, want[0].Reason, want[0].Code, want[0].At = 9, "still no", "OTHER", clock.now()
	if d := cmp.Diff(want, letters(t, o, 0)); d != "" {
		t.Errorf("letters differ (-want +got):\n%s", d)
	}

	// And again, by somebody without a lease. Row 1 has no letter and gets none.
	again := []journal.DeadLetter{{Seq: 1, Reason: "x"}, {Seq: 2, Bytes: 10, Reason: "never", Code: "THIRD", At: at}, {Seq: 3}}
	if err := o.Reword(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if err := j.Outbox("unknown").Reword(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	want[0].Bytes, want[0].Reason, want[0].Code, want[0].At = 10, "never", "THIRD", at
	want[1].Reason, want[1].At = "", clock.now()
	if d := cmp.Diff(want, letters(t, o, 0)); d != "" {
		t.Errorf("letters differ (-want +got):\n%s", d)
	}

	rows, err := o.DeadRows(t.Context(), 2, 10, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := j.Events(t.Context(), second)
	if d := cmp.Diff(stored, rows); d != "" || err != nil {
		t.Errorf("%v, the rows of letters differ (-want +got):\n%s", err, d)
	}
	for _, tt := range []struct {
		ids  []string
		want int
		left []journal.DeadLetter
	}{
		{nil, 0, want},
		{[]string{"unknown"}, 0, want},
		{[]string{want[1].EventID, want[1].EventID, "unknown", want[0].EventID}, 2, want[2:]},
		{[]string{want[2].EventID}, 1, nil},
		{[]string{want[2].EventID}, 0, nil},
	} {
		if n, err := j.Outbox("other").Discard(t.Context(), tt.ids); n != 0 || err != nil {
			t.Errorf("another destination: Discard(%q) = %d, %v, want 0", tt.ids, n, err)
		}
		if n, err := o.Discard(t.Context(), tt.ids); n != tt.want || err != nil {
			t.Errorf("Discard(%q) = %d, %v, want %d", tt.ids, n, err, tt.want)
		}
		if d := cmp.Diff(tt.left, letters(t, o, 0)); d != "" {
			t.Errorf("after Discard(%q) letters differ (-want +got):\n%s", tt.ids, d)
		}
	}
}

// TestDeadLetterIsBounded: a server may say as much as it likes.
func TestDeadLetterIsBounded(t *testing.T) {
	j := openJournal(t, nil)
	recordRows(t, j, testSession, 1)
	o := j.Outbox(dataset)
	acquire(t, o, "a")
	for _, tt := range []struct{ reason, want string }{
		{"", ""},
		{strings.Repeat("x", journal.MaxReason), strings.Repeat("x", journal.MaxReason)},
		{strings.Repeat("x", journal.MaxReason+1), strings.Repeat("x", journal.MaxReason-3) + "…"},
		{strings.Repeat("ä", journal.MaxReason), strings.Repeat("ä", (journal.MaxReason-3)/2) + "…"},
		{"bad \xff byte", "bad \ufffd byte"},
		// As long as may be, and longer when it is repaired.
		{strings.Repeat("x\xff", journal.MaxReason/2), strings.Repeat("x\ufffd", journal.MaxReason/4-1) + "x…"},
	} {
		advance(t, o, "a", 1, journal.DeadLetter{Seq: 1, Reason: tt.reason, Code: tt.reason})
		l := letters(t, o, 0)
		if len(l) != 1 || l[0].Reason != tt.want || !utf8.ValidString(l[0].Code) || len(l[0].Code) > 128 {
			t.Errorf("%d letters, the reason is %.40q, %d bytes, want %.40q, %d bytes; the code has %d bytes",
				len(l), l[0].Reason, len(l[0].Reason), tt.want, len(tt.want), len(l[0].Code))
		}
	}
}
