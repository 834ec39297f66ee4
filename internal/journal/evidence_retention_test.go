// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
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
