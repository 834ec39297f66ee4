// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// recordTypes stores one row of each type in a session, some days ago.
func recordTypes(t *testing.T, j *journal.Journal, s record.Session, types ...string) {
	t.Helper()
	rows := aged(s, "r", len(types), 2*day)
	for i := range rows {
		rows[i].EventType = types[i]
	}
	appendAll(t, j, rows...)
	flush(t, j)
}

func TestTriggers(t *testing.T) {
	j := openJournal(t, nil)
	recordTypes(t, j, named("a"), record.UserMessageReceived, record.HITLConfirmationRequest, record.ToolStarting) // 1 to 3
	recordTypes(t, j, named("b"), record.WorldChangeCheck)                                                         // 4
	recordTypes(t, j, named("a"), record.AgentStarting)                                                            // stored already
	recordTypes(t, j, named("c"), record.HITLInputRequest, record.HITLConfirmationRequestCompleted)
	all, err := j.Triggers(t.Context(), 0, 1<<40, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range all {
		got = append(got, x.Session.ID)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, got); d != "" {
		t.Fatalf("triggers of sessions differ (-want +got):\n%s", d)
	}
	if all[0].Seq != 2 || all[1].Seq != 4 {
		t.Errorf("triggers %+v", all)
	}
	for name, tt := range map[string]struct {
		after, through int64
		limit          int
		want           []journal.Trigger
	}{
		"after one":       {2, 1 << 40, 100, all[1:]},
		"up to one":       {0, 4, 100, all[:2]},
		"a few":           {0, 1 << 40, 1, all[:1]},
		"between the two": {2, 3, 100, nil},
	} {
		if got, err := j.Triggers(t.Context(), tt.after, tt.through, tt.limit); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
}

// The rows that bring a graph are those of approvals, as the recorder has them.
func TestTriggersAreApprovals(t *testing.T) {
	j := openJournal(t, nil)
	types := slices.Sorted(slices.Values(record.EventTypes()))
	recordTypes(t, j, testSession, types...)
	got, err := j.Triggers(t.Context(), 0, 1<<40, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var want []int64
	for i, typ := range types {
		if schema.IsApproval(typ) {
			want = append(want, int64(i+1))
		}
	}
	var seqs []int64
	for _, x := range got {
		seqs = append(seqs, x.Seq)
	}
	if d := cmp.Diff(want, seqs); d != "" || len(want) == 0 {
		t.Errorf("triggers differ (-want +got):\n%s", d)
	}
}

// The graphs of a destination have a position and a lease of their own, and are one destination
// with its rows for everything else.
func TestGraphsOfADestination(t *testing.T) {
	j := openJournal(t, nil)
	recordTypes(t, j, named("a"), record.AgentStarting, record.HITLConfirmationRequest)                           // 1, 2
	recordTypes(t, j, named("b"), record.HITLConfirmationRequest, record.WorldChangeCheck, record.AgentCompleted) // 3 to 5
	o := j.Outbox(dataset)
	acquire(t, o, "rows")
	backlog := func(want int64) {
		t.Helper()
		if l, err := o.Backlog(t.Context()); err != nil || l.Graphs != want {
			t.Errorf("%d graphs are lacking, %v, want %d", l.Graphs, err, want)
		}
	}
	backlog(0) // nobody brings graphs
	graphs := o.Graphs()
	if p := acquire(t, graphs, "graphs"); p != 0 {
		t.Errorf("a new one is at %d", p)
	}
	backlog(3)
	advance(t, o, "rows", 5)
	advance(t, graphs, "graphs", 2)
	backlog(2)
	cfg := config.Retention{MaxAge: day}
	sweep(t, j, cfg)
	wantListed(t, j, 1, "b")
	h, err := journal.Examine(t.Context(), j.Path(), false)
	if err != nil || len(h.Destinations) != 1 || h.Destinations[0].Name != dataset || h.Destinations[0].Graphs != 2 {
		t.Errorf("destinations %+v, %v", h.Destinations, err)
	}

	if err := o.Release(t.Context(), "rows"); err != nil {
		t.Fatal(err)
	}
	if err := o.Forget(t.Context()); !errors.Is(err, journal.ErrLeased) {
		t.Errorf("Forget while somebody brings graphs = %v", err)
	}
	if p, err := o.Position(t.Context()); p != 5 || err != nil {
		t.Errorf("after a Forget that failed it is at %d, %v", p, err)
	}
	if err := graphs.Release(t.Context(), "graphs"); err != nil {
		t.Fatal(err)
	}
	if err := o.Forget(t.Context()); err != nil {
		t.Error(err)
	}
	sweep(t, j, cfg)
	wantListed(t, j, 0)
	backlog(0)
}

// A file that is too large because of graphs alone says so, and names the destination as people know
// it.
func TestRetentionNamesGraphs(t *testing.T) {
	j := openJournal(t, nil)
	recordTypes(t, j, named("a"), record.HITLConfirmationRequest)
	o := j.Outbox(dataset)
	acquire(t, o, "x")
	acquire(t, o.Graphs(), "x")
	advance(t, o, "x", 1)
	err := j.Sweep(t.Context(), config.Retention{MaxSize: 1}, sweepTime)
	if want := `"` + dataset + `" has the graphs up to row 0 of 1`; !errors.Is(err, journal.ErrNotReplicated) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestNextGraph(t *testing.T) {
	path := journaltest.Path(t)
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	o := j.Outbox(dataset).Graphs()
	first := time.Date(2026, 7, 31, 23, 59, 59, 0, time.FixedZone("", 2*60*60))
	writer := j.ID()
	next := func(o *journal.Outbox, s record.Session, at time.Time, wantVersion int64, wantDay time.Time) {
		t.Helper()
		got, err := o.NextGraph(t.Context(), s, at)
		if want := (journal.GraphVersion{Writer: writer, Version: wantVersion, Day: wantDay}); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	today := time.Date(2026, 7, 31, 0, 0, 0, 0, time.UTC)
	next(o, testSession, first, 1, today)
	next(o, testSession, first.Add(-50*day), 2, today) // the day stays
	next(j.Outbox("other"), testSession, first.Add(day), 1, today.Add(day))
	next(o, named("before 1970"), time.Date(1969, 12, 31, 1, 0, 0, 0, time.UTC), 1, time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC))
	if n := selectInt(t, connect(t, path), "SELECT count(*) FROM destinations"); n != 0 {
		t.Errorf("%d destinations were made: retention would wait for them", n)
	}
	closeJournal(t, j)
	j = reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	o = j.Outbox(dataset).Graphs()
	next(o, testSession, first, 3, today)

	// At once, also from two handles: no number is given twice.
	var got sync.Map
	var calling sync.WaitGroup
	for range 20 {
		calling.Go(func() {
			v, err := j.Outbox(dataset).Graphs().NextGraph(t.Context(), testSession, first)
			if _, twice := got.LoadOrStore(v.Version, true); twice || err != nil {
				t.Errorf("version %d was given twice, %v", v.Version, err)
			}
		})
	}
	calling.Wait()
	next(o, testSession, first, 24, today)

	// Retention forgets them with the session, which may go on later: as another writer.
	for removed := range 2 {
		recordRows(t, j, testSession, 1)
		sweep(t, j, config.Retention{MaxAge: day})
		wantListed(t, j, 0)
		writer = fmt.Sprintf("%s:%d", j.ID(), removed+1)
		next(o, testSession, first.Add(3*day), 1, today.Add(3*day))
		next(o, testSession, first, 2, today.Add(3*day))
	}
	writer = j.ID()
	next(o, named("before 1970"), first, 2, time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC))
}
