// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// The journal cannot be written when the approval is asked: the request is never
// answerable, and the model is told.
func TestJournalUnwritableWhenAsked(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile)
	conn, err := sqlite.OpenConn(h.Path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = sqlitex.ExecuteTransient(conn, `CREATE TRIGGER full BEFORE INSERT ON approvals BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`, nil)
	if err != nil {
		t.Fatal(err)
	}
	events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if calls := adktest.Confirmations(events); len(calls) != 0 {
		t.Fatalf("a human is asked %d times, want never", len(calls))
	}
	for _, ev := range events {
		if len(ev.Actions.RequestedToolConfirmations) != 0 {
			t.Errorf("event %s still requests a confirmation", ev.ID)
		}
	}
	told := adktest.Responses(events, "buy")
	if len(told) != 1 || told[0]["status"] != "blocked" || told[0]["reason"] != "not_recorded" {
		t.Fatalf("buy answered %v, want a refusal that says it was not recorded", told)
	}
	last := h.Model.Requests()[len(h.Model.Requests())-1]
	if fr := adktest.LastResponse(last); fr == nil || fr.Response["reason"] != "not_recorded" {
		t.Errorf("the model was not told; its last request ends with %+v", fr)
	}
	h.WantBought(0)
}
