// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/underway"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// evidence is the guard's source for decisions: the record behind a barrier, and the entities
// extracted from it.
type evidence struct {
	Program
	of       *graphsync.Sessions
	journal  store.Store
	expected []entity.Shown
}

// Program is the program in which agents run, as the evidence needs it.
type Program struct {
	// Underway knows the runs under way in this process, and the gaps that only it knows.
	Underway *underway.Register
	Now      func() time.Time
	// Notes gives remarks about the program for whoever approves. Nil gives none.
	Notes func() []string
	// Idle hears of the rules that found nothing, at each request. Nil hears nothing.
	Idle func(record.Session, []graphsync.Tally)
	// Give writes a row for each of the results that models were shown and no row has, in the run that ctx is
	// of. It returns those that it cannot write. Nil writes none.
	Give func(ctx context.Context, list []record.Shown) (without []record.Shown)
}

// NewEvidence returns the evidence of decisions from folded sessions of a journal.
func NewEvidence(of *graphsync.Sessions, j store.Store, p Program) safety.Evidence {
	return &evidence{Program: p, of: of, journal: j, expected: of.Extractor().Shows()}
}

// Collect implements [safety.Evidence].
func (ev *evidence) Collect(ctx context.Context, s record.Session, d record.Decision) (safety.Snapshot, error) {
	turns := underway.Of(ctx, s)
	sel, err := ev.of.Select(ctx, s, d, turns.Named()...)
	if err != nil {
		return safety.Snapshot{}, err
	}
	noRow := sel.NoRow
	if len(noRow) > 0 && ev.Give != nil && d.Node != "" {
		if noRow = ev.Give(ctx, noRow); len(noRow) < len(sel.NoRow) {
			if sel, err = ev.of.Select(ctx, s, d, turns.Named()...); err != nil {
				return safety.Snapshot{}, err
			}
		}
	}
	// Ask for runs under way and losses after the rows were read.
	gaps := graphsync.RunGaps(sel.OpenRuns, ev.Underway.Runs(s, ev.Now()))
	losses, err := ev.journal.Losses(ctx, s)
	if err != nil {
		return safety.Snapshot{}, err
	}
	gaps = append(gaps, store.LossSentences(losses)...)
	for _, shown := range noRow {
		gaps = append(gaps, fmt.Sprintf("a model was shown a result of %q that no row has, and its value is gone", shown.Tool))
	}
	// A gap stays, so the session can approve nothing any more.
	for i := range gaps {
		gaps[i] += ": start a new session"
	}
	c := sel.Counts
	if ev.Idle != nil && d.Node != "" {
		ev.Idle(s, c.Rules)
	}
	remarks := notes(c.Rules)
	if ev.Notes != nil {
		remarks = append(remarks, ev.Notes()...)
	}
	receipt := c.Receipt
	receipt.Notes = remarks
	return safety.Snapshot{
		Evidence: sel.Evidence, Expected: ev.expected, Receipt: receipt,
		Gaps: slices.Concat(gaps, turns.Gaps(sel.RunsOf), ev.Underway.Gaps()),
	}, nil
}
