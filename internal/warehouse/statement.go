// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/template"
)

//go:embed sql/*.sql sql/parts/*.sql
var statements embed.FS

// sessionDays is how many days before the time asked about a session may have begun: a
// question reads the graphs of sessions since then.
const sessionDays = 30

// Statement returns the statement of the file sql/<name>.sql, or queries/<name>.sql, for these names. Where the
// text has {{events}}, {{unique}}, {{graph}}, {{table "session_graphs"}} or {{dataset}}, the
// statement has a quoted name, and for {{days}} the days on which the sessions may have begun
// that have steps from @from to @to; all values are query parameters. What several statements
// have in common stands in sql/parts. data is what the rest
// of the template needs, which may only be names that were checked and numbers; most
// need nil.
func (n Names) Statement(name string, data any) (string, error) {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		text, err = queries.ReadFile("queries/" + name + ".sql")
	}
	if err != nil {
		return "", fmt.Errorf("warehouse: no statement is called %q", name)
	}
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{
		"events":  func() string { return n.Quote(n.table) },
		"unique":  func() string { return n.Quote(n.UniqueEvents()) },
		"graph":   func() string { return n.Quote(n.graph) },
		"table":   n.Quote,
		"view":    func(suffix string) string { return n.Quote(n.View(suffix)) },
		"dataset": func() string { return "`" + n.project + "." + n.dataset + "`" },
		"schema": func(view string) string {
			return "`" + n.project + "." + n.dataset + ".INFORMATION_SCHEMA." + view + "`"
		},
		"days": func() string {
			return fmt.Sprintf("DATE_SUB(DATE(@from), INTERVAL %d DAY) AND DATE(@to)", sessionDays)
		},
	}).ParseFS(statements, "sql/parts/*.sql")
	if err == nil {
		t, err = t.Parse(string(text))
	}
	if err != nil {
		return "", fmt.Errorf("warehouse: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("warehouse: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// StatementNames returns the names that [Names.Statement] takes, sorted.
func StatementNames() []string {
	names := append(namesIn(statements, "sql"), namesIn(queries, "queries")...)
	slices.Sort(names)
	return names
}

// namesIn returns the names of the statements in a folder, sorted.
func namesIn(files embed.FS, folder string) []string {
	found, err := fs.Glob(files, folder+"/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range found {
		found[i] = strings.TrimSuffix(strings.TrimPrefix(f, folder+"/"), ".sql")
	}
	return found
}
