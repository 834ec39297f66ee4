// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestJournalOfTheDemo opens what the demo recorded before there was evidence, with the
// configuration in demo_v6.yaml: its sessions have their rows and their approvals, and none
// of their rows is extracted.
func TestJournalOfTheDemo(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "demo_v6.db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "j.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	for id, want := range map[string]struct {
		rows     int
		state    safety.ApprovalState
		verdict  string
		entities int
	}{
		"sess-pending":       {41, safety.StatePending, "", 7},
		"sess-elf-cosmetics": {54, safety.StateExecuted, "safe", 7},
		"sess-nike-summer":   {49, safety.StateBlocked, "drift", 5},
		"sess-tesla-q1":      {45, safety.StatePending, "check_failed", 3},
	} {
		t.Run(id, func(t *testing.T) {
			s := record.Session{App: "adcp", User: "buyer-agent", ID: id}
			rows, err := j.Events(t.Context(), s)
			if err != nil || len(rows) != want.rows {
				t.Fatalf("%d rows, %v, want %d", len(rows), err, want.rows)
			}
			list, err := j.Ledger().List(t.Context(), safety.Session(s))
			if err != nil || len(list) != 1 {
				t.Fatalf("%d approvals, %v, want one", len(list), err)
			}
			a := list[0]
			if a.State != want.state || a.Verdict != want.verdict || len(a.Entities) != want.entities {
				t.Errorf("the approval is %s, %q, with %d entities, want %+v", a.State, a.Verdict, len(a.Entities), want)
			}
			if a.Answer != "" || a.After != "" || a.DecisionNode == "" || a.Receipt.Watermark == 0 || len(a.Args) == 0 {
				t.Errorf("the approval differs from what was stored: %+v", a)
			}
			found, err := j.Ledger().Find(t.Context(), a.Session, a.ConfirmationID)
			if d := cmp.Diff(a, found); d != "" || err != nil {
				t.Errorf("%v, found by its confirmation it differs (-want +got):\n%s", err, d)
			}
			err = j.Evidence().View(t.Context(), s, func(r graphsync.EvidenceReader) error {
				p, err := r.Progress()
				if err != nil || !cmp.Equal(p, graphsync.Progress{}) {
					t.Errorf("progress %+v, %v, want none", p, err)
				}
				if last, err := r.LastRow(); err != nil || last != rows[len(rows)-1].Seq {
					t.Errorf("the last row is %d, %v, want %d", last, err, rows[len(rows)-1].Seq)
				}
				keys, err := r.Keys("", 1<<40, 10)
				if len(keys) != 0 {
					t.Errorf("keys %q, want none", keys)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
