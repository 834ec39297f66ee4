// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	for _, tt := range []struct {
		golden string
		flags  []string
	}{{"redo.golden", []string{"--redo"}}, {"demo.golden", nil}, {"demo.golden", nil}} { // in one folder, again and again
		golden := filepath.Join("testdata", tt.golden)
		var out bytes.Buffer
		if err := run(t.Context(), append([]string{"--dir", dir}, tt.flags...), &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		got := strings.ReplaceAll(out.String(), filepath.Join(dir, journalName), "DIR/"+journalName)
		got = strings.ReplaceAll(got, filepath.Join(dir, pageName), "DIR/"+pageName)
		page, err := os.ReadFile(filepath.Join(dir, pageName))
		if err != nil {
			t.Fatal(err)
		}
		data := viewertest.Data(t, string(page))
		for _, s := range scenarios() { // it has every session, under the names that its list has
			if !bytes.Contains(data, []byte(`"id":"`+s.session+`"`)) {
				t.Errorf("the page does not have the session %s", s.session)
			}
		}
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("output (-want +got); run with -update if it is meant to change:\n%s", diff)
		}
	}
	// What the demo suggests to try next works, and shows one approval for each session of the last run.
	want := []string{
		"sess-elf-cosmetics provision_campaign executed safe",
		"sess-nike-summer provision_campaign blocked drift",
		"sess-tesla-q1 provision_campaign pending check_failed",
	}
	if diff := cmp.Diff(want, query(t, filepath.Join(dir, journalName), nextQuery)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", nextQuery, diff)
	}
}

// TestRunFlow: as a graph the demo comes to the same verdicts.
func TestRunFlow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--dir", dir, "--flow"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	want, err := os.ReadFile(filepath.Join("testdata", "demo.golden"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verdictBlocks(string(want)), verdictBlocks(out.String())); diff != "" {
		t.Errorf("verdicts (-agents +flow):\n%s", diff)
	}
	for _, said := range []string{"is live: GAM-2026-ELF-001, within $50,000", "A new plan needs a new approval.", "Send the brief again when the cause is gone."} {
		if !strings.Contains(out.String(), said) {
			t.Errorf("the output lacks %q:\n%s", said, out.String())
		}
	}
}

// verdictBlocks are the blocks of an output that begin with the word, with the entities above them.
func verdictBlocks(output string) (lines []string) {
	in := false
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, indent) {
			in = strings.HasPrefix(line, "  verdict") || strings.HasPrefix(line, "  entities")
		}
		if in {
			lines = append(lines, line)
		}
	}
	return lines
}

// query returns the rows a query gives, columns joined by spaces.
func query(t *testing.T, journal, sql string) []string {
	t.Helper()
	conn, err := sqlite.OpenConn(journal, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var rows []string
	if err := sqlitex.ExecuteTransient(conn, sql, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		var columns []string
		for i := range stmt.ColumnCount() {
			columns = append(columns, stmt.ColumnText(i))
		}
		rows = append(rows, strings.Join(columns, " "))
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestRunFlags(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--dri", "x"}, "flag provided but not defined: -dri"},
		{[]string{"--dir"}, "flag needs an argument: -dir"},
		{[]string{"--dir", ""}, "--dir is empty"},
		{[]string{"extra"}, `unexpected argument "extra"`},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			t.Chdir(t.TempDir())
			var out bytes.Buffer
			err := run(t.Context(), tc.args, &out)
			if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tc.want) || out.Len() != 0 {
				t.Errorf("err = %v, output %q; want a usage error with %q", err, out.String(), tc.want)
			}
			if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
				t.Errorf("a wrong command left %v, %v", left, err)
			}
		})
	}
}

func TestRunHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &out); err != nil || out.String() != usage {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestRunCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := run(ctx, []string{"--dir", t.TempDir()}, &out); err == nil || out.Len() != 0 {
		t.Errorf("err = %v, output %q; want an error and no output", err, out.String())
	}
}

// brokenWriter is a closed pipe.
type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestRunReportsOutputItCannotWrite(t *testing.T) {
	if err := run(t.Context(), []string{"--dir", t.TempDir()}, brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("err = %v, want the error of the writer", err)
	}
}
