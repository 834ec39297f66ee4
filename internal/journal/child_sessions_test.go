// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// calling returns e as the end of a call that an agent answered in the session child.
func calling(e record.Event, child record.Session) record.Event {
	e.EventType = record.ToolCompleted
	e.Attributes = fmt.Appendf(nil, `{"adk":{"child_session":{"app_name":%q,"user_id":%q,"session_id":%q}}}`, child.App, child.User, child.ID)
	return e
}

// TestRetentionBySizeKeepsWhatAParentRestsOn makes a file smaller: a session that ran for one with an open
// approval stays, and nothing is left of one whose parent goes.
func TestRetentionBySizeKeepsWhatAParentRestsOn(t *testing.T) {
	parent, child := record.Session(openApproval(1).Session), named("child")
	for open, want := range map[bool][]string{true: {"child", parent.ID}, false: {}} {
		j := openJournal(t, nil)
		rows := aged(parent, "r", 3, 8*day)
		for i := range rows {
			rows[i] = calling(rows[i], []record.Session{child, child, named("other")}[i])
		}
		appendAll(t, j, aged(child, "r", 3, 9*day)...)
		appendAll(t, j, rows...)
		if open {
			lead(t, j.Ledger(), 1, paths[safety.StatePending])
		}
		flush(t, j)
		sweep(t, j, config.Retention{MaxSize: 1})
		got := listed(t, j)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the sessions that are left differ (-want +got):\n%s", d)
		}
		if n := selectInt(t, connect(t, j.Path()), "SELECT count(*) FROM child_sessions"); !open && n > 0 {
			t.Errorf("%d children of removed sessions are left", n)
		}
		wellFormed(t, j)
	}
}

// TestChildrenOfASessionThatGoesOn: a parent whose old rows are removed keeps the child that a new row
// names.
func TestChildrenOfASessionThatGoesOn(t *testing.T) {
	parent, child := named("parent"), named("child")
	j := openJournal(t, nil)
	appendAll(t, j, aged(parent, "r", 200, 2*day)...)
	flush(t, j)
	alter(t, j, "CREATE TRIGGER broken BEFORE DELETE ON agent_events WHEN OLD.run_seq = 100 BEGIN SELECT raise(ABORT, 'broken'); END")
	if err := j.Sweep(t.Context(), config.Retention{MaxAge: day}, sweepTime); err == nil {
		t.Fatal("the sweep did not fail")
	}
	alter(t, j, "DROP TRIGGER broken")
	appendAll(t, j, aged(child, "r", 1, 2*day)...)
	appendAll(t, j, calling(aged(parent, "r2", 1, time.Minute)[0], child))
	flush(t, j)
	for _, step := range []struct {
		cfg   config.Retention
		after time.Duration
		left  []string
	}{
		{config.Retention{MaxSize: 1 << 40}, time.Hour, []string{"parent", "child"}}, // the removal that was begun
		{config.Retention{MaxAge: day}, time.Hour, []string{"parent", "child"}},
		{config.Retention{MaxAge: day}, 2 * day, []string{}},
	} {
		if err := j.Sweep(t.Context(), step.cfg, sweepTime.Add(step.after)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(step.left, listed(t, j)); d != "" {
			t.Errorf("after %v the sessions that are left differ (-want +got):\n%s", step.after, d)
		}
	}
	if n, err := j.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("%d rows are left, %v", n, err)
	}
}
