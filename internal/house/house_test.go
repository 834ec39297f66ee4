// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The package gate has the pairs alarm → gate, gate → lock, lock → gate, make → gate and
// make → lock: in the alphabetical order lock → gate, make → gate and make → lock run upwards,
// and in the best one only one of the two between gate and lock.
func TestHouse(t *testing.T) {
	t.Chdir("testdata/toy")
	table := []rule{{pkg: "gate"}, {pkg: "street"}}
	gate := measure{
		Package: "gate", Files: 4, Lines: 54, Exported: 3, Methods: 2, Largest: "Gate", LargestMethods: 2,
		Pairs: 5, Up: 1, Alphabetical: 3, Cycle: 2,
	}
	street := measure{Package: "street", Files: 1, Lines: 10, Exported: 1, Cycle: 1}
	against := []string{
		"street imports gate; it may import no package of the module: turn the import around, or allow it in rules in internal/house/imports.go",
	}
	ordered, unused := gate, gate
	ordered.Order = []string{"alarm.go", "make.go", "gate.go", "lock.go"}
	ordered.UpPairs = []string{"lock.go uses gate.go"}
	unused.Unused = []string{"Gate", "Gate.Ring"}
	for name, test := range map[string]struct {
		options options
		want    report
	}{
		"all packages": {options{}, report{Packages: []measure{gate, street}, Imports: 1, Against: against}},
		"one package":  {options{patterns: []string{"./gate"}}, report{Packages: []measure{gate}, Imports: 1, Against: against}},
		"order":        {options{patterns: []string{"./gate"}, order: true}, report{Packages: []measure{ordered}, Imports: 1, Against: against}},
		"unused":       {options{patterns: []string{"./gate"}, unused: true}, report{Packages: []measure{unused}, Imports: 1, Against: against}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			test.options.json = true
			if err := house(t.Context(), test.options, table, &out); err != nil {
				t.Fatal(err)
			}
			var got report
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(measure{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHouseForPeople(t *testing.T) {
	t.Chdir("testdata/toy")
	table := []rule{{pkg: "gate"}, {pkg: "street", imports: "gate"}}
	var out bytes.Buffer
	if err := house(t.Context(), options{order: true, unused: true, patterns: []string{"./gate"}}, table, &out); err != nil {
		t.Fatal(err)
	}
	want := `package  files  lines  exported  methods  largest  pairs  up  a-z  cycle
gate     4      54     3         2        Gate 2   5      1   3    2

gate: files, users first
    alarm.go
    make.go
    gate.go
    lock.go

gate: pairs that run upwards
    lock.go uses gate.go

gate: exported, and named by no other package
    Gate
    Gate.Ring

2 packages in the module, 1 imports between them, 0 lines against the table
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestHouseOfNothing(t *testing.T) {
	t.Chdir("testdata/toy")
	err := house(t.Context(), options{patterns: []string{"./cellar"}}, nil, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "./cellar") || !strings.Contains(err.Error(), "run it inside the module") {
		t.Errorf("got %v, want an error that names ./cellar and what to do", err)
	}
}

func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		files, up, cycle int
		uses             [][2]int
	}{
		"alone":               {3, 0, 1, nil},
		"a chain":             {4, 0, 1, [][2]int{{3, 2}, {2, 1}, {1, 0}, {3, 0}}},
		"a ring":              {5, 1, 5, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}},
		"two rings":           {6, 2, 3, [][2]int{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {5, 0}}},
		"rings with a common": {5, 2, 5, [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}, {4, 2}}},
		"rings of a pair":     {4, 1, 4, [][2]int{{0, 1}, {1, 2}, {2, 0}, {1, 3}, {3, 0}}},
		"each uses each":      {4, 6, 4, [][2]int{{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 3}, {3, 0}, {3, 1}, {3, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGraph(test.files)
			for _, pair := range test.uses {
				g[pair[0]][pair[1]] = true
			}
			order, cycle := g.order()
			if up := len(g.upwards(order)); up != test.up || cycle != test.cycle {
				t.Errorf("%d pairs upwards in %v, cycle of %d; want %d, %d", up, order, cycle, test.up, test.cycle)
			}
		})
	}
}
