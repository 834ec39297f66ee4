// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// unnamed are the members that name calls and requests.
var unnamed = regexp.MustCompile(`"(call_id|confirmation_id|approval_id)":`)

// Lists and sessions of the dataset are those of the rows that went there.
func TestSourceGivesWhatTheRowsGive(t *testing.T) {
	d := newSynced(t)
	var rows []record.Event
	stories := []*story{
		delegate(t, "s-waits"), delegate(t, "s-done").resumed(true, time.Minute),
		delegate(t, "s-rejected").resumed(false, time.Hour), diamonds(t, "s-diamonds", 2, 2),
	}
	for i, s := range stories {
		for _, e := range s.rows {
			e.Timestamp += int64(i) * time.Minute.Microseconds()
			rows = append(rows, e)
		}
	}
	// As another recorder writes them: nothing says which call a run of a tool is of.
	stories = append(stories, delegate(t, "s-unnamed").resumed(true, time.Minute))
	for _, e := range stories[len(stories)-1].rows {
		e.Attributes = unnamed.ReplaceAll(e.Attributes, []byte(`"was_$1":`))
		rows = append(rows, e)
	}
	done := stories[1].rows // asked for something a minute before its last row
	ended := time.UnixMicro(done[len(done)-1].Timestamp).Add(time.Minute)
	now := time.UnixMicro(rows[len(rows)-1].Timestamp).Add(time.Hour).UTC()
	shuffled := slices.Clone(rows)
	slices.Reverse(shuffled)
	d.stream(shuffled)
	d.stream(shuffled[:5]) // twice

	clock := func() time.Time { return now }
	want := inspect.NewRows("rows", rows, inspect.WithExtractor(rules(t)), inspect.WithClock(clock))
	got := d.Source(bigquery.SourceOptions{Extractor: rules(t), Now: clock})
	if got.Name() == "" {
		t.Error("the source has no name")
	}
	for _, q := range []inspect.Query{
		{}, {Limit: 1}, {Search: "S-D"}, {Search: "nothing"}, {Status: []inspect.Status{inspect.StatusPending}}, {App: "other"},
		{User: rows[0].UserID, Limit: 3}, {From: time.UnixMicro(rows[0].Timestamp), To: now}, {To: time.UnixMicro(rows[0].Timestamp)},
		{From: ended}, {From: ended, Status: []inspect.Status{inspect.StatusExecuted}},
	} {
		wq, gq := q, q
		for pages := 0; ; pages++ {
			if pages > len(stories) {
				t.Fatalf("%+v: the pages do not end", q)
			}
			w, err := want.Sessions(t.Context(), wq)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(inspect.Query{}, q); diff == "" && len(w.Sessions) != len(stories) {
				t.Errorf("%d sessions, want %d", len(w.Sessions), len(stories))
			}
			g, err := got.Sessions(t.Context(), gq)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			if diff := cmp.Diff(w.Sessions, g.Sessions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%+v, page %d (-rows +dataset):\n%s", q, pages, diff)
			}
			// A place is one in the list of its source.
			if wq.After, gq.After = w.Next, g.Next; w.Next == "" || g.Next == "" {
				break
			}
		}
		if wq.After != gq.After {
			t.Errorf("%+v: more pages of the one than of the other", q)
		}
	}
	if _, err := got.Sessions(t.Context(), inspect.Query{After: "§"}); err == nil {
		t.Error("a place that is none is taken")
	}

	for _, s := range stories {
		key := s.rows[0].Session()
		found, err := got.Find(t.Context(), record.Session{ID: key.ID})
		if err != nil || len(found) != 1 || found[0] != key {
			t.Errorf("Find(%s) = %v, %v", key.ID, found, err)
		}
		var seen [2]*inspect.Session
		for i, src := range []inspect.Source{want, got} {
			r, err := src.Record(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if seen[i], err = inspect.New(r, now); err != nil {
				t.Fatal(err)
			}
		}
		// JSON comes as BigQuery normalises it, with the run of a row in it.
		if diff := cmp.Diff(seen[0], seen[1], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(inspect.Row{}, "Content", "ContentParts", "Attributes", "LatencyMS"),
			cmpopts.IgnoreFields(inspect.Approval{}, "Args")); diff != "" {
			t.Errorf("%s (-rows +dataset):\n%s", key.ID, diff)
		}
	}
	// Many sessions together are what they are one by one, in the order in which they were asked for.
	var keys []record.Session
	var alone, together []inspect.Record
	for _, s := range slices.Backward(stories) {
		key := s.rows[0].Session()
		keys = append(keys, key, record.Session{App: key.App, User: "nobody", ID: key.ID}, record.Session{App: key.App, User: key.User, ID: "none"})
		r, err := got.Record(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, r)
	}
	for r, err := range inspect.Records(t.Context(), got, keys) {
		if err != nil {
			t.Fatal(err)
		}
		together = append(together, r)
	}
	graph := cmp.Transformer("graph", func(s *graphsync.Session) []any {
		g := s.Graph()
		return []any{g.Nodes(), g.Edges(), g.Entities(), s.Counts()}
	})
	if diff := cmp.Diff(alone, together, graph); diff != "" || len(together) != len(stories) {
		t.Errorf("%d records (-alone +together):\n%s", len(together), diff)
	}
	for part, want := range map[string]int{"s-d": 2, "s-don": 1, "s…s": 2, "s-done": 1, "d": 0} {
		if found, err := got.Find(t.Context(), record.Session{ID: part}); err != nil || len(found) != want {
			t.Errorf("Find(%s) = %v, %v, want %d", part, found, err, want)
		}
	}
	if _, err := got.Record(t.Context(), record.Session{App: "shop", User: "u", ID: "none"}); !errors.Is(err, inspect.ErrNotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
	if found, err := got.Find(t.Context(), record.Session{}); err != nil || len(found) != 0 {
		t.Errorf("a session without an id: %v, %v", found, err)
	}
}
