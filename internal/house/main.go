// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// House measures the packages of the module, so that numbers show how a change leaves their
// shape, and holds the table of the imports that each package is allowed.
//
//	go run ./internal/house -order ./plugin
//
// Its flag -h says what it counts. Its tests hold the packages against the table.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
)

// options are the flags and the packages of the command line.
type options struct {
	json, order, unused bool
	patterns            []string
}

const usage = `House measures the packages of the module, without their tests.

usage: go run ./internal/house [flags] [packages]

The default is all packages. Examples:

	go run ./internal/house -order ./plugin
	go run ./internal/house -json >before.json

Columns:
  exported  exported names of the package
  methods   exported methods of its exported types
  largest   the type with the most methods, and their number
  pairs     pairs of files of which the first uses a name, a method or a field of the second
  up        pairs that run upwards, in the order of the files with the fewest that was found
  a-z       pairs that run upwards in the alphabetical order
  cycle     files in the largest set that all use each other, directly or through others

A pair runs upwards if the file that uses stands below the file that is used.

Flags:
`

func main() {
	var o options
	flag.BoolVar(&o.json, "json", false, "print JSON with one value a line, for diff")
	flag.BoolVar(&o.order, "order", false, "print the order of the files, users first, and the pairs that run upwards")
	flag.BoolVar(&o.unused, "unused", false, "print the exported names that no other package names, nor a test of another package")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	o.patterns = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := house(ctx, o, rules(), os.Stdout); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// report is the JSON that -json prints.
type report struct {
	Packages []measure `json:"packages"`
	Imports  int       `json:"imports"` // pairs of packages of the module
	Against  []string  `json:"against"` // what breaks a rule of the table
}

// house measures the packages that o names and prints a report of them.
func house(ctx context.Context, o options, table []rule, out io.Writer) error {
	all, err := load(ctx)
	if err != nil {
		return err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{all.Path + "/..."}
	}
	listed, err := list(ctx, append([]string{"-export", "-deps"}, o.patterns...)...)
	if err != nil {
		return err
	}
	export := map[string]string{}
	for _, p := range listed {
		export[p.ImportPath] = p.Export
	}
	r := report{Packages: []measure{}, Against: check(all, table)}
	for _, p := range listed {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		m, err := measured(p, all, export)
		if err != nil {
			return err
		}
		if !o.order {
			m.Order, m.UpPairs = nil, nil
		}
		r.Packages = append(r.Packages, m)
	}
	slices.SortFunc(r.Packages, func(a, b measure) int { return strings.Compare(a.Package, b.Package) })
	if o.unused {
		if err := unused(all, r.Packages); err != nil {
			return err
		}
	}
	packages := 0
	for _, p := range all.packages {
		if len(p.GoFiles) > 0 {
			packages++
		}
		r.Imports += len(all.own(p.Imports))
	}
	if !o.json {
		return r.print(out, packages)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// print prints the report for people; the module has that many packages.
func (r report) print(out io.Writer, packages int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tfiles\tlines\texported\tmethods\tlargest\tpairs\tup\ta-z\tcycle")
	for _, p := range r.Packages {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%d\n", p.Package, p.Files, p.Lines, p.Exported, p.Methods,
			strings.TrimSpace(fmt.Sprint(p.Largest, " ", p.LargestMethods)), p.Pairs, p.Up, p.Alphabetical, p.Cycle)
	}
	section := func(name, heading string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s: %s\n    %s\n", name, heading, strings.Join(lines, "\n    "))
		}
	}
	for _, p := range r.Packages {
		section(p.Package, "files, users first", p.Order)
		section(p.Package, "pairs that run upwards", p.UpPairs)
		section(p.Package, "exported, and named by no other package", p.Unused)
	}
	fmt.Fprintf(w, "\n%d packages in the module, %d imports between them, %d lines against the table\n", packages, r.Imports, len(r.Against))
	section("imports", "against the table", r.Against)
	return w.Flush()
}

// pkg is what go list says of a package.
type pkg struct {
	Dir, ImportPath, Export string
	DepOnly                 bool
	GoFiles, Imports, Deps  []string
	ImportMap               map[string]string
}

// module is a module and its packages.
type module struct {
	Path, Dir string
	packages  []pkg
}

// load lists the packages of the module that the working directory belongs to.
func load(ctx context.Context) (m module, err error) {
	if err := run(ctx, func(d *json.Decoder) error { return d.Decode(&m) }, "list", "-m", "-json=Path,Dir"); err != nil {
		return m, err
	}
	m.packages, err = list(ctx, m.Path+"/...")
	return m, err
}

// short returns the path of a package below the module; that of the root package is ".".
func (m module) short(path string) string {
	if path == m.Path {
		return "."
	}
	return strings.TrimPrefix(path, m.Path+"/")
}

// own returns those of the paths that are in the module, each below it.
func (m module) own(paths []string) (own []string) {
	for _, path := range paths {
		if under(path, m.Path) {
			own = append(own, m.short(path))
		}
	}
	return own
}

// list runs go list with more flags and patterns of packages.
func list(ctx context.Context, args ...string) (all []pkg, err error) {
	return all, run(ctx, func(d *json.Decoder) error {
		for {
			var p pkg
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			all = append(all, p)
		}
	}, append([]string{"list", "-json=Dir,ImportPath,Export,DepOnly,GoFiles,Imports,Deps,ImportMap"}, args...)...)
}

// run runs the go command and reads what it prints.
func run(ctx context.Context, read func(*json.Decoder) error, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = read(json.NewDecoder(bytes.NewReader(out)))
	}
	if err != nil {
		return fmt.Errorf("go %s: %w; run it inside the module, on packages that compile\n%s", strings.Join(args, " "), err, &stderr)
	}
	return nil
}
