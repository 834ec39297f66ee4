// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package flows_test runs the flows in its folders: attacks, which must not be let through, and
// honest work, which must. attacks/changed/price.yaml explains the keys.
package flows_test

import (
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
)

var (
	tell   = flag.Bool("tell", false, "print what happens in each flow")
	sqlite = flag.Bool("sqlite", false, "run each flow over a journal, and not over a store in memory")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// atOnce is how many flows run at a time. Over journals they wait for the disk more than they compute, so
// it is more than t.Parallel allows.
const atOnce = 12

// TestFlows runs each flow: go test ./tests/flows -run TestFlows/attacks/changed/price -tell.
func TestFlows(t *testing.T) {
	paths, err := flowtest.Files(".")
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan string)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for path := range next {
				t.Run(strings.TrimSuffix(filepath.ToSlash(path), ".yaml"), func(t *testing.T) { play(t, path) })
			}
		})
	}
	for i, path := range paths {
		if !testsize.Race || i%8 == 0 { // the detector sees nothing more in more flows
			next <- path
		}
	}
	close(next)
	workers.Wait()
}

// play runs a flow in each of its ways.
func play(t *testing.T, path string) {
	f, err := flowtest.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for way, f := range f.Ways() {
		journal := ""
		if *sqlite {
			journal = journaltest.Path(t)
		}
		r, err := f.Run(t.Context(), journal)
		if err != nil {
			t.Fatal(way, err)
		}
		if faults := f.FaultsToday(r); faults != nil {
			t.Errorf("%s %s: %s\n\n%s", f.About, way, strings.Join(faults, "; "), f.Table(r))
		} else if *tell {
			t.Logf("%s %s\n\n%s", f.About, way, f.Table(r))
		}
		if wrong := f.WrongToday != nil && strings.HasPrefix(path, "attacks"); f.WrongSafe(r) != wrong {
			t.Errorf("%s: a wrong safe is %t, want %t", way, !wrong, wrong)
		}
	}
}
