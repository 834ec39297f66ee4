// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package storetest has the tests that every store of rows and approvals has to pass.
package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Run tests an implementation of [store.Store].
func Run(t *testing.T, h Harness) {
	open := h.Open
	for _, test := range []struct {
		name string
		run  func(t *testing.T, a, b store.Store) // two handles on the same data
	}{
		{"Pages", testPages},
		{"Apart", testApart},
		{"Duplicates", testDuplicates},
		{"Refused", testRefused},
		{"Losses", testLosses},
		{"Children", testChildren},
		{"Values", testValues},
		{"Row", testRow},
		{"Waiting", testWaiting},
		{"Commit", testCommit},
		{"Import", testImport},
		{"Outline", testOutline},
		{"Identity", testIdentity},
		{"Sessions", testSessions},
		{"SessionLine", testSessionLine},
		{"Standings", testStandings},
		{"OpenRequests", testOpenRequests},
		{"Requested", testRequested},
		{"Summaries", testSummaries},
		{"Rules", testRules},
		{"Closed", testClosed},
		{"EndedContext", testEndedContext},
		{"AtOnce", testAtOnce},
		{"Create", testCreate},
		{"NotFound", testNotFound},
		{"Attach", testAttach},
		{"List", testList},
		{"Isolation", testIsolation},
		{"Transitions", testTransitions},
		{"Race", testRace},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := handles(t, open)
			test.run(t, a, b)
		})
	}
	if h.Remove != nil {
		t.Run("Retention", func(t *testing.T) { testRetention(t, h) })
	}
}

// handles opens two handles on fresh data. Their books must be right when the test ends.
func handles(t *testing.T, open func(t *testing.T) func() store.Store) (a, b store.Store) {
	another := open(t)
	a, b = another(), another()
	t.Cleanup(func() {
		for _, s := range []store.Store{a, b} {
			if stats := s.Stats(); stats.Unaccounted() != 0 {
				t.Errorf("%d of the accepted rows are not accounted for: %+v", stats.Unaccounted(), stats)
			}
		}
	})
	return a, b
}

var own = record.Session(session)

// row returns a row of a session.
func row(s record.Session, id string) record.Event {
	return record.Event{
		Timestamp: start.UnixMicro(), EventID: id, EventType: record.ToolCompleted, Status: record.StatusOK, Agent: "buyer",
		AppName: s.App, UserID: s.User, SessionID: s.ID, RunID: "run", RunSeq: 1,
	}
}

// at returns a time that is some minutes after the start.
func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute).UTC() }

// put appends rows and waits until they are committed.
func put(t *testing.T, s store.Store, rows ...record.Event) {
	t.Helper()
	for _, e := range rows {
		if !s.Append(e) {
			t.Fatalf("row %.40q was refused", e.EventID)
		}
	}
	flush(t, s)
}

func flush(t *testing.T, s store.Store) {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatalf("Flush: %v", err)
	}
}

// events returns the rows of a session.
func events(t *testing.T, s store.Store, of record.Session) []record.Event {
	t.Helper()
	rows, err := store.Events(t.Context(), s, of)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// ids returns the event ids of rows in their order.
func ids(rows []record.Event) (list []string) {
	for _, e := range rows {
		list = append(list, e.EventID)
	}
	return list
}

// wantSame compares what a store gave; an empty list is as good as none.
func wantSame(t *testing.T, what string, err error, want, got any) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// wantRows compares rows, but for their numbers. A payload that is missing is nil.
func wantRows(t *testing.T, what string, want, got []record.Event) {
	t.Helper()
	payload := cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) })
	if len(want)+len(got) == 0 {
		return
	}
	if d := cmp.Diff(want, got, payload, cmpopts.IgnoreFields(record.Event{}, "Seq")); d != "" {
		t.Errorf("%s: rows differ (-want +got):\n%.2000s", what, d)
	}
}

// testPages reads a session in pages while another handle appends to it.
func testPages(t *testing.T, a, b store.Store) {
	other := record.Session{App: own.App, User: own.User, ID: "other"}
	var want []string
	grow := func(n int) {
		s := []store.Store{a, b}[len(want)%2]
		for range n {
			e := row(own, fmt.Sprintf("own-%d", len(want)))
			if len(want)%300 == 7 {
				e.Content = []byte(`"` + strings.Repeat("x", 3<<20) + `"`)
			}
			want = append(want, e.EventID)
			if !s.Append(row(other, "beside-"+e.EventID)) || !s.Append(e) {
				t.Fatal("a row was refused")
			}
		}
		flush(t, s)
	}
	for _, n := range []int{1, 40, 61, 700} {
		grow(n)
	}
	var got []string
	last := int64(-1)
	for pages := 0; ; pages++ {
		rows, err := []store.Store{a, b}[pages%2].RowsAfter(t.Context(), own, last)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, e := range rows {
			if e.Seq <= max(last, 0) {
				t.Fatalf("row %s has number %d after %d", e.EventID, e.Seq, last)
			}
			last = e.Seq
		}
		got = append(got, ids(rows)...)
		if pages < 2 {
			grow(3)
		}
	}
	wantSame(t, "the rows in pages", nil, want, got)
	wantSame(t, "the rows by the other handle", nil, want, ids(events(t, b, own)))
	numbers := make(map[int64]bool)
	for _, s := range []record.Session{own, other} {
		for _, e := range events(t, a, s) {
			numbers[e.Seq] = true
		}
	}
	if len(numbers) != 2*len(want) {
		t.Errorf("%d numbers for %d rows", len(numbers), 2*len(want))
	}
	before := int64(-1)
	for range 3 {
		now, err := b.Changes(t.Context())
		if again, _ := a.Changes(t.Context()); err != nil || now <= before || again != now {
			t.Errorf("Changes is %d, then %d, after %d before a row was stored: %v", now, again, before, err)
		}
		before = now
		grow(1)
	}
}

// testApart holds sessions apart that look alike.
func testApart(t *testing.T, a, b store.Store) {
	all := []record.Session{
		{App: "a", User: "u", ID: "s"}, {App: "b", User: "u", ID: "s"}, {App: "a", User: "v", ID: "s"}, {App: "a", User: "u", ID: "t"},
		{App: "au", User: "", ID: "s"}, {App: "a", User: "u", ID: "S"}, {App: "a", User: "u", ID: "s\x00"}, {App: "a", User: "u", ID: "s "}, {},
	}
	for i, s := range all {
		put(t, a, row(s, fmt.Sprint("r", i)))
	}
	for i, s := range all {
		wantSame(t, fmt.Sprintf("%q", s), nil, []string{fmt.Sprint("r", i)}, ids(events(t, b, s)))
	}
	wantSame(t, "an unknown session", nil, []string(nil), ids(events(t, b, record.Session{App: "a", User: "u", ID: "absent"})))
}

// testDuplicates appends event ids again: the first row stays.
func testDuplicates(t *testing.T, a, b store.Store) {
	first, second := row(own, "first"), row(own, "second")
	put(t, a, first, first)
	changed, elsewhere := first, first
	changed.EventType, elsewhere.SessionID = record.LLMResponse, "elsewhere"
	put(t, b, changed, elsewhere, second, second)
	put(t, a, second, first)
	wantRows(t, "by one handle", []record.Event{first, second}, events(t, a, own))
	wantRows(t, "by the other handle", []record.Event{first, second}, events(t, b, own))
	for name, tt := range map[string]struct {
		s                            store.Store
		accepted, stored, duplicates uint64
	}{"one handle": {a, 4, 1, 3}, "the other handle": {b, 4, 1, 3}} {
		if s := tt.s.Stats(); s.Accepted != tt.accepted || s.Stored != tt.stored || s.Duplicates != tt.duplicates || s.Refused() != 0 || s.QueuedRows != 0 {
			t.Errorf("%s: stats %+v, want %d accepted, %d stored, %d duplicates", name, s, tt.accepted, tt.stored, tt.duplicates)
		}
	}
	list, err := b.Sessions(t.Context(), store.Query{})
	if err != nil || len(list) != 1 || list[0].Events != 2 {
		t.Errorf("%+v, %v: want one session with 2 rows", list, err)
	}
}

func testRefused(t *testing.T, a, b store.Store) {
	noID, noType, noStatus, good := row(own, ""), row(own, "no type"), row(own, "no status"), row(own, "good")
	noType.EventType, noStatus.Status = "", ""
	for _, e := range []record.Event{noID, noType, noStatus} {
		if a.Append(e) {
			t.Errorf("%+v was taken", e)
		}
	}
	put(t, a, good)
	if s := a.Stats(); s.Lost[store.LostInvalid] != 3 || s.Refused() != 3 || s.Accepted != 1 {
		t.Errorf("stats %+v: want 3 invalid rows and 1 accepted", s)
	}
	for _, s := range []store.Store{a, b} {
		for of, want := range map[record.Session]bool{own: true, of("other"): false} {
			if losses, err := s.Losses(t.Context(), of); err != nil || len(losses) > 0 != want {
				t.Errorf("losses of %s: %q, %v", of.ID, losses, err)
			}
		}
	}
	imported := row(own, "imported")
	if err := store.Import(t.Context(), b, []record.Event{imported, noType, row(own, "after")}); err == nil {
		t.Error("a row without a type was imported")
	}
	flush(t, b)
	wantRows(t, "what is stored", []record.Event{good, imported}, events(t, a, own))
}

// testValues reads rows back as they were.
func testValues(t *testing.T, a, b store.Store) {
	full := record.Event{
		Timestamp: 1_721_900_000_123_456, EventID: "full", EventType: record.ToolCompleted, Agent: "buyer",
		InvocationID: "inv", TraceID: "t", SpanID: "sp", ParentSpanID: "pa",
		Content: []byte(`{"tool":"x","result":"a\u0000ü\ud800"}`), ContentParts: []byte(`[]`), Attributes: []byte(`{"adk":{}}`),
		LatencyMS: []byte(`{"total_ms":3}`), Status: record.StatusError, ErrorMessage: "no such", IsTruncated: true, RunID: "r", RunSeq: 7, Seq: 99,
	}
	bare := record.Event{Timestamp: -5, EventID: "bare", EventType: "X", Status: record.StatusOK}
	empty := bare
	empty.EventID, empty.Content, empty.ContentParts, empty.Attributes, empty.LatencyMS = "empty", []byte{}, []byte{}, []byte{}, []byte{}
	texts := func(text string) record.Event {
		return record.Event{
			EventID: "id" + text, EventType: text, Agent: text, InvocationID: text, TraceID: text, SpanID: text, ParentSpanID: text,
			Content: []byte(text), ContentParts: []byte(text), Attributes: []byte(text), LatencyMS: []byte(text),
			Status: text, ErrorMessage: text, RunID: text,
		}
	}
	rows := []record.Event{full, bare, empty, texts(strings.Repeat("ü", 1<<19)), texts("\x00"), texts("a\x00b\x00"), texts("\xed\xa0\x80 and \xff"), texts("'\"\\%_\n")}
	for i, s := range []record.Session{own, {App: "a\x00", User: "\x00", ID: "\xed\xb0\x80"}, {App: "a", User: "u", ID: strings.Repeat("i", 1<<20)}} {
		if i > 0 {
			rows = rows[:3] // they are slow
		}
		for i := range rows {
			rows[i].AppName, rows[i].UserID, rows[i].SessionID = s.App, s.User, s.ID
			rows[i].EventID += "."
		}
		put(t, a, rows...)
		want := append([]record.Event(nil), rows...)
		want[2] = want[1]
		want[2].EventID = rows[2].EventID
		got := events(t, b, s)
		wantRows(t, fmt.Sprintf("session %.20q", s.ID), want, got)
		for i := range min(len(got), len(want)) {
			e, found, err := a.Row(t.Context(), got[i].EventID)
			if err != nil || !found || e.Seq != got[i].Seq {
				t.Errorf("row %.20q: found is %t with number %d, error %v, want number %d", got[i].EventID, found, e.Seq, err, got[i].Seq)
			}
			wantRows(t, "one row", want[i:i+1], []record.Event{e})
		}
	}
}

func testRow(t *testing.T, a, b store.Store) {
	first, elsewhere := row(own, "first"), row(record.Session{App: "x", User: "y", ID: "z"}, "elsewhere")
	put(t, a, first, elsewhere)
	for id, want := range map[string][]record.Event{"first": {first}, "elsewhere": {elsewhere}, "absent": nil, "": nil, "FIRST": nil} {
		e, found, err := b.Row(t.Context(), id)
		if err != nil || found != (want != nil) {
			t.Errorf("row %q: found is %t, error %v", id, found, err)
		}
		if found {
			wantRows(t, id, want, []record.Event{e})
		} else {
			wantSame(t, "no row", nil, record.Event{}, e)
		}
	}
	for name, tt := range map[string]struct {
		ids  []string
		want bool
	}{
		"none":             {nil, true},
		"all":              {[]string{"first", "elsewhere", "first"}, true},
		"the first is not": {[]string{"absent", "first"}, false},
		"the last is not":  {[]string{"first", "elsewhere", "absent"}, false},
	} {
		got, err := b.Stored(t.Context(), tt.ids...)
		wantSame(t, "Stored of "+name, err, tt.want, got)
	}
}

// testWaiting finds each row that was appended among those that wait or those that are stored.
func testWaiting(t *testing.T, a, b store.Store) {
	var want []string
	for n := range 50 {
		e := row(own, fmt.Sprint("own-", n))
		want = append(want, e.EventID)
		if !a.Append(e) || !a.Append(row(record.Session{ID: "other"}, fmt.Sprint("other-", n))) {
			t.Fatal("a row was refused")
		}
		waiting, known := a.Waiting(own)
		if !known {
			continue
		}
		rows := events(t, b, own)
		stored := make(map[string]bool)
		for _, id := range ids(rows) {
			stored[id] = true
		}
		for _, e := range waiting {
			if !stored[e.EventID] { // it was committed meanwhile
				rows = append(rows, e)
			}
		}
		wantSame(t, "stored and waiting", nil, want, ids(rows))
	}
	flush(t, a)
	wantSame(t, "after Flush", nil, want, ids(events(t, b, own)))
	if waiting, known := a.Waiting(own); known && len(waiting) > 0 {
		t.Errorf("%d rows wait after Flush", len(waiting))
	}
	if s := a.Stats(); s.QueuedRows != 0 || s.Stored != 100 {
		t.Errorf("stats after Flush %+v: want 100 rows stored", s)
	}
}

func testCommit(t *testing.T, a, b store.Store) {
	before, it := row(own, "before"), row(own, "it")
	if !a.Append(before) || !a.Append(it) {
		t.Fatal("a row was refused")
	}
	for range 2 {
		if err := a.Commit(t.Context(), it.EventID); err != nil {
			t.Fatalf("Commit: %v", err)
		}
		wantSame(t, "after Commit", nil, []string{"before", "it"}, ids(events(t, b, own)))
	}
	if err := b.Commit(t.Context(), it.EventID); err != nil {
		t.Errorf("Commit of a row of the other handle: %v", err)
	}
	if err := a.Commit(t.Context(), "absent"); err == nil {
		t.Error("a row that was never appended is committed")
	}
}

// testImport imports rows again, more than a store need take at a time.
func testImport(t *testing.T, a, b store.Store) {
	rows := make([]record.Event, 1500)
	for i := range rows {
		rows[i] = row(own, fmt.Sprint("r", i*7%1500))
	}
	for _, s := range []store.Store{a, a, b} {
		if err := store.Import(t.Context(), s, rows); err != nil {
			t.Fatal(err)
		}
		wantSame(t, "what is stored", nil, ids(rows), ids(events(t, b, own)))
	}
	if s := a.Stats(); s.Stored != 1500 || s.Duplicates != 1500 {
		t.Errorf("%d rows stored and %d duplicates, want 1500 each", s.Stored, s.Duplicates)
	}
	if err := store.Import(t.Context(), a, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
}
