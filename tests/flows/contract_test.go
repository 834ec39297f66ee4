// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestRowsFitTheContract holds rows with costs, and with what was not chosen, against the contract.
func TestRowsFitTheContract(t *testing.T) {
	shapes, err := contract.LoadShapes()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"honest/budgets/cost_is_shown", "attacks/budgets/price_over_the_limit", "honest/alternatives/not_chosen_is_shown"} {
		f, err := flowtest.Load(name+".yaml", "")
		if err != nil {
			t.Fatal(err)
		}
		path := journaltest.Path(t)
		if _, err := f.Run(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.Events(t.Context(), j, record.Session{App: "flow", User: "ann", ID: "s1"})
		if err != nil || len(rows) == 0 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		for _, e := range rows {
			for _, fault := range shapes.Check(&e, contract.Ours) {
				t.Errorf("%s: %s: %s", name, e.EventType, fault)
			}
		}
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
