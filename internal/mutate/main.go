// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Mutate changes a package in one small place at a time and runs its tests: a change that
// no test notices is a survivor, and stands for a test that is missing.
//
// It turns comparisons around and moves their bounds, exchanges && and ||, drops
// negations, negates conditions, and exchanges true and false, and 0 and 1 where they are
// compared. The files of the package are never touched: all changes are compiled at once
// into one test binary, through an overlay, and the environment of a process says which
// one is alive. What cannot be compiled with the others is compiled alone.
//
//	go run ./internal/mutate -pkg ./safety -tests ./internal/store
//
// The run fails for a survivor that is not in the list of accepted ones, and for one in
// the list that is killed or does not exist.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	pkg     string
	tests   string
	files   string
	verbose bool
}

func main() {
	var o options
	flag.StringVar(&o.pkg, "pkg", "./safety", "the package to change")
	flag.StringVar(&o.tests, "tests", "", "more `packages` whose tests are run, separated by commas")
	flag.StringVar(&o.files, "files", "", "`patterns` of the files to change, separated by commas; default all")
	flag.BoolVar(&o.verbose, "v", false, "print what becomes of each change")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := mutate(ctx, o, os.Stdout); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// mutate does what the options say and reports to w.
func mutate(ctx context.Context, o options, w io.Writer) error {
	start := time.Now()
	patterns := []string{o.pkg}
	if o.tests != "" {
		patterns = append(patterns, strings.Split(o.tests, ",")...)
	}
	var l workspace
	for _, pattern := range patterns {
		found, err := listPackages(ctx, pattern)
		if err != nil {
			return err
		}
		l.tests = append(l.tests, found...)
	}
	p := l.tests[0]
	l.dir, l.name = p.Dir, p.Name
	survivors := filepath.Join(p.Dir, "testdata", "survivors.txt")
	listed, err := readSurvivors(survivors)
	if err != nil {
		return err
	}
	mutants, err := l.load(p.GoFiles, o.files)
	if err != nil {
		return err
	}
	known := make(map[key]bool)
	for _, m := range mutants {
		known[m.key()] = true
	}
	if l.scratch, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer os.RemoveAll(l.scratch)
	may := make(map[key]accepted)
	for _, a := range listed {
		may[a.key()] = a
	}
	var counts [survived + 1]int
	var bad []error
	err = l.test(ctx, mutants, func(m *mutant, f fate) {
		counts[f]++
		if o.verbose {
			fmt.Fprintf(w, "%s: %v\n", f, m)
		}
		a, isListed := may[m.key()]
		switch {
		case f == survived && !isListed:
			bad = append(bad, fmt.Errorf("survived: %v", m))
		case f != survived && isListed:
			bad = append(bad, fmt.Errorf("%s:%d: not a survivor any more, take it from the list: %v", survivors, a.line, m))
		}
	})
	if err != nil {
		return err
	}
	for _, a := range listed {
		if !known[a.key()] && selected(o.files, a.file) {
			bad = append(bad, fmt.Errorf("%s:%d: no such change: %s: %s: %s", survivors, a.line, a.file, a.fn, a.mutation))
		}
	}
	fmt.Fprintf(w, "%d changes of %s: %d killed, %d did not end, %d do not compile, %d survived; %v\n",
		len(mutants), p.ImportPath, counts[killed], counts[hung], counts[unbuilt], counts[survived], time.Since(start).Round(time.Second))
	slices.SortFunc(bad, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(bad...)
}

// load finds the mutants of the files that are selected and numbers them.
func (l *workspace) load(names []string, patterns string) ([]*mutant, error) {
	var all []*mutant
	for _, name := range names {
		if !selected(patterns, name) {
			continue
		}
		s, err := load(filepath.Join(l.dir, name))
		if err != nil {
			return nil, err
		}
		l.sources = append(l.sources, s)
		var found []*mutant
		for _, list := range s.at {
			found = append(found, list...)
		}
		slices.SortFunc(found, func(a, b *mutant) int {
			if a.start != b.start {
				return a.start - b.start
			}
			if a.end != b.end {
				return b.end - a.end
			}
			return strings.Compare(a.to, b.to)
		})
		all = append(all, found...)
	}
	for i, m := range all {
		m.id = i + 1
	}
	return all, nil
}

func selected(patterns, name string) bool {
	return patterns == "" || slices.ContainsFunc(strings.Split(patterns, ","), func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}
