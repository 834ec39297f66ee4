// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testNames returns the names of all tests and fuzz targets of both modules, with the
// file that one of each name is in. A flow has the name of its file below tests/flows.
func testNames(t *testing.T) map[string]string {
	t.Helper()
	names := make(map[string]string)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if flow, ok := strings.CutPrefix(filepath.ToSlash(path), "tests/flows/"); ok {
			if flow, ok := strings.CutSuffix(flow, ".yaml"); ok {
				names[flow] = path
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && testName.MatchString(fn.Name.Name) && fn.Name.Name != "TestMain" {
				names[fn.Name.Name] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var (
	testName   = regexp.MustCompile(`^(Test|Fuzz)[A-Z0-9]\w*$`)
	tableCell  = regexp.MustCompile(` *\| *`)
	tableRule  = regexp.MustCompile(`^\|(-+\|)+$`)
	namesOfRow = regexp.MustCompile("^`[^`]+`(, `[^`]+`)*$")
)

// tables returns the rows of the tables of a document by the lines they are in, and
// reports tables without a last column of tests.
func tables(t *testing.T, file string) map[int][]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	rows := make(map[int][]string)
	columns := 0
	for i, line := range lines {
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
			continue
		case columns == 0:
			head := cells(line)
			columns = len(head)
			if head[len(head)-1] != "test" || i+1 == len(lines) || !tableRule.MatchString(lines[i+1]) || len(cells(lines[i+1])) != columns {
				t.Errorf("%s:%d: a table whose last column is not test", file, i+1)
			}
		case !tableRule.MatchString(line):
			row := cells(line)
			if len(row) != columns {
				t.Errorf("%s:%d: %d columns, want %d", file, i+1, len(row), columns)
			}
			rows[i+1] = row
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no tables", file)
	}
	return rows
}

func cells(line string) []string {
	return tableCell.Split(strings.Trim(strings.TrimSpace(line), "| "), -1)
}

// checkTests reports a row that names no test, or one that does not exist.
func checkTests(t *testing.T, file string, line int, row []string, names map[string]string) {
	t.Helper()
	last := row[len(row)-1]
	if !namesOfRow.MatchString(last) {
		t.Errorf("%s:%d: %q: no test is named that shows it", file, line, row[0])
		return
	}
	seen := make(map[string]bool)
	for name := range strings.SplitSeq(strings.ReplaceAll(last, "`", ""), ", ") {
		if names[name] == "" {
			t.Errorf("%s:%d: there is no test %s", file, line, name)
		}
		if seen[name] {
			t.Errorf("%s:%d: %s is named twice", file, line, name)
		}
		seen[name] = true
	}
}

// TestFailureTableIsTested holds docs/failure-table.md against the tests: every row names
// those that show it.
func TestFailureTableIsTested(t *testing.T) {
	const file = "docs/failure-table.md"
	names := testNames(t)
	for line, row := range tables(t, file) {
		checkTests(t, file, line, row, names)
	}
}

// TestHolesAreClosed holds docs/holes.md against the tests: each hole is there once, with
// tests, and every test that is named after a hole is in its row.
func TestHolesAreClosed(t *testing.T) {
	const file = "docs/holes.md"
	const holes = 67
	names := testNames(t)
	rows := make(map[int]string)
	for line, row := range tables(t, file) {
		checkTests(t, file, line, row, names)
		n, err := strconv.Atoi(row[0])
		if err != nil || n < 1 || n > holes || rows[n] != "" {
			t.Errorf("%s:%d: %q is no number of a hole, or there twice", file, line, row[0])
		}
		rows[n] = row[len(row)-1]
	}
	for n := 1; n <= holes; n++ {
		if rows[n] == "" {
			t.Errorf("hole %d is not in %s", n, file)
		}
	}
	ofHole := regexp.MustCompile(`^TestW([0-9]{2})`)
	for name, path := range names {
		m := ofHole.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || !strings.Contains(rows[n], "`"+name+"`") {
			t.Errorf("%s of %s is not in the row of hole %d", name, path, n)
		}
	}
}
