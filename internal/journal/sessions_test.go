// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestSessionsSelected(t *testing.T) {
	j := openJournal(t, nil)
	for i := range 6 {
		s := record.Session{App: "shop", User: []string{"ann", "bob"}[i%2], ID: fmt.Sprintf("s-%d", i/2)}
		appendAll(t, j, event(s, fmt.Sprintf("r%d", i), int64(i+1), record.InvocationStarting))
	}
	flush(t, j)
	at := func(n int64) time.Time { return time.UnixMicro(1_700_000_000_000_000 + n).UTC() }
	tests := map[string]struct {
		query store.Query
		want  []int64 // LastSeq
	}{
		"id":            {store.Query{ID: "s-1"}, []int64{4, 3}},
		"id and user":   {store.Query{ID: "s-1", User: "ann"}, []int64{3}},
		"no such id":    {store.Query{ID: "s-"}, nil},
		"prefix":        {store.Query{Prefix: "s-", User: "ann"}, []int64{5, 3, 1}},
		"prefix, whole": {store.Query{Prefix: "s-1"}, []int64{4, 3}},
		"no prefix":     {store.Query{Prefix: "S-"}, nil},
		"from":          {store.Query{From: at(5)}, []int64{6, 5}},
		"to":            {store.Query{To: at(2)}, []int64{1}},
		"from, to":      {store.Query{From: at(2), To: at(4)}, []int64{3, 2}},
		"before":        {store.Query{Before: 3}, []int64{2, 1}},
		"before, limit": {store.Query{Before: 5, Limit: 2}, []int64{4, 3}},
		"before, user":  {store.Query{Before: 5, User: "ann"}, []int64{3, 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := j.Sessions(t.Context(), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, s := range list {
				got = append(got, s.LastSeq)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("sessions differ (-want +got):\n%s", d)
			}
		})
	}
	if _, err := j.Sessions(t.Context(), store.Query{Before: -1}); err == nil {
		t.Error("a negative number was accepted")
	}
}

// TestStandings reads what says where sessions stand, and nothing else.
func TestStandings(t *testing.T) {
	j := openJournal(t, nil)
	known := record.Session{App: "shop", User: "ann", ID: "known to the ledger"}
	alone := record.Session{App: "shop", User: "ann", ID: "rows alone"}
	types := []string{
		record.UserMessageReceived, record.InvocationStarting, record.LLMRequest, record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted,
		record.WorldChangeCheck, record.HITLInputRequest, record.HITLInputRequestCompleted, record.HITLCredentialRequest, record.HITLCredentialRequestCompleted,
	}
	for _, s := range []record.Session{known, alone} {
		for i, typ := range types {
			e := event(s, s.ID, int64(i+1), typ)
			e.Content, e.Attributes = []byte(`{"c":1}`), []byte(`{"a":1}`)
			appendAll(t, j, e)
		}
	}
	flush(t, j)
	asked := safety.Approval{
		ID: "a-1", Session: known, CallID: "c1", Tool: "buy", RunID: "r", State: safety.StatePending, Args: []byte(`{}`),
		RequestedAt: time.UnixMicro(5).UTC(), ExpiresAt: time.UnixMicro(9).UTC(),
	}
	if err := j.Ledger().Create(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	got, err := j.Standings(t.Context(), []record.Session{alone, {App: "no", User: "such", ID: "session"}, known})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d, %v, want 3", len(got), err)
	}
	if len(got[1].Rows)+len(got[1].Approvals)+len(got[0].Approvals) != 0 {
		t.Errorf("an unknown session stands %+v, rows alone have approvals %+v", got[1], got[0].Approvals)
	}
	if a := got[2].Approvals; len(a) != 1 || a[0].ID != "a-1" || a[0].State != safety.StatePending || a[0].Tool != "buy" || a[0].CallID != "c1" ||
		!a[0].RequestedAt.Equal(asked.RequestedAt) || !a[0].ExpiresAt.Equal(asked.ExpiresAt) || a[0].Session != known || a[0].Args != nil {
		t.Errorf("approvals %+v", a)
	}
	want := append([]string{record.UserMessageReceived}, types[3:]...)
	for i, content := range map[int]bool{0: true, 2: false} {
		var found []string
		for _, e := range got[i].Rows {
			found = append(found, e.EventType)
			message, check := e.EventType == record.UserMessageReceived, e.EventType == record.WorldChangeCheck
			if (e.Content != nil) != (message || content && !check) || (e.Attributes != nil) == message {
				t.Errorf("standing %d: %s has content %q and attributes %q", i, e.EventType, e.Content, e.Attributes)
			}
		}
		if d := cmp.Diff(want, found); d != "" {
			t.Errorf("standing %d: rows differ (-want +got):\n%s", i, d)
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
