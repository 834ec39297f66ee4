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

// TestRetentionKeepsWhatAParentRestsOn removes sessions that ran for others: child for
// parent, grandchild for child.
func TestRetentionKeepsWhatAParentRestsOn(t *testing.T) {
	parent, child, grandchild := record.Session(openApproval(1).Session), named("child"), named("grandchild")
	type parents = map[record.Session]record.Session
	for name, tt := range map[string]struct {
		age     time.Duration // of the parent
		open    bool          // it has an open approval
		parents parents
		cfg     config.Retention
		kept    []record.Session
	}{
		"the parent is active": {
			time.Hour, false, parents{child: parent}, config.Retention{MaxAge: day}, []record.Session{parent, child},
		},
		"the parent is active, and so is a child of the child": {
			time.Hour, false, parents{child: parent, grandchild: child}, config.Retention{MaxAge: day},
			[]record.Session{parent, child, grandchild},
		},
		"the parent has an open approval": {
			8 * day, true, parents{child: parent, grandchild: child}, config.Retention{MaxAge: day},
			[]record.Session{parent, child, grandchild},
		},
		"the parent has an open approval, the file is large": {
			8 * day, true, parents{child: parent}, config.Retention{MaxSize: 1}, []record.Session{parent, child},
		},
		"the parent is old": {
			8 * day, false, parents{child: parent, grandchild: child}, config.Retention{MaxAge: day}, nil,
		},
		"nobody is named": {
			time.Hour, true, nil, config.Retention{MaxAge: day}, []record.Session{parent},
		},
		"the child is of another user": {
			time.Hour, false, parents{{App: child.App, User: "bob", ID: child.ID}: parent}, config.Retention{MaxAge: day},
			[]record.Session{parent},
		},
		"a session names itself": {
			8 * day, false, parents{parent: parent, child: child}, config.Retention{MaxAge: day}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, nil)
			rows := map[record.Session][]record.Event{
				grandchild: aged(grandchild, "r", 3, 10*day), child: aged(child, "r", 3, 9*day), parent: aged(parent, "r", 3, tt.age),
			}
			for c, p := range tt.parents {
				// It is called twice, and another one once.
				rows[p][0], rows[p][1] = calling(rows[p][0], c), calling(rows[p][1], c)
				rows[p][2] = calling(rows[p][2], named("other"))
			}
			for _, list := range rows {
				appendAll(t, j, list...)
			}
			if tt.open {
				lead(t, j.Ledger(), 1, paths[safety.StatePending])
			}
			flush(t, j)
			sweep(t, j, tt.cfg)
			want := []string{}
			for _, s := range tt.kept {
				want = append(want, s.ID)
			}
			got := listed(t, j)
			slices.Sort(got)
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the sessions that are left differ (-want +got):\n%s", d)
			}
			if n := selectInt(t, connect(t, j.Path()), "SELECT count(*) FROM child_sessions"); len(want) == 0 && n > 0 {
				t.Errorf("%d children of removed sessions are left", n)
			}
			wellFormed(t, j)
		})
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
