// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// TestEvidenceIsReadByIndexes asks SQLite how it finds what each statement is for: by an
// index and by more than the session, where it is not for all of the session.
func TestEvidenceIsReadByIndexes(t *testing.T) {
	j := openJournal(t, nil)
	conn := connect(t, j.Path())
	for name, text := range journal.EvidenceSQL() {
		of := func(line string, texts ...string) bool {
			for _, s := range texts {
				if strings.Contains(line, s) {
					return true
				}
			}
			return false
		}
		for _, line := range plan(t, conn, text) {
			whole := strings.HasPrefix(name, "remove_") || of(line, "evidence_runs_open")
			switch {
			case strings.HasPrefix(line, "SEARCH"):
				if strings.HasSuffix(line, "(session=?)") && !whole {
					t.Errorf("%s reads all of a session: %s", name, line)
				}
			case of(line, "SCAN latest", "SUBQUERY", "CO-ROUTINE", "TEMP B-TREE FOR json_group_array"):
			default:
				t.Errorf("%s does more than search: %s", name, line)
			}
		}
	}
}

// plan returns the lines of the plan of a statement.
func plan(tb testing.TB, conn *sqlite.Conn, text string) (lines []string) {
	tb.Helper()
	stmt, _, err := conn.PrepareTransient("EXPLAIN QUERY PLAN " + text)
	if err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	defer stmt.Finalize()
	for {
		ok, err := stmt.Step()
		if err != nil {
			tb.Fatal(err)
		}
		if !ok {
			return lines
		}
		lines = append(lines, stmt.ColumnText(3))
	}
}

// long stores the evidence of a session in n rows. Each row has a sighting of one thing,
// the result of a call, a call of a model that read all results, and a run that ended.
func long(tb testing.TB, j *journal.Journal, n int64) {
	tb.Helper()
	const batch = 1000
	for from := int64(0); from < n; from += batch {
		a := step(from, min(from+batch, n))
		for row := from + 1; row <= a.To.Watermark; row++ {
			s := sighted("A", row, entity.SourceRule, "price", "reach")
			s.Result = row
			a.Sightings = append(a.Sightings, s)
			run, turn := fmt.Sprint("run-", row), fmt.Sprint("turn-", row)
			a.Results = append(a.Results, graphsync.Result{Number: row, Row: row, EventID: fmt.Sprint("e-", row), RunID: run, CallID: fmt.Sprint("c-", row), Digest: "d"})
			a.Calls = append(a.Calls, graphsync.ModelCall{
				EventID: fmt.Sprint("m-", row), Row: row, Names: []string{fmt.Sprint("r:", row)}, Read: []graphsync.Span{{First: 1, Last: row}},
			})
			a.Runs = append(a.Runs, graphsync.Run{ID: run, Turn: turn, Turns: []string{turn}, Started: testTime, Completed: true, Expected: 1, Stored: 1})
		}
		extracted(tb, j, a)
	}
	a := step(n, n+1)
	a.Sightings = []graphsync.Sighting{sighted("Z", n+1, entity.SourceRule)}
	a.Runs = []graphsync.Run{{ID: "open", Turn: "now", Turns: []string{"now"}, Started: testTime, Expected: 1, Stored: 1}}
	extracted(tb, j, a)
}

// TestEvidenceCostsTheSameHoweverLong counts the rows that SQLite visits for each look at a
// short session and at one with many sightings of one thing.
func TestEvidenceCostsTheSameHoweverLong(t *testing.T) {
	short, wide := int64(10), int64(testsize.Rounds(t, 1_000, 10_000))
	costs := make(map[int64]map[string]int)
	for _, n := range []int64{short, wide} {
		j := openJournal(t, nil)
		long(t, j, n)
		costs[n] = visits(t, connect(t, j.Path(), sqlite.OpenReadWrite), n)
	}
	if d := cmp.Diff(costs[short], costs[wide]); d != "" {
		t.Errorf("what a look visits differs (-short +long):\n%s", d)
	}
}

// visits returns how many rows of the first table of a statement SQLite visits: a condition
// that is always true counts them, which leaves the plan as it is.
func visits(t *testing.T, conn *sqlite.Conn, n int64) map[string]int {
	t.Helper()
	visited := 0
	err := conn.CreateFunction("visited", &sqlite.FunctionImpl{NArgs: 1, Scalar: func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) {
		visited++
		return sqlite.IntegerValue(1), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	key := sighted("A", 1, entity.SourceRule).Key
	out := make(map[string]int)
	for name, look := range map[string]struct {
		statement, column string
		args              []any
		found             int
	}{
		"the latest":            {"select_sightings", "n.seq", []any{1, key, "price", 1, n + 1, 0, 1}, 1},
		"the latest three":      {"select_sightings", "n.seq", []any{1, key, "price", 1, n + 1, 0, 3}, 3},
		"the latest to a row":   {"select_sightings", "n.seq", []any{1, key, "price", 1, n / 2, 0, 1}, 1},
		"those that are none":   {"select_sightings", "n.seq", []any{1, key, "price", 0, n + 1, 0, 1}, 0},
		"all keys":              {"select_keys", "name", []any{1, "", n + 1, 10}, 2},
		"one key":               {"select_keys", "name", []any{1, "", n + 1, 1}, 1},
		"attributes":            {"select_attributes", "name", []any{1, key}, 2},
		"results of a call":     {"select_results", "number", []any{1, fmt.Sprint("c-", n/2), "d"}, 1},
		"results of a run":      {"select_results_of_run", "number", []any{1, fmt.Sprint("run-", n/2), n}, 1},
		"the call of a model":   {"select_calls", "n.call", []any{1, fmt.Sprint("r:", n/2)}, 1},
		"runs that are open":    {"select_open_runs", "r.id", []any{1}, 1},
		"the runs of one turn":  {"select_runs_of_turn", "t.run", []any{1, fmt.Sprint("turn-", n/2)}, 1},
		"a rewritten result":    {"rewrite_result", "number", []any{1, fmt.Sprint("e-", n/2), "d"}, 0},
		"its sightings":         {"rewrite_sightings", "id", []any{1, n / 2}, 0},
		"a name of a call":      {"add_name", "seq", []any{1, "name", fmt.Sprint("m-", n/2)}, 0},
		"an attribute of a key": {"select_attribute", "first_seq", []any{1, key, "price"}, 1},
	} {
		text := journal.EvidenceSQL()[look.statement]
		alias := look.column[:strings.Index(look.column, ".")+1]
		counting := strings.Replace(text, "WHERE "+alias+"session = ?1", "WHERE visited("+look.column+") AND "+alias+"session = ?1", 1)
		if d := cmp.Diff(plan(t, conn, text), plan(t, conn, counting)); d != "" {
			t.Errorf("%s: to count changes the plan (-without +with):\n%s", name, d)
		}
		visited = 0
		found := 0
		err := sqlitex.ExecuteTransient(conn, counting, &sqlitex.ExecOptions{
			Args:       look.args,
			ResultFunc: func(*sqlite.Stmt) error { found++; return nil },
		})
		if err != nil || found != look.found && look.found > 0 {
			t.Errorf("%s: %d found, %v, want %d", name, found, err, look.found)
		}
		out[name] = visited
	}
	return out
}
