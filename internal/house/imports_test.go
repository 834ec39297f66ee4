// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the table of imports into docs/internal/packages.md")

// The packages keep to the table.
func TestImports(t *testing.T) {
	m, err := load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range check(m, rules()) {
		t.Error(line)
	}
}

// What an example shows, its reader can do: it imports no internal package but its own.
func TestExamplesImportPublicPackages(t *testing.T) {
	examples := 0
	for _, r := range rules() {
		if !under(r.pkg, "examples") {
			continue
		}
		examples++
		for name := range strings.FieldsSeq(r.imports) {
			if strings.Contains("/"+name+"/", "/internal/") && !under(name, r.pkg) {
				t.Errorf("%s may import %s", r.pkg, name)
			}
		}
	}
	if examples == 0 {
		t.Error("the table has no examples")
	}
}

// The table in docs/internal/packages.md is the one that TestImports holds the packages against.
func TestImportsInDesign(t *testing.T) {
	const begin, end = "<!-- imports -->\n", "<!-- /imports -->\n"
	name := filepath.FromSlash("../../docs/internal/packages.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/internal/packages.md has no lines %q and %q for the table to stand between", begin, end)
	}
	want := markdown(rules())
	if *update {
		if err := os.WriteFile(name, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("write it with go test ./internal/house -update; -want +got:\n%s", diff)
	}
}

// markdown prints the table for people. Rows that say the same, one after another, are one.
func markdown(table []rule) string {
	labels := map[string]string{
		".":                            "the root package",
		"tests":                        "all; only tests import it",
		"modules":                      "other modules",
		"google.golang.org/adk":        "ADK",
		"cloud.google.com":             "Google Cloud",
		"cloud.google.com/go/bigquery": "BigQuery's client",
		"github.com/apache/arrow":      "Arrow",
		"zombiezen.com/go/sqlite":      "SQLite",
	}
	list := func(names string) string {
		words := strings.Fields(names)
		for i, name := range words {
			words[i] = "`" + name + "`"
			if labels[name] != "" {
				words[i] = labels[name]
			}
		}
		if len(words) == 0 {
			return "–"
		}
		return strings.Join(words, ", ")
	}
	cells := func(r rule) string {
		if r.tests {
			r.imports = "tests"
		}
		return fmt.Sprintf("%s | %s | %s |", list(r.imports), list(r.link), list(r.itself))
	}
	var b strings.Builder
	b.WriteString("\n| package | imports of ours | must not link | must not import itself |\n|---|---|---|---|\n")
	packages := ""
	for i, r := range table {
		packages += " " + r.pkg
		if i+1 == len(table) || cells(r) != cells(table[i+1]) {
			fmt.Fprintf(&b, "| %s | %s\n", list(packages), cells(r))
			packages = ""
		}
	}
	return b.String() + "\n"
}

func TestCheck(t *testing.T) {
	const remedy = ": turn the import around, or allow it in rules in internal/house/rules_test.go"
	paths := func(list string) []string { return strings.Fields(list) }
	files := []string{"toy.go"}
	// The command imports all others. The store brings a driver, the network comes with
	// the gate, and the kit is for tests.
	m := module{Path: "example.com/toy", packages: []pkg{
		{ImportPath: "example.com/toy", GoFiles: files, Imports: paths("example.com/toy/gate example.com/toy/store fmt"), Deps: paths("example.com/toy/gate example.com/toy/store example.org/driver fmt net/http")},
		{ImportPath: "example.com/toy/gate", GoFiles: files, Imports: paths("net/http"), Deps: paths("net/http vendor/golang.org/x/net")},
		{ImportPath: "example.com/toy/store", GoFiles: files, Imports: paths("example.org/driver"), Deps: paths("example.org/driver fmt")},
		{ImportPath: "example.com/toy/tests/kit", GoFiles: files, Imports: paths("example.com/toy")},
	}}
	kept := []rule{
		{pkg: ".", imports: "gate store", itself: "net/http example.org"},
		{pkg: "gate", link: "modules net net/http/cgi"},
		{pkg: "store", link: "example.org/drive"},
		{pkg: "tests/kit", tests: true},
	}
	with := func(r rule) []rule {
		table := []rule{r}
		for _, k := range kept {
			if k.pkg != r.pkg {
				table = append(table, k)
			}
		}
		return table
	}
	for name, test := range map[string]struct {
		table []rule
		want  []string
	}{
		"kept": {kept, nil},
		"no import": {with(rule{pkg: "."}), []string{
			". imports gate; it may import no package of the module" + remedy,
			". imports store; it may import no package of the module" + remedy,
		}},
		"another import": {with(rule{pkg: ".", imports: "gate"}), []string{". imports store; it may import gate" + remedy}},
		"an import that is gone": {with(rule{pkg: "store", imports: "gate"}), []string{
			"store may import gate and does not: take it out of rules in internal/house/rules_test.go",
		}},
		"no row": {kept[1:], []string{
			". has no row: add one to rules in internal/house/rules_test.go, with what it may import and what it must not",
		}},
		"no package": {append([]rule{{pkg: "cellar"}}, kept...), []string{
			"cellar has a row and no package: take the row out of rules in internal/house/rules_test.go",
		}},
		"of a test": {with(rule{pkg: "gate", tests: true}), []string{
			". imports gate, which is only for tests: move to a test what needs it",
		}},
		"links": {with(rule{pkg: ".", imports: "gate store", link: "net/http"}), []string{
			". links net/http, which its row forbids; it comes with gate",
		}},
		"links another module": {with(rule{pkg: ".", imports: "gate store", link: "modules"}), []string{
			". links example.org/driver, which its row forbids; it comes with store",
		}},
		"links through another module": {with(rule{pkg: "gate", link: "vendor/golang.org/x/net"}), []string{
			"gate links vendor/golang.org/x/net, which its row forbids; it comes with another module",
		}},
		"imports itself": {with(rule{pkg: "gate", itself: "net/http"}), []string{"gate imports net/http itself, which its row forbids"}},
		"imports itself what is below": {with(rule{pkg: "store", itself: "example.org"}), []string{
			"store imports example.org/driver itself, which its row forbids",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, check(m, test.table), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
