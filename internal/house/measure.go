// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// measure is what is counted of a package.
type measure struct {
	Package        string   `json:"package"`
	Files          int      `json:"files"`
	Lines          int      `json:"lines"`
	Exported       int      `json:"exported"`
	Methods        int      `json:"methods"`
	Largest        string   `json:"largest"`
	LargestMethods int      `json:"largestMethods"`
	Pairs          int      `json:"pairs"`
	Up             int      `json:"up"`
	Alphabetical   int      `json:"alphabetical"`
	Cycle          int      `json:"cycle"`
	Order          []string `json:"order,omitempty"`
	UpPairs        []string `json:"upPairs,omitempty"`
	Unused         []string `json:"unused,omitempty"`

	dir   string
	types *types.Package
}

// measured counts the package of the module. Export has the compiled file of each package
// that it imports.
func measured(p pkg, m module, export map[string]string) (measure, error) {
	got := measure{Package: m.short(p.ImportPath), Files: len(p.GoFiles), dir: p.Dir}
	fset := token.NewFileSet()
	names := slices.Sorted(slices.Values(p.GoFiles))
	number := map[string]int{} // of a file, by its path
	var files []*ast.File
	for i, name := range names {
		name = filepath.Join(p.Dir, name)
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return got, err
		}
		got.Lines += fset.File(f.FileStart).LineCount()
		number[name], files = i, append(files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(export[cmp.Or(p.ImportMap[path], path)])
	})}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	var err error
	if got.types, err = conf.Check(p.ImportPath, fset, files, info); err != nil {
		return got, err
	}
	got.count()

	at := func(pos token.Pos) int { return number[fset.Position(pos).Filename] }
	g := newGraph(len(files))
	for id, obj := range info.Uses {
		// All that another file can name is a name of the package, a method or a field.
		if obj.Pkg() == got.types && at(id.Pos()) != at(obj.Pos()) {
			g[at(id.Pos())][at(obj.Pos())] = true
		}
	}
	alphabetical := g.files()
	got.Alphabetical = len(g.upwards(alphabetical))
	slices.Reverse(alphabetical)
	got.Pairs = got.Alphabetical + len(g.upwards(alphabetical))
	order, cycle := g.order()
	up := g.upwards(order)
	got.Up, got.Cycle = len(up), cycle
	for _, i := range order {
		got.Order = append(got.Order, names[i])
	}
	for _, pair := range up {
		got.UpPairs = append(got.UpPairs, names[pair[0]]+" uses "+names[pair[1]])
	}
	return got, nil
}

// count counts the exported names and the methods.
func (got *measure) count() {
	for _, name := range got.types.Scope().Names() {
		if token.IsExported(name) {
			got.Exported++
		}
		methods, exported := methodsOf(got.types.Scope().Lookup(name))
		got.Methods += len(exported)
		if methods > got.LargestMethods {
			got.Largest, got.LargestMethods = name, methods
		}
	}
}

// methodsOf returns how many methods a type declares, and those that are exported. It
// returns none for other objects, and for aliases.
func methodsOf(obj types.Object) (n int, exported []string) {
	tn, ok := obj.(*types.TypeName)
	if !ok || tn.IsAlias() {
		return 0, nil
	}
	named := tn.Type().(*types.Named)
	for method := range named.Methods() {
		if method.Exported() && tn.Exported() {
			exported = append(exported, method.Name())
		}
	}
	return named.NumMethods(), exported
}

// graph says which of n files uses which.
type graph [][]bool

func newGraph(n int) graph {
	g := make(graph, n)
	for i := range g {
		g[i] = make([]bool, n)
	}
	return g
}

// files returns the numbers of the files.
func (g graph) files() []int {
	all := make([]int, len(g))
	for i := range all {
		all[i] = i
	}
	return all
}

// upwards returns the pairs in which a file uses one that stands before it in the order.
func (g graph) upwards(order []int) (pairs [][2]int) {
	for i, user := range order {
		for _, used := range order[:i] {
			if g[user][used] {
				pairs = append(pairs, [2]int{user, used})
			}
		}
	}
	return pairs
}

// order searches for an order of the files in which few pairs run upwards, and returns it with
// the size of the largest cycle.
func (g graph) order() (best []int, cycle int) {
	// A file reaches what it uses, directly or through others, and itself.
	reach := newGraph(len(g))
	for i := range g {
		copy(reach[i], g[i])
		reach[i][i] = true
	}
	for k := range g {
		for i := range g {
			for j := range g {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	reached := make([]int, len(g)) // how many a file reaches; users reach more than the used
	for i := range g {
		mutual := 0
		for j := range g {
			if reach[i][j] {
				reached[i]++
			}
			if reach[i][j] && reach[j][i] {
				mutual++
			}
		}
		cycle = max(cycle, mutual)
	}
	best = g.files()
	slices.SortStableFunc(best, func(a, b int) int { return reached[b] - reached[a] })
	// Move each file to its best place until none moves; then again, with some files of the
	// best order exchanged. The random numbers are the same in each run.
	random := rand.New(rand.NewPCG(1, 1))
	for try := range 300 {
		order := slices.Clone(best)
		for range min(try, 6) {
			i, j := random.IntN(len(order)), random.IntN(len(order))
			order[i], order[j] = order[j], order[i]
		}
		for g.settle(order) {
		}
		if len(g.upwards(order)) < len(g.upwards(best)) {
			best = order
		}
	}
	return best, cycle
}

// settle moves each file to the best place for it, and says whether one moved.
func (g graph) settle(order []int) (moved bool) {
	for _, file := range slices.Clone(order) {
		at := slices.Index(order, file)
		place, gain := at, 0
		for _, step := range []int{-1, 1} {
			sum := 0
			for i := at + step; i >= 0 && i < len(order); i += step {
				// What file uses shall stand below it, what uses file above.
				if g[file][order[i]] {
					sum -= step
				}
				if g[order[i]][file] {
					sum += step
				}
				if sum > gain {
					place, gain = i, sum
				}
			}
		}
		if gain > 0 {
			order = slices.Insert(slices.Delete(order, at, at+1), place, file)
			moved = true
		}
	}
	return moved
}
