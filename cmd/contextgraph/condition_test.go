// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// oneCluster is the record of a session that read one cluster.
type oneCluster struct{ seen entity.Entity }

func (o oneCluster) Collect(context.Context, record.Session, record.Decision) (safety.Snapshot, error) {
	e := entity.Canonicalize([]entity.Entity{o.seen})
	return safety.Snapshot{Evidence: entity.Evidence{Entities: e}, Receipt: record.Receipt{Watermark: 1, RowsRead: 1}}, nil
}

// TestConditionsShow holds both ends of a check with a condition against what the commands
// check and approvals print of them.
func TestConditionsShow(t *testing.T) {
	number := func(n int) entity.Value {
		v, err := entity.Number(n)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, test := range []struct {
		now         int
		check, card []string
	}{
		{63, []string{"Cluster  eu-west  free  64  → 63, 8 needed"}, []string{"64  → 63, 8 needed"}},
		{7, []string{"Cluster  eu-west  free  64  → 7, 8 needed", "free of Cluster eu-west: 64 → 7, 8 needed (-89.06%), severity 0.50"},
			[]string{"64  → 7, 8 needed", "≠ changed: free of Cluster eu-west: 64 → 7, 8 needed (-89.06%), severity 0.50"}},
	} {
		policy := config.Guard{Types: map[string]config.TypePolicy{"Cluster": {Drift: map[string]config.Drift{"free": {AtLeast: 8}}}}}
		guard, err := safety.NewGuard(safety.GuardConfig{
			Ledger: new(store.Memory).Open().Ledger(), Policy: policy,
			Evidence: oneCluster{entity.Entity{
				Type: "Cluster", Value: "eu-west", Source: entity.SourceRule, Confidence: 1, SeenAt: time.Now(), Attributes: map[string]entity.Value{"free": number(64)},
			}},
			Checkers: map[string]safety.Checker{"Cluster": safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
				return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{"free": number(test.now)}}, nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		report, err := guard.Check(t.Context(), record.Session{App: "a", User: "u", ID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		tab := new(table)
		checkedOf(t, report).table(tab)
		holds(t, tab.String(), test.check)

		r := report.Entities()[0]
		tab = new(table)
		(&approvalCard{tab, &inspect.Approval{
			Entities: []inspect.Rested{{
				Type: r.Type, Value: r.Value, Seen: map[string]string{"free": "64"}, Now: map[string]string{"free": r.Now["free"].String()},
				Conditions: r.Conditions, Outcome: r.Outcome,
			}},
			Checks: []inspect.Check{{Findings: report.Findings()}},
		}}).write()
		holds(t, tab.String(), test.card)
	}
}

// holds compares texts without counting the spaces between columns.
func holds(t *testing.T, text string, want []string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, w := range want {
		if !strings.Contains(flat, strings.Join(strings.Fields(w), " ")) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}
