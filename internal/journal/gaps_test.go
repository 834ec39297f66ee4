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
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestGaps(t *testing.T) {
	start := func(run string) record.Event { return event(testSession, run, 1, record.UserMessageReceived) }
	end := func(run string, n int64) record.Event {
		return event(testSession, run, n, record.InvocationCompleted)
	}
	elsewhere := testSession
	elsewhere.ID = "s-2"
	tests := []struct {
		name string
		rows []record.Event
		live []string
		want []string
	}{
		{"nothing recorded", nil, nil, nil},
		{"complete", []record.Event{start("a"), end("a", 2), start("b"), end("b", 2)}, nil, nil},
		{"live", []record.Event{start("a"), end("a", 2), start("b")}, []string{"b"}, nil},
		{"two live", []record.Event{start("a"), start("b")}, []string{"b", "a"}, nil},
		{"row lost", []record.Event{start("a"), end("a", 4)}, nil,
			[]string{"turn inv-a (run a, started 2023-11-14T22:13:20Z): 2 of 4 rows are missing"}},
		{"first row lost", []record.Event{event(testSession, "a", 2, "X"), end("a", 3)}, nil,
			[]string{"turn inv-a (run a, started 2023-11-14T22:13:20Z): 1 of 3 rows are missing"}},
		{"row lost in a live run", []record.Event{start("a"), event(testSession, "a", 3, "X")}, []string{"a"},
			[]string{"turn inv-a (run a, started 2023-11-14T22:13:20Z): 1 of 3 rows are missing"}},
		{"cut short", []record.Event{start("a"), start("b"), end("b", 2)}, []string{"c"},
			[]string{"turn inv-a (run a, started 2023-11-14T22:13:20Z) ended without INVOCATION_COMPLETED"}},
		{"repeated position does not fill a gap", []record.Event{
			start("a"), func() record.Event { e := start("a"); e.EventID = "again"; return e }(), end("a", 3)}, nil,
			[]string{"turn inv-a (run a, started 2023-11-14T22:13:20Z): 1 of 3 rows are missing"}},
		{"rows outside of runs", []record.Event{event(testSession, "", 0, record.WorldChangeCheck)}, nil, nil},
		{"another session", []record.Event{event(elsewhere, "a", 5, "X")}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, nil)
			appendAll(t, j, tt.rows...)
			flush(t, j)
			got, err := j.Gaps(t.Context(), testSession, tt.live)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("gaps differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestGapsTellOfDrops(t *testing.T) {
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
	got, err := j.Gaps(t.Context(), testSession, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 rows were dropped before they could be stored"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("gaps differ (-want +got):\n%s", d)
	}
}

// TestLossesOutliveTheProcess drops all rows of some runs: nothing but the count of
// losses tells of them.
func TestLossesOutliveTheProcess(t *testing.T) {
	const sessions, rows = 3000, 3 // more sessions than one transaction saves losses of
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}, QueueRows: 3}
	check := func(when string, j *journal.Journal, s record.Session, want ...string) {
		t.Helper()
		got, err := j.Gaps(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: gaps of %s differ (-want +got):\n%s", when, s.ID, d)
		}
	}
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
	check("not saved", j, named("s-0"), "3 rows were dropped before they could be stored")
	flush(t, j)
	for _, id := range []string{"s-0", "s-1023", "s-2999"} {
		check("saved", j, named(id), "3 rows were dropped before they could be stored")
		check("another process", other, named(id), "3 rows were dropped before they could be stored")
	}
	check("nothing lost", other, named("last"))
	lose(other, "b")
	closeJournal(t, other)
	closeJournal(t, j)
	j = reopen(t, cfg)
	for _, id := range []string{"s-0", "s-2999"} {
		check("reopened", j, named(id), "6 rows were dropped before they could be stored")
	}
	check("nothing lost", j, named("last"))
	if s := j.Stats(); len(s.Lost) != 0 {
		t.Errorf("stats %+v: want no losses of this process", s)
	}
}
