// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// snapshot is the evidence of a session that nobody asks in.
type snapshot safety.Snapshot

func (s snapshot) Collect(context.Context, record.Session, record.Decision) (safety.Snapshot, error) {
	return safety.Snapshot(s), nil
}

// A check and a request name what was not chosen, and an alert says what to do.
func TestNotChosenIsPrinted(t *testing.T) {
	dear := func(e entity.Entity) []entity.Canonical { return entity.Canonicalize([]entity.Entity{e}) }
	seen := snapshot{
		Evidence: entity.Evidence{
			Entities: dear(entity.Entity{Type: "Product", Value: "Strava", Confidence: 1, Source: entity.SourceRule, EventID: "e", SeenAt: time.Now(),
				Attributes: map[string]entity.Value{"availability": entity.Bool(true)}}),
			NotChosen: entity.NotChosen{Total: 3, Entities: []entity.Alternative{{Type: "Product", Value: "Hulu"}, {Type: "Product", Value: "Vimeo"}}},
		},
		Receipt: record.Receipt{Watermark: 1, RowsRead: 1},
	}
	guard, err := safety.NewGuard(safety.GuardConfig{
		Ledger: new(store.Memory).Open().Ledger(), Evidence: seen,
		Checkers: map[string]safety.Checker{"Product": safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
			return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{"availability": entity.Bool(false)}}, nil
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
	for _, want := range []string{"not chosen Product Hulu, Product Vimeo, and 1 more, which do not count\n", "Replace Product Strava with one that is available"} {
		if !strings.Contains(tab.String(), want) {
			t.Errorf("the check does not print %q:\n%s", want, tab)
		}
	}

	tab = new(table)
	(&approvalCard{tab, &inspect.Approval{NotChosen: &inspect.NotChosen{Total: 3, Entities: []inspect.Alternative{
		{Type: "Product", Value: "Hulu", Seen: map[string]string{"price": "$9", "availability": "available"}}, {Type: "Product", Value: "Vimeo"},
	}}}}).write()
	for _, want := range []string{"Not chosen, and not checked\n", "· Product  Hulu   availability available, price $9\n", "· Product  Vimeo", "and 1 more\n"} {
		if !strings.Contains(tab.String(), want) {
			t.Errorf("the request does not print %q:\n%s", want, tab)
		}
	}
	long := strings.Repeat("x ", 150) + "remedy"
	tab = new(table)
	(&approvalCard{tab, &inspect.Approval{Checks: []inspect.Check{{
		Findings: safety.Findings([]safety.Alert{{Recommendation: long}}, []safety.Failure{{Reason: "error", Remedy: long}}),
	}}}}).write()
	if n := strings.Count(tab.String(), "remedy\n"); n != 2 {
		t.Errorf("%d of 2 remedies are printed:\n%s", n, tab)
	}
	tab = new(table)
	(&approvalCard{tab, &inspect.Approval{}}).write()
	if strings.Contains(tab.String(), "Not chosen") {
		t.Errorf("nothing was there to choose from:\n%s", tab)
	}
}
