// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// wantLosses compares what handles say of a session, in any order of the runs.
func wantLosses(t *testing.T, of record.Session, want []store.Loss, all ...store.Store) {
	t.Helper()
	for _, s := range all {
		got, err := s.Losses(t.Context(), of)
		slices.SortFunc(got, func(a, b store.Loss) int { return cmp.Compare(a.Run, b.Run) })
		wantSame(t, "losses of "+of.ID, err, want, got)
	}
}

// testLosses loses rows of several runs by both handles, and of one session rows of very many.
func testLosses(t *testing.T, a, b store.Store) {
	lose := func(s store.Store, of record.Session, run string) {
		t.Helper()
		e := row(of, "")
		if e.RunID = run; s.Append(e) {
			t.Fatal("a row without an id was taken")
		}
	}
	dropped := func(run string, n int64) store.Loss {
		return store.Loss{Run: run, Rows: n, Cause: store.CauseDropped}
	}
	lose(a, own, "r1")
	wantLosses(t, own, []store.Loss{dropped("r1", 1)}, a)
	lose(a, own, "r1")
	lose(b, own, "r1")
	lose(b, own, "r2")
	lose(b, own, "")
	flush(t, a)
	flush(t, b)
	want := []store.Loss{dropped("", 1), dropped("r1", 3), dropped("r2", 1)}
	wantLosses(t, own, want, a, b)
	wantSame(t, "for people", nil, []string{"5 rows were dropped before they could be stored"}, store.LossSentences(want))

	many := of("many")
	want = []store.Loss{dropped("", 10)}
	for n := range store.LossRuns + 10 {
		run := fmt.Sprintf("run-%03d", n)
		lose(a, many, run)
		flush(t, a)
		if n < store.LossRuns {
			want = append(want, dropped(run, 1))
		}
	}
	wantLosses(t, many, want, a, b)
	lose(b, many, "run-000")
	flush(t, b)
	want[1].Rows++
	wantLosses(t, many, want, a, b)

	// An import says nothing of rows that were lost before.
	if err := store.Import(t.Context(), a, []record.Event{row(own, "imported")}); err != nil {
		t.Errorf("Import: %v", err)
	}
}
