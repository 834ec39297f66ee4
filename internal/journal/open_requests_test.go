// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestOpenRequests(t *testing.T) {
	j := openJournal(t, nil)
	l := j.Ledger()
	now := storetest.Pending(0).RequestedAt.Add(time.Minute)
	n := 0
	ask := func(session string, expires time.Time, end safety.ApprovalState) {
		t.Helper()
		n++
		a := storetest.Pending(n)
		a.Session.ID, a.ExpiresAt = session, expires
		if err := l.Create(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if end == "" {
			return
		}
		if _, err := l.Transition(t.Context(), safety.Transition{ID: a.ID, From: []safety.ApprovalState{safety.StatePending}, To: end, At: now, Actor: "ana"}); err != nil {
			t.Fatal(err)
		}
	}
	ask("later", now.Add(2*time.Hour), "")
	ask("soon", now.Add(time.Hour), "")
	ask("soon", now.Add(3*time.Hour), "")
	ask("expired", now.Add(-time.Second), "")
	ask("rejected", now.Add(time.Hour), safety.StateRejected)
	ask("blocked", now.Add(time.Hour), safety.StateBlocked)
	own := storetest.Pending(0).Session
	of := func(id string) record.Session { return record.Session{App: own.App, User: own.User, ID: id} }
	for limit, want := range map[int][]record.Session{10: {of("soon"), of("later")}, 1: {of("soon")}, 0: nil} {
		got, err := j.OpenRequests(t.Context(), now, limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", limit, diff)
		}
	}
}
