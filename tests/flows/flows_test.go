// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package flows_test runs the flows in its folders: attacks, which must not be let through, and
// honest work, which must. attacks/changed/price.yaml explains the keys. go test in this folder
// prints at its end both errors of the guard, by kind.
package flows_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
)

var (
	tell   = flag.Bool("tell", false, "print what happens in each flow")
	sqlite = flag.Bool("sqlite", false, "run each flow over a journal, and not over a store in memory")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(scored{m}) }

// scored prints the score when all tests have run.
type scored struct{ *testing.M }

func (m scored) Run() int {
	code := m.M.Run()
	score.print()
	return code
}

// tally counts flows: a wrong "safe" is an attack in which an effect ran, or a verdict is "safe", against the
// expectation. A needless "no" is an honest flow that did not end as expected. What docs/what-counts.md gives up
// by name counts by itself.
type tally struct{ wrong, givenUp, all int }

// board has a tally for each folder of flows, and one for each of its kinds.
type board struct {
	mu    sync.Mutex
	kinds map[string]*tally
}

var score = board{kinds: make(map[string]*tally)}

func (b *board) add(path string, wrong, givenUp bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kind := filepath.ToSlash(filepath.Dir(path))
	side, _, _ := strings.Cut(kind, "/")
	for _, name := range []string{side, kind} {
		t := b.kinds[name]
		if t == nil {
			t = new(tally)
			b.kinds[name] = t
		}
		t.all++
		switch {
		case wrong && givenUp:
			t.givenUp++
		case wrong:
			t.wrong++
		}
	}
}

func (b *board) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	defer w.Flush()
	names := slices.Sorted(maps.Keys(b.kinds))
	slices.SortStableFunc(names, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") }) // sums last
	for _, kind := range names {
		t := b.kinds[kind]
		fmt.Fprintf(w, "%s\twrong %d\tgiven up %d\tof %d\n", kind, t.wrong, t.givenUp, t.all)
	}
}

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
	attack, wrong := strings.HasPrefix(path, "attacks"), false
	defer func() { score.add(path, wrong, f.GivenUp != "") }()
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
		safe := f.WrongSafe(r)
		wrong = wrong || attack && safe || !attack && f.Faults(r) != nil
		if want := f.WrongToday != nil && attack; safe != want {
			t.Errorf("%s: a wrong safe is %t, want %t", way, safe, want)
		}
	}
}
