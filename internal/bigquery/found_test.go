// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A journal gets what models found in rows that it has, each once however often it is given.
func TestWhatModelsFound(t *testing.T) {
	t.Parallel()
	rows := twoSteps("s1")
	find := func(about record.Event, value string) record.Event {
		e := about
		e.EventID, e.EventType, e.Content, e.RunID, e.RunSeq, e.Seq = "found "+value, record.EntitiesFound, nil, "", 0, 99
		e.Attributes = fmt.Appendf(nil, `{"adk":{"app_name":"shop","of":%q},"entities":[{"type":"Place","value":%q,"confidence":0.5}]}`, about.EventID, value)
		return e
	}
	other, unknown := rows[0], rows[0]
	other.SessionID, unknown.EventID = "s2", "of no row"
	found := []record.Event{find(rows[0], "Oslo"), find(rows[2], "Rome"), find(other, "Bonn"), find(unknown, "Paris"), rows[0]}
	j := newJournal(t, 0, 0)
	give := func(want int) {
		t.Helper()
		if n, err := bigquery.StoreFound(t.Context(), j, found); err != nil || n != want {
			t.Errorf("the journal has %d of the rows, %v; want %d", n, err, want)
		}
	}
	give(0)
	if err := store.Import(t.Context(), j, rows); err != nil {
		t.Fatal(err)
	}
	give(2)
	give(2)
	folded, err := graphsync.NewSessions(j, nil).Fold(t.Context(), named("s1"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range folded.Graph().Entities() {
		if e.Type == "Place" {
			got = append(got, e.Value)
		}
	}
	if len(got) != 2 || got[0] != "Oslo" || got[1] != "Rome" {
		t.Errorf("the session has %q", got)
	}
}
