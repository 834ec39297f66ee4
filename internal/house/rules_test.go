// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rule is a row of the table of allowed imports. It speaks of the package outside its tests.
// The names of a list are separated by spaces. A forbidden path of another module stands for
// all paths below it, one of the standard library for itself, and "modules" for all packages of
// other modules.
type rule struct {
	pkg     string // below the module; "." is the root package
	imports string // the packages of the module that it imports; no others are allowed
	link    string // forbidden to the package and to all packages that it depends on
	itself  string // forbidden to the package, and allowed to the packages that it depends on
	tests   bool   // is only for tests and for other rows like this; imports what it likes
}

// rules returns the table. A row allows only imports that exist today. An import that is gone
// leaves the table too, so that its return is a decision.
func rules() []rule {
	const (
		adk     = "google.golang.org/adk"
		cloud   = "cloud.google.com"
		dataset = "cloud.google.com/go/bigquery github.com/apache/arrow"
		network = "net/http database/sql"
		outside = adk + " " + cloud + " " + network
		storage = "zombiezen.com/go/sqlite"
	)
	return []rule{
		// What knows nothing of us.
		{pkg: "entity", link: "modules " + network},
		{pkg: "record", link: "modules " + network},
		{pkg: "internal/jsonenc", imports: "internal/redact", link: "modules " + network},
		{pkg: "internal/text", link: "modules " + network},
		{pkg: "internal/text/paths", imports: "internal/text", link: outside + " " + storage},
		{pkg: "internal/redact", link: "modules " + network},
		{pkg: "internal/text/ratelog", link: "modules " + network},
		// The row contract.
		{pkg: "internal/schema", imports: "record", link: "modules " + network},
		{pkg: "internal/schema/contract", imports: "record", link: outside},
		{pkg: "internal/schema/wire", imports: "internal/schema record", link: outside},
		// The configuration.
		{pkg: "config", imports: "entity internal/text internal/text/paths", link: outside + " " + storage},

		// What decides.
		{pkg: "internal/text/paths", link: outside + " " + storage},
		{pkg: "graphsync", imports: "config entity internal/jsonenc internal/schema internal/text internal/text/paths record", link: outside + " " + storage},
		{pkg: "safety", imports: "config entity internal/jsonenc internal/text internal/text/paths record", link: outside + " " + storage},
		{pkg: "internal/source", imports: "config entity internal/text internal/text/paths safety", link: adk + " " + cloud + " " + storage},

		// What reads ADK, records it, and is the gate on top of that.
		{pkg: "internal/adkreflect", link: dataset + " " + storage, itself: cloud + " " + network},
		{
			pkg:     "plugin",
			imports: "config entity internal/adkreflect internal/jsonenc internal/redact internal/schema internal/text/ratelog record",
			link:    dataset + " " + storage, itself: cloud + " " + network,
		},
		{
			pkg:     "plugin/gate",
			imports: "config entity graphsync internal/adkreflect internal/jsonenc internal/schema internal/text internal/text/ratelog plugin record safety",
			link:    dataset + " " + storage, itself: cloud + " " + network,
		},

		// What keeps.
		{pkg: "internal/store", imports: "entity internal/schema record safety", link: outside + " " + storage},
		{pkg: "internal/queue", imports: "config internal/schema internal/store record", link: outside + " " + storage},
		{pkg: "internal/journal", imports: "config entity internal/queue internal/schema internal/store internal/text internal/text/ratelog record safety", link: outside},
		{pkg: "internal/offload", imports: "internal/text/ratelog", link: "modules " + network},
		{pkg: "internal/offload/gcs", imports: "internal/offload", link: adk + " " + dataset},

		// What people look at.
		{pkg: "internal/inspect", imports: "entity graphsync internal/schema internal/store record safety", link: outside + " " + storage},
		{pkg: "internal/rowfile", imports: "internal/text record", link: outside + " " + storage},
		{pkg: "page", imports: "config internal/inspect internal/journal internal/viewer", link: adk + " " + cloud + " database/sql"},
		{pkg: "internal/answer", imports: "internal/inspect record safety", link: adk + " " + cloud + " database/sql"},
		{pkg: "internal/viewer", imports: "config internal/answer internal/inspect internal/text internal/warehouse record", link: adk + " " + cloud + " database/sql"},

		// BigQuery.
		{
			pkg:     "internal/warehouse",
			imports: "config entity graphsync internal/schema internal/schema/contract internal/store internal/text record",
			link:    outside,
		},
		{pkg: "internal/replicate", imports: "internal/schema/wire internal/store internal/text internal/text/ratelog record", link: outside},
		{
			pkg:     "internal/bigquery",
			imports: "bqstream/ask config entity graphsync internal/inspect internal/replicate internal/schema internal/schema/wire internal/store internal/text internal/text/ratelog internal/warehouse record",
			link:    adk,
		},

		// What people call.
		{
			pkg:     "internal/setup",
			imports: "config entity graphsync internal/jsonenc internal/offload internal/offload/gcs internal/schema internal/source internal/store internal/text internal/warehouse plugin record safety",
			link:    dataset, itself: cloud + " " + storage,
		},
		{
			pkg:     ".",
			imports: "config entity graphsync internal/journal internal/offload internal/part internal/schema internal/setup internal/source internal/store internal/text/ratelog internal/warehouse plugin plugin/gate record safety",
			link:    dataset, itself: cloud + " " + storage,
		},
		{pkg: "internal/part", imports: "internal/store plugin record", link: dataset + " " + storage},
		{
			pkg:     "checkpoint",
			imports: ". config internal/part internal/store internal/text plugin record safety",
			link:    dataset, itself: cloud + " " + storage,
		},
		{pkg: "bqstream/ask", imports: "entity graphsync record", link: outside + " " + storage},
		{pkg: "bqstream", imports: ". bqstream/ask config entity internal/bigquery internal/source safety", itself: adk + " " + storage},
		{
			pkg:     "pgstore",
			imports: ". config entity internal/queue internal/schema internal/store internal/text internal/text/ratelog plugin record safety",
			link:    dataset, itself: adk + " " + cloud + " " + network + " " + storage,
		},
		// Optional, and for programs without the rest too.
		{pkg: "flow", link: dataset + " database/sql " + storage, itself: cloud + " net/http"},
		{pkg: "internal/propose", imports: "entity graphsync internal/text record", link: outside + " " + storage},
		{
			pkg:     "internal/doctor",
			imports: "config graphsync internal/bigquery internal/journal internal/setup internal/store internal/text safety",
			itself:  adk + " " + cloud + " database/sql " + storage,
		},
		{
			pkg:     "internal/verify",
			imports: "bqstream/ask config entity graphsync internal/bigquery internal/inspect internal/journal internal/replicate internal/rowfile internal/schema internal/store internal/warehouse record",
			itself:  adk + " " + cloud + " database/sql " + storage,
		},
		// Flows run through ADK, and ask nobody.
		{pkg: "internal/flowtest", imports: ". config entity internal/setup internal/store internal/text record safety", link: dataset, itself: cloud + " " + storage},
		{
			pkg:     "cmd/contextgraph",
			imports: "bqstream/ask config graphsync internal/answer internal/bigquery internal/doctor internal/flowtest internal/inspect internal/journal internal/propose internal/rowfile internal/setup internal/store internal/text internal/verify internal/viewer internal/warehouse record safety",
			itself:  adk + " " + cloud + " database/sql " + storage,
		},
		{pkg: "examples/agent", imports: ". record", link: dataset},
		{
			pkg:     "examples/adcp",
			imports: ". config entity examples/adcp/internal/adserver flow graphsync page record safety",
			link:    dataset,
		},
		{pkg: "examples/identity", link: "modules"},
		{pkg: "examples/adcp/internal/adserver", link: "modules database/sql"},

		// What only tests use.
		{pkg: "internal/cgtest", tests: true},
		{pkg: "internal/cgtest/rewindtest", tests: true},
		{pkg: "internal/cgtest/adktest", tests: true},
		{pkg: "internal/cgtest/rowtest", tests: true},
		{pkg: "internal/cgtest/testsize", tests: true},
		{pkg: "internal/viewer/viewertest", tests: true},
		{pkg: "internal/writefake", tests: true},
		{pkg: "internal/journal/journaltest", tests: true},
		{pkg: "internal/pgtest", tests: true},
		{pkg: "internal/store/storetest", tests: true},
	}
}

// check returns the breaches of the table, in the order of the packages. Packages that have only tests need no row.
func check(m module, table []rule) []string {
	broken := []string{}
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	met := map[string]bool{} // rows
	for _, p := range m.packages {
		if len(p.GoFiles) == 0 {
			continue // only tests
		}
		name := m.short(p.ImportPath)
		r, ok := find(table, name)
		if !ok {
			say("%s has no row: add one to rules in internal/house/rules_test.go, with what it may import and what it must not", name)
			continue
		}
		met[r.pkg] = true
		allowed, own := strings.Fields(r.imports), m.own(p.Imports)
		for _, target := range own {
			if to, _ := find(table, target); to.tests && !r.tests {
				say("%s imports %s, which is only for tests: move to a test what needs it", name, target)
			} else if !r.tests && !slices.Contains(allowed, target) {
				say("%s imports %s; it may import %s: turn the import around, or allow it in rules in internal/house/rules_test.go",
					name, target, cmp.Or(strings.Join(allowed, ", "), "no package of the module"))
			}
		}
		for _, target := range allowed {
			if !slices.Contains(own, target) {
				say("%s may import %s and does not: take it out of rules in internal/house/rules_test.go", name, target)
			}
		}
		for _, path := range m.forbidden(p.Imports, r.itself) {
			say("%s imports %s itself, which its row forbids", name, path)
		}
		for _, prefix := range strings.Fields(r.link) {
			if paths := m.forbidden(p.Deps, prefix); len(paths) > 0 {
				say("%s links %s, which its row forbids; it comes with %s", name, paths[0], m.importers(p, prefix))
			}
		}
	}
	for _, r := range table {
		if !met[r.pkg] {
			say("%s has a row and no package: take the row out of rules in internal/house/rules_test.go", r.pkg)
		}
	}
	return broken
}

// find returns the row of a package.
func find(table []rule, name string) (rule, bool) {
	i := slices.IndexFunc(table, func(r rule) bool { return r.pkg == name })
	if i < 0 {
		return rule{}, false
	}
	return table[i], true
}

// forbidden returns those of the paths that a list of forbidden ones stands for.
func (m module) forbidden(paths []string, list string) (found []string) {
	for _, path := range paths {
		for _, prefix := range strings.Fields(list) {
			domain, _, _ := strings.Cut(path, "/")
			other := strings.Contains(domain, ".") && !under(path, m.Path)
			if path == prefix || other && (prefix == "modules" || under(path, prefix)) {
				found = append(found, path)
			}
		}
	}
	return found
}

// importers says which packages of the module bring what is forbidden to p.
func (m module) importers(p pkg, prefix string) string {
	var names []string
	for _, dep := range m.packages {
		used := dep.ImportPath == p.ImportPath || slices.Contains(p.Deps, dep.ImportPath)
		if used && len(m.forbidden(dep.Imports, prefix)) > 0 {
			names = append(names, m.short(dep.ImportPath))
		}
	}
	return cmp.Or(strings.Join(names, ", "), "another module")
}

// under says whether path is prefix or below it.
func under(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
