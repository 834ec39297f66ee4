// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestKeysOfRows(t *testing.T) {
	// echo -n '1:a7:informs1:b' | sha256sum
	if got := warehouse.EdgeKey("a", graphsync.Informs, "b"); got != "e7aa57bd8c3bbd2f6186551d448a03d8" {
		t.Errorf("EdgeKey = %s", got)
	}
	if warehouse.BizKey("n", "ab", "c") == warehouse.BizKey("n", "a", "bc") {
		t.Error("two entities have one key")
	}
}

func TestSessionGraphOfOneSession(t *testing.T) {
	s := record.Session{App: "shop", User: "alice", ID: "s1"}
	at := time.Date(2026, 3, 4, 23, 59, 59, 0, time.UTC)
	row := record.Event{EventID: "e", EventType: record.UserMessageReceived, AppName: s.App, UserID: s.User, SessionID: s.ID, TraceID: "t", SpanID: "a", Timestamp: at.UnixMicro()}
	later := row
	later.EventID, later.SpanID, later.Timestamp = "l", "b", at.Add(time.Hour).UnixMicro()
	g, err := warehouse.NewSessionGraph(s, graphsync.Fold(nil, []record.Event{later, row}))
	if err != nil || !g.ReadTo.Equal(at.Add(time.Hour)) || !g.Day.Equal(at.Truncate(24*time.Hour)) {
		t.Errorf("read to %v, day %v, %v", g.ReadTo, g.Day, err)
	}
	if _, err := warehouse.NewSessionGraph(s, graphsync.Fold(nil, nil)); !errors.Is(err, warehouse.ErrNoRows) {
		t.Errorf("no rows: %v", err)
	}
	other := row
	other.SessionID = "s2"
	if _, err := warehouse.NewSessionGraph(s, graphsync.Fold(nil, []record.Event{other})); err == nil || !strings.Contains(err.Error(), "s2") {
		t.Errorf("the graph of another session: %v", err)
	}
}

// A graph is split between nodes, and the parts are the graph.
func TestParts(t *testing.T) {
	node := func(key string, size int) warehouse.NodeRow {
		return warehouse.NodeRow{NodeKey: key, ErrorMessage: strings.Repeat("x", size)}
	}
	g := warehouse.SessionGraph{
		Session: record.Session{App: "shop", User: "alice", ID: "s1"}, Day: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC),
		Writer: warehouse.WriterJournal, WriterID: "j", SyncID: "x", Version: 7, ReadTo: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC),
		Nodes: []warehouse.NodeRow{node("a", 100), node("b", 100), node("c", 3000), node("d", 1), node("e", 1)},
	}
	for _, test := range []struct {
		max  int
		want []string
	}{{1 << 20, []string{"abcde"}}, {600, []string{"ab", "c", "de"}}, {1, []string{"a", "b", "c", "d", "e"}}} {
		rows, err := g.Parts(test.max)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, r := range rows {
			var keys string
			for _, n := range r.Nodes {
				keys += n.NodeKey
			}
			got = append(got, keys)
			want := warehouse.SessionGraphRow{
				SessionDay: "2026-03-04", Writer: g.Writer, WriterID: "j", SyncID: "x", Version: 7, ReadTo: g.ReadTo, Part: i, Parts: len(rows), Nodes: r.Nodes,
			}
			want.AppName, want.UserID, want.SessionID = "shop", "alice", "s1"
			if diff := cmp.Diff(want, r, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("part %d (-want +got):\n%s", i, diff)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("at most %d bytes (-want +got):\n%s", test.max, diff)
		}
	}
}

// A row has the columns of the table and no others.
func TestRowsHaveTheColumns(t *testing.T) {
	at, n := time.Unix(1, 0).UTC(), int64(1)
	raw := json.RawMessage(`{}`)
	row := warehouse.SessionGraphRow{Nodes: []warehouse.NodeRow{{
		TraceID: "x", SpanID: "x", ParentSpanID: "x", Kind: "x", Name: "x", Agent: "x", InvocationID: "x", Branch: "x", CallID: "x",
		EventTypes: []string{"x"}, EventIDs: []string{"x"}, StartTime: at, EndTime: at, DecidedAt: at, Status: "x", ErrorMessage: "x",
		CausedBy: []warehouse.CauseRow{{}},
		Entities: []warehouse.EntityRow{{
			ArtifactURI: "x", EventID: "x", Norm: raw, Attributes: raw, Echoes: raw,
			Sightings: []warehouse.SightingRow{{ArtifactURI: "x", Norm: "x", Attributes: "x", Echoes: "x"}},
		}},
		Checks: []warehouse.CheckRow{{
			Verdict: "x", Stage: "x", ApprovalID: "x", ConfirmationID: "x", CallID: "x", Tool: "x", EntitiesChecked: &n, StaleEntities: &n,
			FailedEntities: &n, Alerts: []warehouse.AlertRow{{}}, Detail: raw,
		}},
	}}}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	var compare func(path string, columns []warehouse.Column, members map[string]any)
	compare = func(path string, columns []warehouse.Column, members map[string]any) {
		for _, c := range columns {
			v, ok := members[c.Name]
			if !ok {
				t.Errorf("%s%s is in the table and not in the row", path, c.Name)
			}
			delete(members, c.Name)
			if list, ok := v.([]any); ok && len(c.Fields) > 0 {
				compare(path+c.Name+".", c.Fields, list[0].(map[string]any))
			}
		}
		for name := range members {
			t.Errorf("%s%s is in the row and not in the table", path, name)
		}
	}
	compare("", warehouse.SessionGraphsTable().Columns, members)
}

func TestDecidedAt(t *testing.T) {
	s := record.Session{App: "shop", User: "alice", ID: "s1"}
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	var rows []record.Event
	for i, typ := range []string{record.ToolStarting, record.HITLConfirmationRequest, record.HITLConfirmationRequest, record.ToolCompleted} {
		rows = append(rows, record.Event{
			EventID: string(rune('a' + i)), EventType: typ, AppName: s.App, UserID: s.User, SessionID: s.ID, TraceID: "t", SpanID: "x",
			Timestamp: at.Add(time.Duration(i) * time.Second).UnixMicro(),
		})
	}
	for _, test := range []struct {
		rows     []record.Event
		approval bool
		want     time.Duration
	}{{rows, true, 2 * time.Second}, {rows[:1], false, 0}, {[]record.Event{rows[0], rows[3]}, false, 3 * time.Second}} {
		g, err := warehouse.NewSessionGraph(s, graphsync.Fold(nil, test.rows))
		if err != nil {
			t.Fatal(err)
		}
		n := g.Nodes[0]
		if n.Approval != test.approval || n.DecidedAt.Sub(at) != test.want {
			t.Errorf("approval %v, decided after %v; want %v, %v", n.Approval, n.DecidedAt.Sub(at), test.approval, test.want)
		}
	}
}

// A check whose content was lost still says its verdict and what it was about.
func TestCheckWithoutItsReport(t *testing.T) {
	s := record.Session{App: "shop", User: "alice", ID: "s1"}
	for _, content := range []string{"", "[]", `"text"`, "{"} {
		row := record.Event{
			EventID: "e", EventType: record.WorldChangeCheck, AppName: s.App, UserID: s.User, SessionID: s.ID, TraceID: "t", SpanID: "a",
			Timestamp: 1, Content: []byte(content), Attributes: []byte(`{"adk":{"verdict":"check_failed","stage":"execution","approval_id":"a1"}}`),
		}
		g, err := warehouse.NewSessionGraph(s, graphsync.Fold(nil, []record.Event{row}))
		if err != nil {
			t.Fatal(err)
		}
		c := g.Nodes[0].Checks[0]
		if c.CheckID != "e" || c.Verdict != "check_failed" || c.Stage != "execution" || c.ApprovalID != "a1" || c.EntitiesChecked != nil || c.Detail != nil {
			t.Errorf("content %q: %+v", content, c)
		}
	}
}
