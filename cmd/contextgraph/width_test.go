// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// long makes a name that no column has room for.
func long(name string) string { return name + strings.Repeat("-and-more-of-it", 8) }

// longNames makes a journal in the current directory in which every name is long.
func longNames(t *testing.T) record.Session {
	t.Helper()
	t.Chdir(t.TempDir())
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	s := record.Session{App: long("app"), User: long("user"), ID: long("session")}
	a := safety.Approval{
		ID: strings.Repeat("0123", 8), Session: s, ConfirmationID: "adk-" + long("confirmation"), CallID: "call", Tool: long("tool"), Agent: long("agent"),
		RunID: "run", Requester: long("requester"), RequestedAt: demoNow.Add(-time.Hour), ExpiresAt: demoNow.Add(time.Hour), State: safety.StatePending,
		Args: []byte(`{"argument":"` + long("value") + `"}`), ArgsDigest: "digest", Fingerprint: "fingerprint", PolicyVersion: "policy",
	}
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	text := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	type m = map[string]any
	shown := m{"approval_id": a.ID, "entities": []m{{"type": long("Type"), "value": long("value"), "attributes": m{long("name"): long("text")}}}}
	for i, e := range []record.Event{
		{EventType: record.UserMessageReceived, SpanID: "root", Content: text(m{"text_summary": long("Do this ")})},
		{EventType: record.ToolStarting, SpanID: "tool", ParentSpanID: "root", Content: text(m{"tool": a.Tool, "args": m{long("argument"): long("value")}}), Attributes: text(m{"adk": m{"call_id": "call"}})},
		{EventType: record.ToolError, SpanID: "tool", ParentSpanID: "root", Content: text(m{"tool": a.Tool}), Attributes: text(m{"adk": m{"call_id": "call"}}), Status: record.StatusError, ErrorMessage: long("error")},
		{EventType: record.HITLConfirmationRequest, SpanID: "hitl", ParentSpanID: "tool", Content: text(m{"tool": "adk_request_confirmation", "args": m{
			"originalFunctionCall": m{"id": "call", "name": a.Tool, "args": m{long("argument"): long("value")}},
			"toolConfirmation":     m{"hint": long("hint"), "payload": m{"contextgraph": shown}},
		}}), Attributes: text(m{"adk": m{"call_id": "call", "approval_id": a.ID, "confirmation_id": a.ConfirmationID, "enforced": false}})},
		{EventType: record.HITLConfirmationRequestCompleted, SpanID: "root", Content: text(m{"result": m{"confirmed": true}}), Attributes: text(m{"adk": m{
			"call_id": "call", "approval_id": a.ID, "confirmation_id": a.ConfirmationID, "enforced": false, "confirmed": true, "accepted": false, "reason": "drift", "approver": long("bob"),
		}})},
		{EventType: record.WorldChangeCheck, SpanID: "check", ParentSpanID: "root", Content: text(m{"verdict": "drift", "alerts": []m{{
			"entity_type": long("Type"), "entity": long("value"), "before": long("before"), "after": long("after"), "recommendation": long("Do") + " " + long("that"),
		}}}), Attributes: text(m{"adk": m{"stage": "answer", "verdict": "drift", "approval_id": a.ID, "enforced": false}})},
	} {
		e.Timestamp, e.EventID = demoNow.Add(-time.Hour).UnixMicro()+int64(i), strings.Repeat("0", 31)+string(rune('a'+i))
		e.AppName, e.UserID, e.SessionID, e.TraceID, e.Agent, e.RunID, e.RunSeq = s.App, s.User, s.ID, "t", a.Agent, "run", int64(i+1)
		if e.Status == "" {
			e.Status = record.StatusOK
		}
		j.Append(e)
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWidth: what a table prints fits into 100 columns, whatever it is of, and all that a terminal
// gets does.
func TestWidth(t *testing.T) {
	s := longNames(t)
	rows := []byte("extract:\n  - {name: " + long("rule") + ", tool: " + long("tool") + ", type: " + long("Type") + ", value: $.name}\n")
	if err := os.WriteFile("rules.yaml", rows, 0o600); err != nil {
		t.Fatal(err)
	}
	fits := func(t *testing.T, text string) {
		t.Helper()
		if text == "" {
			t.Error("nothing is printed")
		}
		for line := range strings.Lines(text) {
			if w := width(strings.TrimRight(line, " \n")); w > lineWidth {
				t.Errorf("%d columns: %s", w, line)
			}
		}
	}
	for args, table := range map[string]bool{
		"sessions": true, "sessions --utc": true, "approvals": true, "approvals --utc": true, "would-have-blocked": true, "would-have-blocked --utc": true,
		"stats": false, "rules session --config rules.yaml": false, "trace session": false, "trace session --args": false,
		"approvals 0123": false, "approvals 0123 --utc": false, "trace session --errors": false, "why session": false,
		"check session": false, "doctor": false,
	} {
		t.Run(args, func(t *testing.T) {
			_, stdout, stderr := askWith(t, &app{terminal: func(io.Writer) bool { return true }}, append(strings.Fields(args), "--no-color")...)
			fits(t, stdout)
			if stdout == "" {
				t.Log(stderr)
			}
			if !table {
				return
			}
			_, stdout, _ = runCommand(t, strings.Fields(args)...)
			fits(t, stdout)
			if args == "sessions" && !strings.Contains(stdout, "session-and-more…") {
				t.Errorf("the id of the session is not to be recognized:\n%s", stdout)
			}
		})
	}
	for name, fill := range map[string]func(*table){
		"import": func(tb *table) {
			importTable(tb, &imported{File: "rows.ndjson", Journal: "contextgraph.db", Sessions: []importedSession{{Session: s, Rows: 1 << 30, Spans: 1 << 30, Entities: 1 << 30}}})
		},
		"dead letters": func(tb *table) {
			letterTable(tb, []letterJSON{{Seq: 1 << 40, EventID: strings.Repeat("e", 32), At: demoNow, Session: s, EventType: record.HITLConfirmationRequestCompleted, Code: "INVALID_ARGUMENT", Reason: long("reason")}}, lineWidth)
		},
		"stats of the dataset": (&datasetStatsJSON{
			Verdicts: []dayVerdictsJSON{{Tool: long("tool"), Stage: "execution"}}, Changes: []changeJSON{{EntityType: long("Type"), Value: long("value"), DriftType: "inventory_depleted"}},
			Waiting: []waitingJSON{{Kind: "confirmation", Agent: long("agent"), Tool: long("tool"), P50: 1 << 33, P95: 1 << 33, Max: 1 << 33}},
		}).table,
	} {
		t.Run(name, func(t *testing.T) {
			tb := &table{now: demoNow, utc: true}
			fill(tb)
			fits(t, tb.String())
		})
	}
	if id := inspect.NamedSessions([]record.Session{s}, sessionID(s.ID)); len(id) != 1 {
		t.Errorf("%s does not name the session", sessionID(s.ID))
	}
}

// TestNarrow: the columns that may give way do so first, and each leaves something.
func TestNarrow(t *testing.T) {
	for _, test := range []struct {
		widths, give []int
		limit        int
		want         []int
	}{
		{[]int{10, 10}, nil, 22, []int{10, 10}},
		{[]int{10, 60, 40}, []int{2}, 84, []int{10, 58, 12}},
		{[]int{10, 60, 40}, []int{2}, 104, []int{10, 60, 30}},
		{[]int{10, 60, 40}, []int{1, 2}, 84, []int{10, 30, 40}},
		{[]int{30, 20}, nil, 42, []int{20, 20}},
		{[]int{30, 30}, nil, 5, []int{8, 8}},
		{[]int{3}, nil, 1, []int{3}},
	} {
		got := append([]int(nil), test.widths...)
		narrow(got, test.give, test.limit)
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("narrow(%v, %v, %d) = %v, want %v", test.widths, test.give, test.limit, got, test.want)
				break
			}
		}
	}
}
