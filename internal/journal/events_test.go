// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestEventRoundTrip(t *testing.T) {
	full := record.Event{
		Timestamp: 1_721_900_000_123_456, EventID: "e1", EventType: record.ToolCompleted, Agent: "buyer",
		SessionID: "s-1", InvocationID: "inv", UserID: "ann", TraceID: "t", SpanID: "sp", ParentSpanID: "pa",
		Content: []byte(`{"tool":"x","result":"a\u0000ü"}`), ContentParts: []byte(`[]`), Attributes: []byte(`{"adk":{}}`),
		LatencyMS: []byte(`{"total_ms":3}`), Status: record.StatusError, ErrorMessage: "no\x00 such", IsTruncated: true,
		AppName: "shop", RunID: "r", RunSeq: 7,
	}
	bare := record.Event{EventID: "e2", EventType: "X", Status: record.StatusOK, AppName: "shop", UserID: "ann", SessionID: "s-1"}
	negative := bare
	negative.EventID, negative.Timestamp = "e3", -5

	j := openJournal(t, nil)
	appendAll(t, j, full, bare, negative)
	flush(t, j)
	got, err := j.Events(t.Context(), testSession)
	if err != nil {
		t.Fatal(err)
	}
	want := []record.Event{full, bare, negative}
	for i := range want {
		want[i].Seq = int64(i + 1)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows differ (-want +got):\n%s", d)
	}

	conn := connect(t, j.Path())
	nulls := selectInt(t, conn, `SELECT count(*) FROM agent_events WHERE event_id = 'e2'
		AND agent IS NULL AND invocation_id IS NULL AND trace_id IS NULL AND span_id IS NULL AND parent_span_id IS NULL
		AND content IS NULL AND content_parts IS NULL AND attributes IS NULL AND latency_ms IS NULL AND error_message IS NULL`)
	if nulls != 1 {
		t.Error("empty columns are not NULL")
	}
	if n := selectInt(t, conn, `SELECT count(*) FROM agent_events WHERE content IS NOT NULL AND typeof(content) <> 'text'`); n != 0 {
		t.Error("JSON is not stored as text")
	}

	after, err := j.RowsAfter(t.Context(), testSession, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != 1 || after[0].EventID != "e3" {
		t.Errorf("RowsAfter(2) = %v, want e3 only", after)
	}
}

// RowsAfter is called until it has no more.
func TestRowsAfter(t *testing.T) {
	const mb = 1_000_000
	sizes := func(n int, size int) []int { return slices.Repeat([]int{size}, n) }
	for name, tt := range map[string]struct {
		sizes []int // of the contents of the rows
		want  []int // how many rows there are at a time
	}{
		"no row":        {nil, nil},
		"some":          {sizes(3, 10), []int{3}},
		"many":          {sizes(1200, 10), []int{500, 500, 200}},
		"large":         {sizes(5, 3*mb/2), []int{2, 2, 1}},
		"one too large": {[]int{5 * mb, 10, 5 * mb}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, nil)
			for i, size := range tt.sizes {
				appendAll(t, j, sized(int64(i+1), "X", size), event(named("another"), "r", int64(i+1), "X"))
			}
			flush(t, j)
			want, err := j.Events(t.Context(), testSession)
			if err != nil {
				t.Fatal(err)
			}
			var all []record.Event
			var at []int
			for seq := int64(0); ; seq = all[len(all)-1].Seq {
				rows, err := j.RowsAfter(t.Context(), testSession, seq)
				if err != nil {
					t.Fatal(err)
				}
				if len(rows) == 0 {
					break
				}
				all, at = append(all, rows...), append(at, len(rows))
			}
			if !cmp.Equal(at, tt.want) {
				t.Errorf("%d rows at a time, want %d", at, tt.want)
			}
			if d := cmp.Diff(want, all, cmp.Comparer(bytes.Equal)); d != "" {
				t.Errorf("rows differ from those of the session (-want +got):\n%s", d)
			}
		})
	}
}

func TestRowByEventID(t *testing.T) {
	j := openJournal(t, nil)
	first, other := sized(1, record.ToolCompleted, 10), event(named("another"), "r", 1, "X")
	appendAll(t, j, first, other)
	flush(t, j)
	first.Seq, other.Seq = 1, 2
	for id, want := range map[string]record.Event{first.EventID: first, other.EventID: other, "absent": {}} {
		got, found, err := j.Row(t.Context(), id)
		if d := cmp.Diff(want, got); d != "" || err != nil || found != (want.EventID != "") {
			t.Errorf("%s: found is %t, error %v, rows differ (-want +got):\n%s", id, found, err, d)
		}
	}
}

func TestStored(t *testing.T) {
	j := openJournal(t, nil)
	a, b, waiting := event(testSession, "r", 1, "X"), event(named("another"), "r", 1, "X"), event(testSession, "r", 2, "X")
	appendAll(t, j, a, b)
	flush(t, j)
	holdWriter(t, j, func() {
		appendAll(t, j, waiting)
		for name, tt := range map[string]struct {
			ids  []string
			want bool
		}{
			"none":             {nil, true},
			"all":              {[]string{a.EventID, b.EventID, a.EventID}, true},
			"the first is not": {[]string{"absent", a.EventID}, false},
			"the last is not":  {[]string{a.EventID, "absent"}, false},
			"one waits":        {[]string{a.EventID, waiting.EventID}, false},
		} {
			if got, err := j.Stored(t.Context(), tt.ids...); err != nil || got != tt.want {
				t.Errorf("%s: %t, %v, want %t", name, got, err, tt.want)
			}
		}
	})
}

func TestSessionsAreApart(t *testing.T) {
	j := openJournal(t, nil)
	keys := []record.Session{
		{App: "a", User: "u", ID: "s"}, {App: "b", User: "u", ID: "s"},
		{App: "a", User: "v", ID: "s"}, {App: "a", User: "u", ID: "t"}, {App: "au", User: "", ID: "s"},
	}
	for i, s := range keys {
		appendAll(t, j, event(s, fmt.Sprint("r", i), 1, record.UserMessageReceived))
	}
	flush(t, j)
	for i, s := range keys {
		got, err := j.Events(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].RunID != fmt.Sprint("r", i) {
			t.Errorf("%+v has %v", s, got)
		}
	}
	none, err := j.Events(t.Context(), record.Session{App: "a", User: "u", ID: "absent"})
	if err != nil || len(none) != 0 {
		t.Errorf("absent session: %v, %v", none, err)
	}
}

func TestDuplicateEventIsStoredOnce(t *testing.T) {
	j := openJournal(t, nil)
	e := event(testSession, "r", 1, record.UserMessageReceived)
	appendAll(t, j, e)
	flush(t, j)
	appendAll(t, j, e, event(testSession, "r", 2, record.InvocationStarting), e)
	flush(t, j)
	if n, err := j.Count(t.Context()); err != nil || n != 2 {
		t.Errorf("Count() = %d, %v, want 2", n, err)
	}
	if s := j.Stats(); s.Accepted != 4 || s.Stored != 2 || s.Duplicates != 2 {
		t.Errorf("stats %+v: want 4 accepted, 2 stored, 2 duplicates", s)
	}
	list, err := j.Sessions(t.Context(), store.Query{})
	if err != nil || len(list) != 1 || list[0].Events != 2 {
		t.Errorf("Sessions() = %+v, %v, want one with 2 events", list, err)
	}
}

func TestSessions(t *testing.T) {
	j := openJournal(t, nil)
	other := record.Session{App: "shop", User: "bob", ID: "s-2"}
	third := record.Session{App: "desk", User: "ann", ID: "s-3"}
	helper := event(testSession, "r", 2, record.AgentStarting)
	helper.Agent = "analyst"
	quiet := event(testSession, "r", 4, record.AgentStarting)
	quiet.Agent = ""
	appendAll(t, j, event(testSession, "r", 3, "X"), event(other, "r", 1, "X"), helper)
	flush(t, j)
	appendAll(t, j, event(third, "r", 1, "X"), quiet)
	flush(t, j)

	at := func(n int64) time.Time { return time.UnixMicro(1_700_000_000_000_000 + n).UTC() }
	first := store.Session{Session: testSession, First: at(2), Last: at(4), LastSeq: 5, Events: 3, Agents: []string{"analyst", "buyer"}}
	second := store.Session{Session: third, First: at(1), Last: at(1), LastSeq: 4, Events: 1, Agents: []string{"buyer"}}
	last := store.Session{Session: other, First: at(1), Last: at(1), LastSeq: 2, Events: 1, Agents: []string{"buyer"}}
	tests := []struct {
		name  string
		query store.Query
		want  []store.Session
	}{
		{"all", store.Query{}, []store.Session{first, second, last}},
		{"page", store.Query{Limit: 1, Offset: 1}, []store.Session{second}},
		{"app", store.Query{App: "shop"}, []store.Session{first, last}},
		{"user", store.Query{App: "shop", User: "bob"}, []store.Session{last}},
		{"none", store.Query{App: "x"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := j.Sessions(t.Context(), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("sessions differ (-want +got):\n%s", d)
			}
		})
	}
	for _, q := range []store.Query{{Limit: -1}, {Offset: -1}} {
		if _, err := j.Sessions(t.Context(), q); err == nil {
			t.Errorf("%+v was accepted", q)
		}
	}
}
