// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// TestStatementsAreCompiledOnce runs every statement with other and other values. SQLite compiles
// a statement anew, by itself and at each use, if a value might have led to another plan: that of a
// LIMIT does, and that of a condition that a partial index has with a literal. It asks the
// authorizer whenever it compiles.
func TestStatementsAreCompiledOnce(t *testing.T) {
	j := openJournal(t, nil)
	conn := connect(t, j.Path(), sqlite.OpenReadWrite)
	compiled := 0
	err := conn.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		compiled++
		return sqlite.AuthResultOK
	}))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("sql/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	var texts []string
	for _, file := range files {
		if file == filepath.Join("sql", "schema.sql") {
			continue // it was executed when the journal was made
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Split(string(text), "-- name: ")[1:]...)
	}
	for _, text := range texts {
		file, text, _ := strings.Cut(text, "\n")
		stmt, _, err := conn.PrepareTransient(strings.TrimSpace(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if compiled == 0 {
			t.Fatalf("%s: nobody heard of its compilation", file)
		}
		compiled = 0
		for value := range int64(3) {
			for n := range stmt.BindParamCount() {
				stmt.BindInt64(n+1, value)
			}
			for {
				// A constraint may refuse the values, which are none that a journal has.
				if more, err := stmt.Step(); err != nil || !more {
					break
				}
			}
			_ = stmt.Reset()
		}
		if compiled > 0 && stmt.BindParamCount() > 0 { // a pragma is another matter
			t.Errorf("%s is compiled at each use: write the value of LIMIT with a plus before it, LIMIT +?1", file)
		}
		if err := stmt.Finalize(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
