// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// approve takes a new approval to the state approved.
func approve(t *testing.T, l safety.Ledger, n int) safety.Approval {
	t.Helper()
	a := storetest.Pending(n)
	if err := l.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	_, err := l.Transition(t.Context(), safety.Transition{
		ID: a.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateApproved,
		At: a.RequestedAt.Add(time.Second), Actor: "ana", Set: safety.Update{Consent: safety.Consent{Who: "ana"}, Verdict: "safe", Report: []byte(`{"v":1}`)},
	})
	if err == nil {
		a, err = safety.Get(t.Context(), l, a.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestLedgerSurvivesReopening(t *testing.T) {
	path := journaltest.Path(t)
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	want := approve(t, j.Ledger(), 1)
	steps, err := j.Ledger().History(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)

	l := reopen(t, journal.Config{Journal: config.Journal{Path: path}}).Ledger()
	got, err := safety.Get(t.Context(), l, want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("approval differs (-want +got):\n%s", d)
	}
	again, err := l.History(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(steps, again); d != "" || len(again) != 2 {
		t.Errorf("%d steps, history differs (-want +got):\n%s", len(again), d)
	}
}

func TestHistoryIsAppendOnly(t *testing.T) {
	j := openJournal(t, nil)
	a := approve(t, j.Ledger(), 1)
	conn := connect(t, j.Path(), sqlite.OpenReadWrite)
	for _, statement := range []string{
		"UPDATE approval_history SET actor = 'mallory'",
		"DELETE FROM approval_history",
		"INSERT OR REPLACE INTO approval_history (id, approval, to_state) VALUES (1048577, 1, 'approved')",
		"REPLACE INTO approval_history (id, approval, to_state) SELECT id, approval, 'failed' FROM approval_history",
	} {
		err := sqlitex.ExecuteTransient(conn, statement, nil)
		if err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v, want it refused", statement, err)
		}
	}
	steps, err := j.Ledger().History(t.Context(), a.ID)
	if err != nil || len(steps) != 2 || steps[1].Actor != "ana" {
		t.Errorf("history is %+v, %v", steps, err)
	}
}

func TestLedgerWaitsForRows(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) { c.CommitInterval = time.Hour })
	s := record.Session(storetest.Pending(1).Session)
	appendAll(t, j, event(s, "r", 1, record.UserMessageReceived))
	if err := j.Ledger().Create(t.Context(), storetest.Pending(1)); err != nil {
		t.Fatal(err)
	}
	// Whoever sees the approval must see the rows it rests on.
	if n := selectInt(t, connect(t, j.Path()), "SELECT count(*) FROM agent_events"); n != 1 {
		t.Errorf("%d rows are stored when the approval is, want 1", n)
	}
}

func TestDamagedApprovalIsAnError(t *testing.T) {
	j := openJournal(t, nil)
	a := approve(t, j.Ledger(), 1)
	conn := connect(t, j.Path(), sqlite.OpenReadWrite)
	for _, column := range []string{"entities", "receipt", "gaps"} {
		if err := sqlitex.ExecuteTransient(conn, "UPDATE approvals SET "+column+" = '{'", nil); err != nil {
			t.Fatal(err)
		}
		got, err := safety.Get(t.Context(), j.Ledger(), a.ID)
		if err == nil || got.ID != "" {
			t.Errorf("damaged %s: got %+v, %v", column, got, err)
		}
	}
}

// TestStepsOfALargeApprovalAreSmall counts the bytes that the steps of an approval allocate
// which rests on many readings.
func TestStepsOfALargeApprovalAreSmall(t *testing.T) {
	const limit = 64 << 10
	j := openJournal(t, nil)
	a := storetest.Pending(1)
	seen := a.Entities[0].Seen[0]
	for range testsize.Rounds(t, 1_000, 10_000) {
		a.Entities[0].Seen = append(a.Entities[0].Seen, seen)
	}
	a.Report = bytes.Repeat([]byte("1"), 1<<18)
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	to := func(to safety.ApprovalState, set safety.Update) func(safety.Ledger) error {
		return func(l safety.Ledger) error {
			from := []safety.ApprovalState{safety.StatePending, safety.StateApproved}
			_, err := l.Transition(t.Context(), safety.Transition{ID: a.ID, From: from, To: to, At: a.RequestedAt, Actor: "ana", Set: set})
			return err
		}
	}
	for _, step := range []struct {
		name string
		do   func(safety.Ledger) error
	}{
		{"first", to(safety.StatePending, safety.Update{})}, // prepares the statements
		{"attach", func(l safety.Ledger) error { return l.Attach(t.Context(), a.ID, "confirmation") }},
		{"check", to(safety.StatePending, safety.Update{Verdict: "check_failed"})},
		{"approve", to(safety.StateApproved, safety.Update{Consent: safety.Consent{Who: "ana"}, Verdict: "safe"})},
		{"permit", to(safety.StatePermitted, safety.Update{PermitNonce: "n", PermitExpiresAt: a.ExpiresAt})},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := step.do(j.Ledger()); err != nil {
			t.Fatal(step.name, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n >= limit && step.name != "first" {
			t.Errorf("%s allocates %d bytes, want less than %d", step.name, n, limit)
		}
	}
	got, err := safety.Get(t.Context(), j.Ledger(), a.ID)
	if err != nil || len(got.Entities[0].Seen) != len(a.Entities[0].Seen) || !bytes.Equal(got.Report, a.Report) || got.State != safety.StatePermitted {
		t.Errorf("%v: state %s, %d readings, a report of %d bytes", err, got.State, len(got.Entities[0].Seen), len(got.Report))
	}
}
