// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// of returns an Advance of another session.
func of(s record.Session, a graphsync.Advance) graphsync.Advance {
	a.Session = s
	return a
}

// TestRetentionRemovesEvidence removes more of a session than one transaction may.
func TestRetentionRemovesEvidence(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, aged(named("new"), "r", 3, time.Minute)...)
	flush(t, j)
	extracted(t, j, of(named("new"), filled(0, 3)))
	want := sizes(t, j)
	appendAll(t, j, aged(named("old"), "r", 3, 2*day)...)
	flush(t, j)
	extracted(t, j, of(named("old"), filled(0, 300)))
	sweep(t, j, config.Retention{MaxAge: day})
	if d := cmp.Diff(want, sizes(t, j)); d != "" {
		t.Errorf("what is left differs (-want +got):\n%s", d)
	}
	if s := j.Stats(); s.RemovedSessions != 1 || s.RemovedRows != 3 {
		t.Errorf("stats %+v: want 3 rows of one session removed", s)
	}
	wellFormed(t, j)
}

// TestAdvanceOfARemovedSession adds evidence that was made from rows which are gone.
func TestAdvanceOfARemovedSession(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, aged(testSession, "r", 3, 2*day)...)
	flush(t, j)
	sweep(t, j, config.Retention{MaxAge: day})
	for _, a := range []graphsync.Advance{filled(0, 2), filled(0, 3)} {
		if err := j.Evidence().Advance(t.Context(), a); !errors.Is(err, graphsync.ErrMoved) {
			t.Errorf("up to row %d: %v, want ErrMoved", a.To.Watermark, err)
		}
	}
	if got := sizes(t, j); len(got) != 0 {
		t.Errorf("evidence is stored: %v", got)
	}
	appendAll(t, j, aged(testSession, "r2", 1, time.Minute)...)
	flush(t, j)
	a := step(0, 4)
	a.Sightings = []graphsync.Sighting{sighted("A", 4, entity.SourceRule)}
	extracted(t, j, a)
	if p := read(t, j, graphsync.EvidenceReader.Progress); !cmp.Equal(p, a.To) {
		t.Errorf("progress %+v, want %+v: the session goes on", p, a.To)
	}
}

// TestRetentionKeepsWhatAParentRestsOn removes sessions that ran for others: child for
// parent, grandchild for child.
func TestRetentionKeepsWhatAParentRestsOn(t *testing.T) {
	parent, child, grandchild := record.Session(openApproval(1).Session), named("child"), named("grandchild")
	for name, tt := range map[string]struct {
		age     time.Duration // of the parent
		open    bool          // it has an open approval
		parents map[record.Session]record.Session
		cfg     config.Retention
		kept    []record.Session
	}{
		"the parent is active": {
			time.Hour, false, map[record.Session]record.Session{child: parent}, config.Retention{MaxAge: day}, []record.Session{parent, child},
		},
		"the parent is active, and so is a child of the child": {
			time.Hour, false, map[record.Session]record.Session{child: parent, grandchild: child}, config.Retention{MaxAge: day},
			[]record.Session{parent, child, grandchild},
		},
		"the parent has an open approval": {
			8 * day, true, map[record.Session]record.Session{child: parent, grandchild: child}, config.Retention{MaxAge: day},
			[]record.Session{parent, child, grandchild},
		},
		"the parent has an open approval, the file is large": {
			8 * day, true, map[record.Session]record.Session{child: parent}, config.Retention{MaxSize: 1}, []record.Session{parent, child},
		},
		"the parent is old": {
			8 * day, false, map[record.Session]record.Session{child: parent, grandchild: child}, config.Retention{MaxAge: day}, nil,
		},
		"nobody is named": {
			time.Hour, true, nil, config.Retention{MaxAge: day}, []record.Session{parent},
		},
		"the parent is of another user": {
			time.Hour, false, map[record.Session]record.Session{{App: child.App, User: "bob", ID: child.ID}: parent}, config.Retention{MaxAge: day},
			[]record.Session{parent},
		},
		"the parent was never recorded": {
			time.Hour, false, map[record.Session]record.Session{child: named("unknown")}, config.Retention{MaxAge: day}, []record.Session{parent},
		},
		"a session names itself": {
			8 * day, false, map[record.Session]record.Session{parent: parent, child: child}, config.Retention{MaxAge: day}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, nil)
			for i, s := range []record.Session{grandchild, child} {
				appendAll(t, j, aged(s, "r", 2, time.Duration(10-i)*day)...)
			}
			appendAll(t, j, aged(parent, "r", 2, tt.age)...)
			if tt.open {
				lead(t, j.Ledger(), 1, paths[safety.StatePending])
			}
			flush(t, j)
			for c, p := range tt.parents {
				a := of(p, step(0, 6))
				a.Children = []record.Session{c, named("other")}
				extracted(t, j, a)
			}
			sweep(t, j, tt.cfg)
			var want []string
			for _, s := range tt.kept {
				want = append(want, s.ID)
			}
			got := listed(t, j)
			slices.Sort(got)
			slices.Sort(want)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("sessions %q are left, want %q", got, want)
			}
			wellFormed(t, j)
		})
	}
}

// TestRetentionFailsMidwayInEvidence: what is left of the evidence of a session is never
// taken for all of it.
func TestRetentionFailsMidwayInEvidence(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, aged(testSession, "r", 3, 2*day)...)
	flush(t, j)
	extracted(t, j, filled(0, 300))
	alter(t, j, "CREATE TRIGGER broken BEFORE DELETE ON evidence_sightings WHEN OLD.seq = 280 BEGIN SELECT raise(ABORT, 'broken'); END")
	if err := j.Sweep(t.Context(), config.Retention{MaxAge: day}, sweepTime); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Fatalf("the sweep ended with %v", err)
	}
	losses, err := j.Losses(t.Context(), testSession)
	if d := cmp.Diff([]string{"3 rows of this session were removed by retention"}, losses); d != "" || err != nil {
		t.Errorf("%v, losses differ (-want +got):\n%s", err, d)
	}
	// The session goes on meanwhile, and is extracted further.
	appendAll(t, j, aged(testSession, "r2", 1, time.Minute)...)
	flush(t, j)
	extracted(t, j, filled(300, 1))
	alter(t, j, "DROP TRIGGER broken")
	if err := j.Sweep(t.Context(), config.Retention{MaxAge: day}, sweepTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := sizes(t, j); len(got) != 0 {
		t.Errorf("evidence is left: %v", got)
	}
	wellFormed(t, j)
}
