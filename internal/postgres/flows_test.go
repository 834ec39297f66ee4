// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"flag"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

var every = flag.Int("every", 12, "run each n-th flow over a database")

// TestFlows runs flows over a database: an attack or honest work ends as over a journal. Each instance of a flow is another
// replica, behind a database that the one before has left.
func TestFlows(t *testing.T) {
	const dir = "../../tests/flows"
	paths, err := flowtest.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.Database(t)
	opened(t, url)
	for i, path := range paths {
		if i%*every != 0 {
			continue
		}
		t.Run(strings.TrimPrefix(path, dir), func(t *testing.T) {
			f, err := flowtest.Load(path, "")
			if err != nil {
				t.Fatal(err)
			}
			for way, f := range f.Ways() {
				pgtest.Exec(t, url, "TRUNCATE contextgraph.rows, contextgraph.sessions, contextgraph.approvals, contextgraph.steps, "+
					"contextgraph.child_sessions, contextgraph.lost_rows, contextgraph.rules")
				f.Store = func() (store.Store, error) { return open(t.Context(), of(url)) }
				r, err := f.Run(t.Context(), "")
				if err != nil {
					t.Fatal(way, err)
				}
				if faults := f.FaultsToday(r); faults != nil {
					t.Errorf("%s %s: %s\n\n%s", f.About, way, strings.Join(faults, "; "), f.Table(r))
				}
				if wrong := f.WrongToday != nil && strings.Contains(path, "/attacks/"); f.WrongSafe(r) != wrong {
					t.Errorf("%s: a wrong safe is %t, want %t", way, !wrong, wrong)
				}
			}
		})
	}
}
