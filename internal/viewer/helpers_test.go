// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMain(m *testing.M) {
	// The golden code of TestCode imports the BigQuery client, which links a library that
	// starts this goroutine with the program.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// asked are the rows of a session in which a human was asked and has not answered.
func asked(s record.Session) []record.Event {
	row := func(seq int64, kind, span, parent, content, attributes string) record.Event {
		return record.Event{
			Seq: seq, RunSeq: seq, RunID: "run", Timestamp: noon.UnixMicro() + seq, EventID: kind, EventType: kind, Agent: "root_agent",
			AppName: s.App, UserID: s.User, SessionID: s.ID, InvocationID: "inv", TraceID: "trace", SpanID: span, ParentSpanID: parent,
			Content: []byte(content), Attributes: []byte(attributes), Status: record.StatusOK,
		}
	}
	return []record.Event{
		row(1, "USER_MESSAGE_RECEIVED", "1", "", `{"text_summary":"buy it"}`, `{}`),
		row(2, "TOOL_STARTING", "2", "1", `{"tool":"buy","args":{"what":"it"}}`, `{"adk":{"call_id":"call"}}`),
		row(3, "HITL_CONFIRMATION_REQUEST", "3", "2",
			`{"tool":"adk_request_confirmation","args":{"originalFunctionCall":{"id":"call","name":"buy","args":{"what":"it"}},"toolConfirmation":{"hint":"","payload":{"contextgraph":{"approval_id":"approval","tool":"buy","expires_at":"2026-03-12T12:00:00Z"}}}}}`,
			`{"adk":{"pause_kind":"hitl_confirmation","call_id":"call","confirmation_id":"confirmation","approval_id":"approval","enforced":true}}`),
	}
}

var shop = record.Session{App: "shop", User: "alice", ID: "s-1"}

func session(t *testing.T, s record.Session, rows []record.Event) *inspect.Session {
	t.Helper()
	seen, err := inspect.New(inspect.Record{Session: s, Rows: rows}, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// source is one with a single session.
type source struct {
	rows   []record.Event
	ledger []safety.Approval
	query  inspect.Query
	err    error
}

func (*source) Name() string { return "a test" }

func (s *source) Sessions(_ context.Context, q inspect.Query) (inspect.Page, error) {
	s.query = q
	return inspect.Page{Next: "next"}, s.err
}

func (s *source) Find(_ context.Context, one record.Session) ([]record.Session, error) {
	return []record.Session{one}, s.err
}

func (s *source) Record(_ context.Context, one record.Session) (inspect.Record, error) {
	if s.err == nil && one != shop {
		return inspect.Record{}, inspect.ErrNotFound
	}
	return inspect.Record{Session: one, Rows: s.rows, Approvals: s.ledger}, s.err
}

// in returns the request of asked as the ledger has it in a state.
func in(state safety.ApprovalState, verdict string) []safety.Approval {
	return []safety.Approval{{
		ID: "approval", Session: shop, ConfirmationID: "confirmation", CallID: "call", Tool: "buy", State: state, Verdict: verdict,
		UpdatedAt: noon, ExpiresAt: noon.Add(time.Hour), PermitExpiresAt: noon.Add(time.Minute),
	}}
}

// replaced returns rows with one text in the place of another.
func replaced(rows []record.Event, old, with string) []record.Event {
	for i := range rows {
		rows[i].EventType = strings.ReplaceAll(rows[i].EventType, old, with)
		rows[i].Content = bytes.ReplaceAll(rows[i].Content, []byte(old), []byte(with))
		rows[i].Attributes = bytes.ReplaceAll(rows[i].Attributes, []byte(old), []byte(with))
	}
	return rows
}
