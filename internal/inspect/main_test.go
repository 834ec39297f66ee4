// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var session = record.Session{App: "shop", User: "ann", ID: "s-1"}

// epoch is the time of the first row of a script; its rows are a second apart.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type m = map[string]any

// script writes rows as a recorder does.
type script struct {
	tb      testing.TB
	session record.Session
	rows    []record.Event
	run     string
	trace   string
}

func newScript(tb testing.TB) *script { return &script{tb: tb, session: session} }

// start begins a run; foreign is how a recorder without run ids does it.
func (s *script) start(run string) *script {
	s.run, s.trace = run, "trace-"+run
	return s
}

// row adds a row a second after the last one.
func (s *script) row(eventType, span, parent string, change ...func(*record.Event)) *script {
	s.tb.Helper()
	n := len(s.rows) + 1
	e := record.Event{
		Seq: int64(n), Timestamp: epoch.Add(time.Duration(n-1) * time.Second).UnixMicro(), EventID: fmt.Sprintf("%s-e%02d", s.session.ID, n), EventType: eventType,
		Agent: "buyer", SessionID: s.session.ID, UserID: s.session.User, AppName: s.session.App, InvocationID: "inv-" + s.run,
		TraceID: s.trace, SpanID: span, ParentSpanID: parent, Status: record.StatusOK, RunID: s.run, RunSeq: int64(n),
	}
	if parent == "" && span != "" {
		e.ParentSpanID = ""
	}
	for _, f := range change {
		f(&e)
	}
	s.rows = append(s.rows, e)
	return s
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func content(v any) func(*record.Event)    { return func(e *record.Event) { e.Content = encode(v) } }
func attributes(v any) func(*record.Event) { return func(e *record.Event) { e.Attributes = encode(v) } }
func adk(v m) func(*record.Event)          { return attributes(m{"adk": v}) }
func agent(name string) func(*record.Event) {
	return func(e *record.Event) { e.Agent = name }
}
func failed(why string) func(*record.Event) {
	return func(e *record.Event) { e.Status, e.ErrorMessage = record.StatusError, why }
}

// asks is a run in which a model asks for a tool that needs an approval.
func (s *script) asks() *script {
	shown := m{
		"approval_id": "a-1", "tool": "buy", "args_digest": "d", "fingerprint": "f",
		"requested_at": at(7), "expires_at": at(3600),
		"entities": []m{{"type": "Product", "value": "Strava", "attributes": m{"price": "$40,000"}, "confidence": 0.9, "seen_at": at(4)}},
		"warnings": []string{},
	}
	return s.start("r1").
		row(record.UserMessageReceived, "root1", "", content(m{"text_summary": "Buy ads\nfor spring"})).
		row(record.InvocationStarting, "root1", "").
		row(record.LLMRequest, "llm1", "root1", attributes(m{"model": "gemini"})).
		row(record.LLMResponse, "llm1", "root1", content(m{"response": "call: buy", "usage": m{"prompt": 10, "completion": 5, "total": 15}}),
			attributes(m{"function_calls": []m{{"id": "c1", "name": "buy", "args": m{"n": 1}}}})).
		row(record.ToolStarting, "tool1", "root1", content(m{"tool": "buy", "args": m{"n": 1}}), adk(m{"call_id": "c1"})).
		row(record.ToolCompleted, "tool1", "root1", content(m{"tool": "buy", "result": m{"error": "requires confirmation"}}), adk(m{"call_id": "c1"})).
		row(record.HITLConfirmationRequest, "hitl1", "tool1", content(m{"tool": "adk_request_confirmation", "args": m{
			"originalFunctionCall": m{"id": "c1", "name": "buy", "args": m{"n": 1}},
			"toolConfirmation":     m{"hint": "Please approve", "payload": m{"contextgraph": shown}},
		}}), adk(m{"call_id": "c1", "confirmation_id": "q1", "approval_id": "a-1", "enforced": true})).
		row(record.InvocationCompleted, "root1", "")
}

func at(second int) time.Time { return epoch.Add(time.Duration(second-1) * time.Second) }

// answers is the beginning of a run with an answer to the request of asks.
func (s *script) answers(run string, attrs m) *script {
	keys := m{"call_id": "c1", "confirmation_id": "q1", "approval_id": "a-1", "enforced": true, "approver": "bob", "authenticated": true}
	for k, v := range attrs {
		keys[k] = v
	}
	return s.start(run).
		row(record.UserMessageReceived, "root-"+run, "", content(m{"text_summary": "Function response: adk_request_confirmation"})).
		row(record.HITLConfirmationRequestCompleted, "root-"+run, "", content(m{"tool": "adk_request_confirmation", "result": m{"confirmed": keys["confirmed"]}}), adk(keys))
}

// checks is a check of the world.
func (s *script) checks(stage, verdict, parent string) *script {
	report := m{
		"id": fmt.Sprintf("check-%d", len(s.rows)), "verdict": verdict, "total_entities": 1, "stale_entities": 0, "alerts": []m{}, "failures": []m{},
		"entities": []m{{"type": "Product", "value": "Strava", "outcome": "unchanged",
			"seen": m{"price": m{"kind": "money", "value": "40000", "currency": "USD"}}, "now": m{"price": m{"kind": "money", "value": "40000", "currency": "USD"}}}},
	}
	switch verdict {
	case "drift":
		report["stale_entities"] = 1
		report["alerts"] = []m{{"entity_type": "Product", "entity": "Strava", "attribute": "price", "drift_type": "price_changed", "before": "$40,000", "after": "$52,000", "severity": 0.7, "effect": "block"}}
		report["entities"].([]m)[0]["outcome"] = "changed"
		report["entities"].([]m)[0]["now"] = m{"price": m{"kind": "money", "value": "52000", "currency": "USD"}}
	case "waived":
		verdict, report["verdict"] = "safe", "safe"
		report["entities"].([]m)[0]["waived"] = []m{{"entity_type": "Product", "entity": "Strava", "reason": "nothing_seen", "detail": "nothing on record shows it"}}
	case "check_failed":
		report["failures"] = []m{{"entity_type": "Product", "entity": "Strava", "reason": "timeout", "detail": "no answer"}}
		report["entities"].([]m)[0]["outcome"] = "failed"
		delete(report["entities"].([]m)[0], "now")
	}
	return s.row(record.WorldChangeCheck, fmt.Sprintf("check-%d", len(s.rows)), parent, content(report),
		adk(m{"stage": stage, "verdict": verdict, "approval_id": "a-1", "confirmation_id": "q1", "call_id": "c1"}))
}

// executes is a run of the approved call: a check before it, and an end unless end is "".
func (s *script) executes(run, verdict, end string, change ...func(*record.Event)) *script {
	s.row(record.ToolStarting, "tool-"+run, "root-"+run, content(m{"tool": "buy", "args": m{"n": 1}}), adk(m{"call_id": "c1"}))
	if verdict != "" {
		s.checks("execution", verdict, "tool-"+run)
	}
	if end != "" {
		change = append([]func(*record.Event){content(m{"tool": "buy", "result": m{"id": 7}}), adk(m{"call_id": "c1"})}, change...)
		s.row(end, "tool-"+run, "root-"+run, change...)
	}
	return s
}

func (s *script) over(run string) *script {
	return s.row(record.InvocationCompleted, "root-"+run, "")
}

// see makes a session of the rows.
func (s *script) see(now time.Time, ledger ...safety.Approval) *inspect.Session {
	s.tb.Helper()
	got, err := inspect.New(inspect.Record{Session: s.session, Rows: s.rows, Approvals: ledger}, now)
	if err != nil {
		s.tb.Fatal(err)
	}
	return got
}
