// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/store"
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

// triggers returns those of the rows up to a number, which the destination acknowledges.
func triggers(t *testing.T, j *journal.Journal, after, acknowledged int64, limit int) []store.Trigger {
	t.Helper()
	o := j.Outbox(fmt.Sprint("up to ", acknowledged))
	acquire(t, o, "a")
	advance(t, o, "a", acknowledged)
	list, through, err := o.Graphs().Triggers(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	want := max(after, acknowledged)
	if len(list) == limit {
		want = list[limit-1].Seq
	}
	if through != want {
		t.Errorf("the triggers are those up to %d, want %d", through, want)
	}
	return list
}

func TestTriggers(t *testing.T) {
	j := openJournal(t, nil)
	recordTypes(t, j, named("a"), record.UserMessageReceived, record.HITLConfirmationRequest, record.ToolStarting) // 1 to 3
	recordTypes(t, j, named("b"), record.WorldChangeCheck)                                                         // 4
	recordTypes(t, j, named("a"), record.AgentStarting)                                                            // stored already
	recordTypes(t, j, named("c"), record.HITLInputRequest, record.HITLConfirmationRequestCompleted)
	all := triggers(t, j, 0, 6, 100)
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
		after, acknowledged int64
		limit               int
		want                []store.Trigger
	}{
		"after one":       {2, 6, 100, all[1:]},
		"up to one":       {0, 4, 100, all[:2]},
		"a few":           {0, 6, 1, all[:1]},
		"between the two": {2, 3, 100, nil},
		"behind all":      {6, 3, 100, nil},
	} {
		if got := triggers(t, j, tt.after, tt.acknowledged, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// The rows that bring a graph are those of approvals, as the recorder has them.
func TestTriggersAreApprovals(t *testing.T) {
	j := openJournal(t, nil)
	types := slices.Sorted(slices.Values(record.EventTypes()))
	recordTypes(t, j, testSession, types...)
	got := triggers(t, j, 0, int64(len(types)), 1000)
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
	if err := o.Forget(t.Context()); !errors.Is(err, store.ErrLeased) {
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

// A session that goes on after its rows were removed has another writer: its graphs do not take the
// place of those before.
func TestWriter(t *testing.T) {
	j := openJournal(t, nil)
	wantWriter := func(s record.Session, want string) {
		t.Helper()
		if got, err := j.Writer(t.Context(), s); got != want || err != nil {
			t.Errorf("the writer of %s is %q, %v, want %q", s.ID, got, err, want)
		}
	}
	wantWriter(testSession, j.ID())
	for removed := range 2 {
		recordRows(t, j, testSession, 1)
		sweep(t, j, config.Retention{MaxAge: day})
		wantListed(t, j, 0)
		wantWriter(testSession, fmt.Sprintf("%s:%d", j.ID(), removed+1))
	}
	wantWriter(named("another"), j.ID())
}
