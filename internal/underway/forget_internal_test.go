// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package underway

import (
	"fmt"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// The register keeps nothing of runs that ended, and no call forgets many.
func TestRunsAreForgotten(t *testing.T) {
	var u Register
	now := time.Now()
	of := func(i int) record.Session { return record.Session{App: "a", User: "u", ID: fmt.Sprint(i % 100)} }
	const n = 1000
	for i := range n {
		u.Begin(of(i), fmt.Sprint(i))
		u.End(of(i), fmt.Sprint(i), now)
	}
	left := func() (count int) {
		for e := u.first; e != nil; e = e.next {
			count++
		}
		return count
	}
	if got := left(); got != n {
		t.Fatalf("%d runs that ended just now, want %d", got, n)
	}
	later := now.Add(Settles + 1)
	for before := n; before > 0; before = left() {
		if ids := u.Runs(of(0), later); len(ids) > 0 {
			t.Fatalf("runs %v count as under way", ids)
		}
		if got := left(); got != max(before-forgotten, 0) {
			t.Fatalf("one call forgets %d runs, want %d", before-got, forgotten)
		}
	}
	if len(u.sessions) > 0 || u.last != nil {
		t.Errorf("%d sessions are kept, the last run that ended is %+v", len(u.sessions), u.last)
	}
	u.Begin(of(1), "x")
	u.End(of(1), "x", later)
	if got := u.Runs(of(1), later); len(got) != 1 || u.first != u.last {
		t.Errorf("runs %v after all were forgotten, want the new one", got)
	}
}
