// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// wantRows checks what a query on the file of a journal gives: the columns of each row with a bar
// between them, and - for NULL.
func wantRows(tb testing.TB, j *journal.Journal, query string, want ...string) {
	tb.Helper()
	var got []string
	err := sqlitex.ExecuteTransient(connect(tb, j.Path()), query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		columns := make([]string, stmt.ColumnCount())
		for i := range columns {
			columns[i] = stmt.ColumnText(i)
			if stmt.ColumnIsNull(i) {
				columns[i] = "-"
			}
		}
		got = append(got, strings.Join(columns, "|"))
		return nil
	}})
	if err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("%s: rows differ (-want +got):\n%s", query, d)
	}
}

// step returns row n of a run, on a span.
func step(s record.Session, n int64, typ, span, parent string) record.Event {
	e := event(s, "r", n, typ)
	e.Timestamp, e.TraceID, e.SpanID, e.ParentSpanID = n, "t", span, parent
	return e
}

// The views show the steps of a session, which contains which, and the things that a request rests on.
func TestViews(t *testing.T) {
	a := storetest.Pending(1)
	other := a.Entities[0]
	other.Key, other.Type, other.Value, other.ArtifactURI = "other", "A:B%", "50%: off", ""
	a.Entities = append(a.Entities, other)
	s, elsewhere := record.Session(a.Session), record.Session(a.Session)
	elsewhere.ID = "elsewhere"
	j := openJournal(t, nil)
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	failed := step(s, 4, record.ToolError, "tool", "root")
	failed.Status, failed.ErrorMessage, failed.Agent = record.StatusError, "no such route", "other"
	request := step(s, 5, record.HITLConfirmationRequest, "ask", "tool")
	request.Attributes = []byte(`{"adk":{"approval_id":"` + a.ID + `"}}`)
	request.Content = []byte(`{"args":{"toolConfirmation":{"payload":{"contextgraph":{"entities":[{"type":"Product","value":"as shown"}]}}}}}`)
	later := step(s, 11, record.ToolStarting, "tool", "root")
	later.TraceID = "t2"
	appendAll(t, j,
		step(s, 1, record.UserMessageReceived, "root", ""), step(s, 2, record.InvocationStarting, "root", ""),
		step(s, 3, record.ToolStarting, "tool", "root"), failed, request,
		step(s, 6, record.StateDelta, "", "root"), step(s, 7, record.StateDelta, "", "root"),
		step(s, 8, record.EntitiesFound, "tool", "root"), step(s, 9, record.LLMRequest, "llm", "never recorded"),
		step(s, 10, record.InvocationCompleted, "root", ""),
		later, step(elsewhere, 1, record.AgentStarting, "tool", "root"), // spans of the same names
	)
	flush(t, j)

	wantRows(t, j, `SELECT trace_id, span_id, parent_span_id, event_type, event_types, agent, timestamp, end_time, status, error_message
		FROM tech_nodes WHERE session_id = '`+s.ID+`' ORDER BY timestamp`,
		`t|root|-|USER_MESSAGE_RECEIVED|["USER_MESSAGE_RECEIVED","INVOCATION_STARTING","INVOCATION_COMPLETED"]|buyer|1|10|OK|-`,
		`t|tool|root|TOOL_STARTING|["TOOL_STARTING","TOOL_ERROR"]|buyer|3|4|ERROR|no such route`,
		`t|ask|tool|HITL_CONFIRMATION_REQUEST|["HITL_CONFIRMATION_REQUEST"]|buyer|5|5|OK|-`,
		`t|-|root|STATE_DELTA|["STATE_DELTA"]|buyer|6|6|OK|-`,
		`t|-|root|STATE_DELTA|["STATE_DELTA"]|buyer|7|7|OK|-`,
		`t|llm|never recorded|LLM_REQUEST|["LLM_REQUEST"]|buyer|9|9|OK|-`,
		`t2|tool|root|TOOL_STARTING|["TOOL_STARTING"]|buyer|11|11|OK|-`,
	)
	wantRows(t, j, "SELECT app_name, user_id, session_id, trace_id, event_id FROM tech_nodes WHERE session_id = 'elsewhere'",
		"ads|ana|elsewhere|t|ads/ana/elsewhere/r/1")
	wantRows(t, j, "SELECT app_name, user_id, session_id, trace_id, parent_span_id, span_id, kind FROM caused_edges ORDER BY span_id",
		"ads|ana|sess-1|t|tool|ask|contains",
		"ads|ana|sess-1|t|root|tool|contains",
	)
	const of = "ads|ana|sess-1|t|ask"
	first := entity.Entity{Type: "A:B%", Value: "50%: off", SpanID: "ask"}.BizNodeID()
	second := entity.Entity{Type: "Product", Value: "Strava Sponsored Routes", SpanID: "ask"}.BizNodeID()
	wantRows(t, j, `SELECT biz_node_id, app_name, user_id, session_id, trace_id, span_id, node_type, node_value, confidence, artifact_uri, created_at
		FROM biz_nodes ORDER BY biz_node_id`,
		first+"|"+of+`|A:B%|50%: off|0.91|-|5`,
		second+"|"+of+`|Product|Strava Sponsored Routes|0.91|gs://a/b|5`,
	)
	wantRows(t, j, `SELECT link_id, app_name, user_id, session_id, trace_id, span_id, biz_node_id, link_type, artifact_uri, created_at
		FROM cross_links ORDER BY link_id`,
		first+"|"+of+"|"+first+`|EVALUATED|-|5`,
		second+"|"+of+"|"+second+`|EVALUATED|gs://a/b|5`,
	)
}

// Where the ledger has no approval of the session, the row of the request tells. A row that
// does not hold what it should is no error.
func TestViewsOfRowsAlone(t *testing.T) {
	j := openJournal(t, nil)
	a := storetest.Pending(1)
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	shown := func(entities string) string {
		return `{"args":{"toolConfirmation":{"payload":{"contextgraph":{"entities":` + entities + `}}}}}`
	}
	for i, tt := range []struct {
		content, attributes string
		want                []string
	}{
		{shown(`[{"type":"Product","value":"A","confidence":0.5},{"type":"Budget","value":"B","confidence":1}]`), `{}`,
			[]string{"x:Product:A|0.5|-", "x:Budget:B|1|-"}},
		{shown(`[{"type":"Product","value":"A","confidence":1}]`), `{"adk":{"approval_id":"` + a.ID + `"}}`, // of another session
			[]string{"x:Product:A|1|-"}},
		{shown(`[]`), `{}`, nil},
		{shown(`["A",7,null]`), `{}`, nil},
		{shown(`"A"`), `{}`, nil},
		{`{"args":{}}`, `{}`, nil},
		{`{"args`, `{"adk`, nil},
		{``, ``, nil},
	} {
		s := record.Session(a.Session)
		s.ID = fmt.Sprint("s-", i)
		request := step(s, 1, record.HITLConfirmationRequest, "x", "")
		request.Content, request.Attributes = []byte(tt.content), []byte(tt.attributes)
		appendAll(t, j, request)
		flush(t, j)
		wantRows(t, j, "SELECT biz_node_id, confidence, artifact_uri FROM biz_nodes WHERE session_id = '"+s.ID+"'", tt.want...)
	}
}
