// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestStandings reads no payload that nobody needs.
func TestStandings(t *testing.T) {
	j := openJournal(t, nil)
	a := storetest.Pending(1)
	known, alone := record.Session(a.Session), named("rows alone")
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for _, s := range []record.Session{known, alone} {
		for i, typ := range []string{record.UserMessageReceived, record.HITLConfirmationRequest, record.WorldChangeCheck} {
			e := event(s, s.ID, int64(i+1), typ)
			e.Content, e.Attributes = []byte(`{"c":1}`), []byte(`{"a":1}`)
			appendAll(t, j, e)
		}
	}
	flush(t, j)
	got, err := j.Standings(t.Context(), []record.Session{known, alone})
	if err != nil {
		t.Fatal(err)
	}
	if list := got[0].Approvals; len(list) != 1 || list[0].Args != nil {
		t.Errorf("approvals %+v", list)
	}
	for i, content := range []bool{false, true} {
		if len(got[i].Rows) != 3 {
			t.Fatalf("standing %d has %d rows, want 3", i, len(got[i].Rows))
		}
		for _, e := range got[i].Rows {
			message, check := e.EventType == record.UserMessageReceived, e.EventType == record.WorldChangeCheck
			if (e.Content != nil) != (message || content && !check) || (e.Attributes != nil) == message {
				t.Errorf("standing %d: %s has content %q and attributes %q", i, e.EventType, e.Content, e.Attributes)
			}
		}
	}
}

// TestOutline reads all rows of a session without their payloads, whatever these are.
func TestOutline(t *testing.T) {
	j := openJournal(t, nil)
	rows := []struct {
		typ, content, attributes    string
		wantContent, wantAttributes string
	}{
		{record.LLMRequest, `{"prompt":"long"}`, `{"model":"gemini","tools":[]}`, "", `{"model":"gemini","model_version":null,"usage_metadata":null}`},
		{record.LLMResponse, `{"response":"long","usage":{"total":5}}`, `{"model_version":"g-1","usage_metadata":{"total_token_count":5}}`,
			`{"usage":{"total":5}}`, `{"model":null,"model_version":"g-1","usage_metadata":{"total_token_count":5}}`},
		{record.LLMResponse, `{"response":"none"}`, `{"model_version":["odd"]}`, `{"usage":null}`, `{"model":null,"model_version":"[\"odd\"]","usage_metadata":null}`},
		{record.LLMResponse, `{`, `{`, "", ""},
		{record.LLMResponse, "", "", "", ""},
		{record.ToolCompleted, `{"result":"long"}`, `{"adk":{}}`, "", ""},
	}
	for i, r := range rows {
		e := event(testSession, "r", int64(i+1), r.typ)
		e.Content, e.Attributes = []byte(r.content), []byte(r.attributes)
		e.Status, e.SpanID = record.StatusError, "span"
		appendAll(t, j, e)
	}
	flush(t, j)
	got, err := j.Outline(t.Context(), testSession)
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d rows, %v, want %d", len(got), err, len(rows))
	}
	for i, r := range rows {
		e := got[i]
		if e.EventType != r.typ || string(e.Content) != r.wantContent || string(e.Attributes) != r.wantAttributes || e.Seq != int64(i+1) ||
			e.Status != record.StatusError || e.SpanID != "span" || e.RunID != "r" {
			t.Errorf("row %d: %s %s %s, want %s %s", i, e.EventType, e.Content, e.Attributes, r.wantContent, r.wantAttributes)
		}
	}
}
