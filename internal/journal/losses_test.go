// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// wantLosses checks what the journal says that a session lost.
func wantLosses(tb testing.TB, j *journal.Journal, s record.Session, want ...string) {
	tb.Helper()
	got, err := j.Losses(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(want, store.LossSentences(got)); d != "" {
		tb.Errorf("losses of %s differ (-want +got):\n%s", s.ID, d)
	}
}

func TestLossesTellOfDrops(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) { c.QueueBytes = 4 << 10 })
	unlock := lockFile(t, j.Path())
	appendAll(t, j, event(testSession, "a", 1, record.InvocationCompleted))
	large := event(testSession, "a", 2, "X")
	large.Content = []byte(`"` + strings.Repeat("x", 4<<10) + `"`)
	if j.Append(large) {
		t.Fatal("a row larger than the queue was taken")
	}
	unlock()
	flush(t, j)
	wantLosses(t, j, testSession, "1 rows were dropped before they could be stored")
}

// TestLossesOutliveTheProcess drops all rows of some runs: nothing but the count of
// losses tells of them.
func TestLossesOutliveTheProcess(t *testing.T) {
	const sessions, rows = 3000, 3 // more sessions than one transaction saves losses of
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}, QueueRows: 3}
	j, other := reopen(t, cfg), reopen(t, cfg)
	lose := func(j *journal.Journal, run string) {
		holdWriter(t, j, func() {
			for n := range sessions {
				for i := range int64(rows) {
					appendAll(t, j, event(named(fmt.Sprint("s-", n)), run, i+1, "X"))
				}
			}
			for i := range int64(rows) {
				appendAll(t, j, event(named("last"), run, i+1, record.InvocationCompleted))
			}
		})
	}
	lose(j, "a")
	wantLosses(t, j, named("s-0"), "3 rows were dropped before they could be stored")
	flush(t, j)
	for _, id := range []string{"s-0", "s-1023", "s-2999"} {
		wantLosses(t, j, named(id), "3 rows were dropped before they could be stored")
		wantLosses(t, other, named(id), "3 rows were dropped before they could be stored")
	}
	wantLosses(t, other, named("last"))
	lose(other, "b")
	closeJournal(t, other)
	closeJournal(t, j)
	j = reopen(t, cfg)
	for _, id := range []string{"s-0", "s-2999"} {
		wantLosses(t, j, named(id), "6 rows were dropped before they could be stored")
	}
	wantLosses(t, j, named("last"))
	if s := j.Stats(); len(s.Lost) != 0 {
		t.Errorf("stats %+v: want no losses of this process", s)
	}
}
