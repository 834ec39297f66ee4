// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
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

	after, err := j.EventsAfter(t.Context(), testSession, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != 1 || after[0].EventID != "e3" {
		t.Errorf("EventsAfter(2) = %v, want e3 only", after)
	}
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
	list, err := j.Sessions(t.Context(), journal.SessionsQuery{})
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
	first := journal.SessionSummary{Session: testSession, First: at(2), Last: at(4), LastSeq: 5, Events: 3, Agents: []string{"analyst", "buyer"}}
	second := journal.SessionSummary{Session: third, First: at(1), Last: at(1), LastSeq: 4, Events: 1, Agents: []string{"buyer"}}
	last := journal.SessionSummary{Session: other, First: at(1), Last: at(1), LastSeq: 2, Events: 1, Agents: []string{"buyer"}}
	tests := []struct {
		name  string
		query journal.SessionsQuery
		want  []journal.SessionSummary
	}{
		{"all", journal.SessionsQuery{}, []journal.SessionSummary{first, second, last}},
		{"page", journal.SessionsQuery{Limit: 1, Offset: 1}, []journal.SessionSummary{second}},
		{"app", journal.SessionsQuery{App: "shop"}, []journal.SessionSummary{first, last}},
		{"user", journal.SessionsQuery{App: "shop", User: "bob"}, []journal.SessionSummary{last}},
		{"none", journal.SessionsQuery{App: "x"}, nil},
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
	for _, q := range []journal.SessionsQuery{{Limit: -1}, {Offset: -1}} {
		if _, err := j.Sessions(t.Context(), q); err == nil {
			t.Errorf("%+v was accepted", q)
		}
	}
}
