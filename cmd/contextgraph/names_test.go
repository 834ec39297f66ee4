// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// rowsBelow returns the cells of the rows of a table of docs/internal/names.md that begins with a heading.
func rowsBelow(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/internal/names.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "| "+heading+" |")
	if !ok {
		t.Fatalf("no table %q", heading)
	}
	for _, line := range strings.Split(rest, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// labels returns the words that the page has for codes of a kind, in small letters.
func labels(kind string) map[string]string {
	out := make(map[string]string)
	for code, w := range inspect.Words[kind] {
		if code != "" {
			out[code] = strings.ToLower(w.Name)
		}
	}
	return out
}

// unmarked is a cell without the mark before it.
func unmarked(c cell) string { _, w, _ := strings.Cut(c.text, " "); return w }

// A state has one name and one word: in the constants, the command, the page and the document.
func TestNames(t *testing.T) {
	words, states := make(map[string]string), make(map[string]string)
	var names []string
	for _, row := range rowsBelow(t, "name") {
		name := strings.Trim(row[0], "`")
		names, words[name] = append(names, name), row[1]
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			states[m[1]] = name
		}
	}
	var constants []string
	printed := make(map[string]string)
	for _, s := range inspect.Statuses() {
		constants, printed[string(s)] = append(constants, string(s)), unmarked(chip(s))
	}
	if d := cmp.Diff(names, constants); d != "" {
		t.Errorf("constants (-document +Go):\n%s", d)
	}
	if d := cmp.Diff(words, printed); d != "" {
		t.Errorf("the command (-document +printed):\n%s", d)
	}
	if d := cmp.Diff(words, labels("status")); d != "" {
		t.Errorf("the page (-document +page):\n%s", d)
	}
	for _, verdict := range []safety.Verdict{safety.Safe, safety.Drift, safety.CheckFailed} {
		if words[verdict.String()] == "" {
			t.Errorf("the verdict %s is no name", verdict)
		}
	}
	key := record.Session{App: "a", User: "u", ID: "s"}
	of := make(map[string]string)
	for _, state := range []safety.ApprovalState{safety.StatePending, safety.StateApproved, safety.StateRejected, safety.StateExpired, safety.StateBlocked,
		safety.StateSuperseded, safety.StatePermitted, safety.StateExecuting, safety.StateExecuted, safety.StateFailed} {
		a := safety.Approval{ID: "1", Session: key, State: state}
		if state == safety.StateApproved {
			a.Verdict = safety.Safe.String()
		}
		s, err := inspect.New(inspect.Record{Session: key, Approvals: []safety.Approval{a}}, a.UpdatedAt)
		if err != nil {
			t.Fatal(err)
		}
		of[string(state)] = string(s.Approvals[0].Status)
	}
	if d := cmp.Diff(states, of); d != "" {
		t.Errorf("states of the ledger (-document +inspect):\n%s", d)
	}
}

// An outcome has one word, too.
func TestNamesOfOutcomes(t *testing.T) {
	words, printed := make(map[string]string), make(map[string]string)
	for _, row := range rowsBelow(t, "outcome") {
		words[strings.Trim(row[0], "`")] = row[1]
	}
	for _, o := range []string{safety.EntityUnchanged, safety.EntityChanged, safety.EntityWarned, safety.EntityFailed, safety.EntitySkipped} {
		printed[o] = unmarked(outcomeCell(&inspect.Rested{Outcome: o}))
	}
	if d := cmp.Diff(words, printed); d != "" {
		t.Errorf("the command (-document +printed):\n%s", d)
	}
	if d := cmp.Diff(words, labels("outcome")); d != "" {
		t.Errorf("the page (-document +page):\n%s", d)
	}
}
