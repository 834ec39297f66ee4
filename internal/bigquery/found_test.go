// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What models found is seen where the rows are read in the dataset. A journal gets it as rows, each
// once however often they are given, and is then read as the dataset is.
func TestWhatModelsFound(t *testing.T) {
	t.Parallel()
	rows := twoSteps("s1")
	api := &rowsAPI{t: t, events: rows}
	find := func(e *record.Event, value, attributes string) {
		api.found = append(api.found, []any{
			e.EventID, graphsync.RowNodeKey(e), e.SpanID, strconv.FormatInt(e.Timestamp, 10), "Place", value, attributes,
		})
	}
	find(&rows[0], "Oslo", `{"size":{"kind":"number","value":"7"}}`)
	find(&rows[0], "Rome", "null")
	find(&rows[2], "Oslo", "null")
	elsewhere := rows[0]
	elsewhere.EventID = "of no row"
	find(&elsewhere, "Paris", "null")
	d := api.dataset()
	source := d.Source(bigquery.SourceOptions{Now: func() time.Time { return graphStart.Add(time.Hour) }})
	look := func(s inspect.Source) (shown, found []string) {
		t.Helper()
		r, err := s.Record(t.Context(), named("s1"))
		if err != nil {
			t.Fatal(err)
		}
		g := r.Fold.Graph()
		for _, e := range g.Entities() {
			if e.Source == entity.SourceModel {
				found = append(found, e.EventID+" "+e.Value+" "+e.Attributes["size"].String())
			}
		}
		for _, e := range g.Trace().Timeline {
			shown = append(shown, e.EventID+" "+e.EventType)
		}
		return shown, found
	}
	want := []string{"s11 Oslo 7", "s11 Rome ", "s13 Oslo "}
	shown, found := look(source)
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("in the dataset (-want +got):\n%s", diff)
	}
	if len(shown) != 5 || shown[2] != "s13 "+record.ToolCompleted {
		t.Errorf("the rows %q, want three and after them what was found in each", shown)
	}

	j := newJournal(t, 0, 0)
	models, err := d.ModelEntitiesOf(t.Context(), []record.Session{named("s1")}, graphStart, graphStart.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	give := func(of record.Session) int {
		t.Helper()
		n, err := bigquery.StoreFound(t.Context(), j, of, models[named("s1")])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := give(named("s1")); n != 0 {
		t.Errorf("a journal without the rows got %d entities", n)
	}
	if err := store.Import(t.Context(), j, rows); err != nil {
		t.Fatal(err)
	}
	if n := give(named("s2")); n != 0 {
		t.Errorf("a session got %d entities of the rows of another", n)
	}
	for range 3 {
		if n := give(named("s1")); n != 3 {
			t.Errorf("the journal got %d entities, want 3", n)
		}
	}
	stored, found := look(inspect.NewJournal(j))
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("in the journal (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(shown, stored); diff != "" {
		t.Errorf("rows (-of the dataset +of the journal):\n%s", diff)
	}

	// The journal streams them.
	if api.events, err = store.Events(t.Context(), j, named("s1")); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(api.events, func(a, b record.Event) int { return int(a.Timestamp - b.Timestamp) })
	streamed, found := look(source)
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("in the dataset that has the rows (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(shown, streamed); diff != "" {
		t.Errorf("rows (-before +after the journal streamed them):\n%s", diff)
	}
}
