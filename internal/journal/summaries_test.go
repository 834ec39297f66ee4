// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// TestSummaryOfARemovedSession holds that nothing tells of a session that is gone.
func TestSummaryOfARemovedSession(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, aged(named("a"), "r-a", 3, 2*day)...)
	appendAll(t, j, aged(named("b"), "r-b", 2, day)...)
	flush(t, j)
	list := []store.NewSummary{summaryOf(t, j, "a"), summaryOf(t, j, "b")}
	keep := func() {
		t.Helper()
		if err := j.KeepSummaries(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	sweep(t, j, config.Retention{MaxAge: 36 * time.Hour})
	for range 2 {
		lines := make(map[string]string)
		if err := j.Summaries(t.Context(), sweepTime, func(s *store.Summary) { lines[s.Session.ID] = string(s.More) }); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]string{"b": "line"}, lines); d != "" {
			t.Errorf("the summaries differ (-want +got):\n%s", d)
		}
		keep() // that of the removed session comes too late
	}
}

// summaryOf returns a summary of a session as it is now, for an hour.
func summaryOf(t *testing.T, j *journal.Journal, id string) store.NewSummary {
	t.Helper()
	stamp, err := j.Stamp(t.Context(), named(id))
	if err != nil {
		t.Fatal(err)
	}
	return store.NewSummary{
		Summary: store.Summary{Session: named(id), Status: "none", Words: []byte{0, 1}, More: []byte("line")},
		Of:      stamp, Until: sweepTime.Add(time.Hour),
	}
}
