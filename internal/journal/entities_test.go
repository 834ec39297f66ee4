// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// toolRows are a span "tool" with two products, A and B, in row 3.
func toolRows() []record.Event {
	return []record.Event{
		spanRow(1, record.UserMessageReceived, "root", "", `{"text_summary":"buy"}`),
		spanRow(2, record.ToolStarting, "tool", "root", `{"tool":"query","args":{}}`),
		spanRow(3, record.ToolCompleted, "tool", "root", `{"tool":"query","result":{"items":[{"name":"B"},{"name":"A"}]}}`),
	}
}

var productRule = config.Extract{Name: "p", Tool: "query", Each: "$.items[*]", Type: "Product", Value: "$.name"}

// modelEntities are products that a model found in row 3 of toolRows.
func modelEntities(values ...string) []entity.Entity {
	row := toolRows()[2]
	var es []entity.Entity
	for _, v := range values {
		e := found("Product", v, "tool", row.EventID, entity.SourceModel)
		e.SeenAt = time.UnixMicro(row.Timestamp).UTC()
		es = append(es, e)
	}
	return es
}

func addEntities(tb testing.TB, j *journal.Journal, es ...entity.Entity) {
	tb.Helper()
	if err := j.AddEntities(tb.Context(), testSession, es); err != nil {
		tb.Fatal(err)
	}
}

// sourceOf returns the sources of the entities, by value.
func sourceOf(es []entity.Entity) map[string]entity.Source {
	out := make(map[string]entity.Source)
	for _, e := range es {
		out[e.Value] = e.Source
	}
	return out
}

func wantSources(tb testing.TB, what string, got []entity.Entity, want map[string]entity.Source) {
	tb.Helper()
	if d := cmp.Diff(want, sourceOf(got)); d != "" || len(got) != len(want) {
		tb.Errorf("%s: %d entities differ (-want +got):\n%s", what, len(got), d)
	}
}

// TestAddEntities adds what a model found before and after the spans are published.
func TestAddEntities(t *testing.T) {
	const rule, model = entity.SourceRule, entity.SourceModel
	j := openJournal(t, nil)
	appendAll(t, j, toolRows()...)
	// The row is stored before, though nobody waited for it.
	addEntities(t, j, modelEntities("A", "M")...)
	stored, err := j.Entities(t.Context(), testSession)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(modelEntities("A", "M"), stored, cmp.Comparer(func(a, b entity.Value) bool { return a.String() == b.String() })); d != "" {
		t.Errorf("before the span is published the entities differ (-want +got):\n%s", d)
	}
	g := syncWith(t, j, productRule)
	wantSources(t, "in the graph", g.Entities(), map[string]entity.Source{"A": rule, "B": rule, "M": model})
	if stored, err = j.Entities(t.Context(), testSession); err != nil {
		t.Fatal(err)
	}
	wantSources(t, "after the publication", stored, map[string]entity.Source{"A": rule, "B": rule, "M": model})

	// An exact one is not replaced, one of a model is.
	again := modelEntities("A", "M", "N")
	for i := range again {
		again[i].Confidence = 0.9
	}
	conn := connect(t, j.Path())
	var version int64
	for n := range 2 {
		addEntities(t, j, again...)
		before := version
		if version = selectInt(t, conn, "PRAGMA data_version"); n > 0 && version != before {
			t.Error("what is stored already was written again")
		}
		if stored, err = j.Entities(t.Context(), testSession); err != nil {
			t.Fatal(err)
		}
		wantSources(t, "added again", stored, map[string]entity.Source{"A": rule, "B": rule, "M": model, "N": model})
		for _, e := range stored {
			if want := map[bool]float64{true: 0.9, false: 1}[e.Source == model]; e.Confidence != want {
				t.Errorf("%s of source %s has the confidence %v, want %v", e.Value, e.Source, e.Confidence, want)
			}
		}
	}
	if n := selectInt(t, conn, "SELECT count(*) FROM context_cross_links WHERE link_type = 'EVALUATED' AND tech_node_key = '"+again[0].TechNode+"'"); n != 4 {
		t.Errorf("%d links, want 4", n)
	}
	if n := selectInt(t, conn, "SELECT count(*) FROM extracted_biz_nodes WHERE trace_id = 't'"); n != 4 {
		t.Errorf("%d entities know their trace, want 4", n)
	}
	if n := selectInt(t, conn, "SELECT count(DISTINCT created_at) FROM extracted_biz_nodes WHERE source = 'model'"); n != 2 {
		t.Errorf("the times of the first sighting are %d, want 2", n)
	}

	// They survive a publication that knows nothing of them, and come in the graph of it.
	none := productRule
	none.Each = "$.nothing"
	for range 2 {
		g = syncWith(t, j, none)
		wantSources(t, "under other rules", g.Entities(), map[string]entity.Source{"M": model, "N": model})
	}
	wellFormed(t, j)
}

// TestAddEntitiesNotRecorded: what no graph would show is left out.
func TestAddEntitiesNotRecorded(t *testing.T) {
	j := openJournal(t, nil)
	none := func(what string) {
		t.Helper()
		if got, err := j.Entities(t.Context(), testSession); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v, want none", what, got, err)
		}
	}
	addEntities(t, j, modelEntities("A")...)
	none("without its row")
	rows := toolRows()
	for i := range rows {
		rows[i].Timestamp = sweepTime.Add(-2 * day).UnixMicro()
	}
	appendAll(t, j, rows...)
	flush(t, j)
	if err := j.AddEntities(t.Context(), named("another"), modelEntities("A")); err != nil {
		t.Fatal(err)
	}
	none("for another session")
	addEntities(t, j, modelEntities("A")...)
	sweep(t, j, config.Retention{MaxAge: day})
	none("after retention")
	addEntities(t, j, modelEntities("A")...)
	none("of a row that retention removed")
	addEntities(t, j)
}

func TestAddEntitiesErrors(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, toolRows()...)
	for want, change := range map[string]func(*entity.Entity){
		`the source "rule"`: func(e *entity.Entity) { e.Source = entity.SourceRule },
		`the source ""`:     func(e *entity.Entity) { e.Source = "" },
		`names span ""`:     func(e *entity.Entity) { e.TechNode = "" },
		`and row ""`:        func(e *entity.Entity) { e.EventID = "" },
		"confidence 2":      func(e *entity.Entity) { e.Confidence = 2 },
	} {
		es := modelEntities("A", "B")
		change(&es[1])
		if err := j.AddEntities(t.Context(), testSession, es); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), testSession.ID) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, table := range []string{"extracted_biz_nodes", "context_cross_links"} {
		alter(t, j, "CREATE TRIGGER broken BEFORE INSERT ON "+table+" WHEN NEW.biz_node_id LIKE '%:B' BEGIN SELECT raise(ABORT, 'broken'); END")
		err := j.AddEntities(t.Context(), testSession, modelEntities("A", "B"))
		if err == nil || !strings.Contains(err.Error(), "broken") || sqlite.ErrCode(err).ToPrimary() != sqlite.ResultConstraint {
			t.Errorf("%s: %v", table, err)
		}
		alter(t, j, "DROP TRIGGER broken")
	}
	if got, err := j.Entities(t.Context(), testSession); err != nil || len(got) != 0 {
		t.Errorf("%v, %v: half of it is stored", got, err)
	}
	closeJournal(t, j)
	if err := j.AddEntities(t.Context(), testSession, modelEntities("A")); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
