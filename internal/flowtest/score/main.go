// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Score runs the flows of tests/flows and counts both errors of the guard, by kind: go run
// ./internal/flowtest/score, at the root of the module.
//
// A wrong "safe" is an attack in which an effect ran, or a verdict is "safe", against the
// expectation. A needless "no" is an honest flow that did not end as expected. What docs/what-counts.md
// gives up by name counts by itself.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
)

func main() {
	if err := run(context.Background(), filepath.Join("tests", "flows"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// tally counts the flows of a kind.
type tally struct{ wrong, givenUp, all int }

func run(ctx context.Context, root string, out io.Writer) error {
	attacks, err := count(ctx, filepath.Join(root, "attacks"), (*flowtest.Flow).WrongSafe)
	if err != nil {
		return err
	}
	honest, err := count(ctx, filepath.Join(root, "honest"), func(f *flowtest.Flow, r *flowtest.Result) bool { return f.Faults(r) != nil })
	if err != nil {
		return err
	}
	safe, no := write(out, "attacks", "wrong safe", attacks), write(out, "honest", "needless no", honest)
	_, err = fmt.Fprintf(out, "wrong safe %d of %d, needless no %d of %d; given up %d and %d\n", safe.wrong, safe.all, no.wrong, no.all, safe.givenUp, no.givenUp)
	return err
}

// count runs the flows below a folder, four at once, and counts them by kind: the folder in which
// they stand.
func count(ctx context.Context, dir string, isWrong func(*flowtest.Flow, *flowtest.Result) bool) (map[string]tally, error) {
	paths, err := flowtest.Files(dir)
	if err != nil {
		return nil, err
	}
	var (
		mu     sync.Mutex
		first  error
		out    = make(map[string]tally)
		next   = make(chan int)
		worker sync.WaitGroup
	)
	for range 4 {
		worker.Go(func() {
			for i := range next {
				f, r, err := runFile(ctx, paths[i])
				mu.Lock()
				if err != nil && first == nil {
					first = err
				}
				if err == nil {
					kind := filepath.Base(filepath.Dir(paths[i]))
					t := out[kind]
					t.all++
					switch wrong := isWrong(f, r); {
					case wrong && f.GivenUp != "":
						t.givenUp++
					case wrong:
						t.wrong++
					}
					out[kind] = t
				}
				mu.Unlock()
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	worker.Wait()
	return out, first
}

func runFile(ctx context.Context, path string) (*flowtest.Flow, *flowtest.Result, error) {
	f, err := flowtest.Load(path, "")
	if err != nil {
		return nil, nil, err
	}
	r, err := f.Run(ctx, "")
	return f, r, err
}

// write prints the kinds and returns their sum.
func write(out io.Writer, what, wrong string, kinds map[string]tally) (sum tally) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "%s\t%s\tgiven up\tof\n", what, wrong)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t := kinds[kind]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", strings.ReplaceAll(kind, "_", " "), t.wrong, t.givenUp, t.all)
		sum.wrong += t.wrong
		sum.givenUp += t.givenUp
		sum.all += t.all
	}
	fmt.Fprintln(w)
	w.Flush()
	return sum
}
