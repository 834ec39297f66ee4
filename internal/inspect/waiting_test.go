// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestWaited: the request is of second 7, its answers of 10 and later.
func TestWaited(t *testing.T) {
	ledger := func(state safety.ApprovalState, verdict string) safety.Approval {
		return safety.Approval{
			ID: "a-1", Session: session, ConfirmationID: "q1", CallID: "c1", Tool: "buy", State: state, Verdict: verdict,
			RequestedAt: at(7), ExpiresAt: at(3600), UpdatedAt: at(11),
		}
	}
	failed := func(s *script) *script {
		return s.answers("r2", refusedFor("check_failed")).checks("answer", "check_failed", "root-r2").over("r2")
	}
	tests := map[string]struct {
		rows   *script
		ledger []safety.Approval
		now    time.Time
		want   time.Duration
	}{
		"nobody has answered":              {newScript(t).asks(), nil, at(727), 12 * time.Minute},
		"nobody, says the ledger":          {newScript(t).asks(), []safety.Approval{ledger(safety.StatePending, "")}, at(727), 12 * time.Minute},
		"nobody, and it expired":           {newScript(t).asks(), nil, at(9000), 3593 * time.Second},
		"a clock that runs behind":         {newScript(t).asks(), nil, at(1), 0},
		"the check failed":                 {failed(newScript(t).asks()), nil, at(727), 12 * time.Minute},
		"the check failed, too late":       {failed(newScript(t).asks()), nil, at(9000), 3593 * time.Second},
		"one of two has approved":          {newScript(t).asks().answers("r2", refusedFor("more_approvers")), nil, at(727), 12 * time.Minute},
		"approved":                         {newScript(t).asks().answers("r2", accepted).checks("answer", "safe", "root-r2"), nil, at(727), 3 * time.Second},
		"approved, and the permit expired": {newScript(t).asks().answers("r2", accepted), []safety.Approval{ledger(safety.StateExpired, "safe")}, at(9000), 3 * time.Second},
		"rejected":                         {newScript(t).asks().answers("r2", m{"confirmed": false, "accepted": false, "reason": "rejected"}), nil, at(727), 3 * time.Second},
		"another plan is wanted": {newScript(t).asks().answers("r2", m{"confirmed": false, "accepted": false, "reason": "change_wanted"}),
			[]safety.Approval{ledger(safety.StateRejected, "")}, at(727), 3 * time.Second},
		"drift, and asked once more": {newScript(t).asks().answers("r2", refusedFor("drift")).checks("answer", "drift", "root-r2").
			answers("r3", refusedFor("blocked")), nil, at(727), 3 * time.Second},
		"the row of the answer is lost": {newScript(t).asks(), []safety.Approval{ledger(safety.StateBlocked, "drift")}, at(727), 4 * time.Second},
		"executed, and sent again": {newScript(t).asks().answers("r2", accepted).checks("answer", "safe", "root-r2").
			executes("r2", "safe", record.ToolCompleted).over("r2").answers("r3", refusedFor("already_used")), nil, at(727), 3 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := test.rows.see(test.now, test.ledger...)
			if got := time.Duration(s.Approvals[0].WaitedMS) * time.Millisecond; got != test.want {
				t.Errorf("the request (%s) waited %v, want %v", s.Status, got, test.want)
			}
			if got := time.Duration(s.WaitedMS) * time.Millisecond; got != test.want {
				t.Errorf("the session waited %v, want %v", got, test.want)
			}
		})
	}
}

// TestWaitsOverlap: a session waits once while several requests wait.
func TestWaitsOverlap(t *testing.T) {
	asked := func(id string, from, to int) safety.Approval {
		return safety.Approval{ID: id, Session: session, CallID: id, RequestedAt: at(from), ExpiresAt: at(3600), State: safety.StateBlocked, UpdatedAt: at(to)}
	}
	for name, test := range map[string]struct {
		ledger []safety.Approval
		want   time.Duration
	}{
		"none":                {nil, 0},
		"one after the other": {[]safety.Approval{asked("a", 10, 20), asked("b", 30, 40)}, 20 * time.Second},
		"overlapping":         {[]safety.Approval{asked("a", 10, 30), asked("b", 20, 40)}, 30 * time.Second},
		"one in another":      {[]safety.Approval{asked("a", 10, 40), asked("b", 20, 30)}, 30 * time.Second},
		"touching, unordered": {[]safety.Approval{asked("b", 20, 30), asked("a", 10, 20)}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).start("r1").row(record.UserMessageReceived, "root1", "").see(at(60), test.ledger...)
			if got := time.Duration(s.WaitedMS) * time.Millisecond; got != test.want {
				t.Errorf("waited %v, want %v", got, test.want)
			}
		})
	}
}

// TestWaitedInLists: the lists of a journal and of a file say the same as the session itself, and
// an open request waits longer each time.
func TestWaitedInLists(t *testing.T) {
	s := newScript(t).asks()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	asked := time.Now().Add(-12 * time.Minute)
	err = errors.Join(store.Import(t.Context(), j, s.rows), j.Ledger().Create(t.Context(), safety.Approval{
		ID: "a-1", Session: session, ConfirmationID: "q1", CallID: "c1", Tool: "buy", RunID: "r1", RequestedAt: asked, ExpiresAt: asked.Add(time.Hour), State: safety.StatePending,
	}))
	if err != nil {
		t.Fatal(err)
	}
	minutes := func(src inspect.Source) float64 {
		t.Helper()
		page, err := src.Sessions(t.Context(), inspect.Query{})
		if err != nil || len(page.Sessions) != 1 {
			t.Fatalf("%d sessions, %v", len(page.Sessions), err)
		}
		return (time.Duration(page.Sessions[0].WaitedMS) * time.Millisecond).Minutes()
	}
	if got := minutes(inspect.NewJournal(j)); got < 12 || got > 17 {
		t.Errorf("in the list of the journal it waited %v minutes, want 12", got)
	}
	for i := range s.rows { // without an end, which would be over for the clock of the machine
		s.rows[i].Content = bytes.ReplaceAll(s.rows[i].Content, []byte("expires_at"), []byte("expires"))
	}
	rows := inspect.NewRows("rows", s.rows)
	later := time.Now().Add(time.Hour)
	for _, more := range []time.Duration{0, 5 * time.Minute, 10 * time.Minute} {
		now := later.Add(more)
		inspect.SetClock(rows, func() time.Time { return now })
		if got, want := minutes(rows), now.Sub(at(7)).Minutes(); math.Abs(got-want) > 0.01 {
			t.Errorf("in the list of the file it waited %v minutes, want %v", got, want)
		}
	}
}
