// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"slices"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/journal"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// evidence is what the guard decides from: the journal behind a barrier, and the
// graph of the session made from it.
type evidence struct {
	sync    *graphsync.Syncer
	journal *journal.Journal
	// live names the runs of a session that are under way. besides says, in sentences,
	// what this process knows to be missing, given the turns that are on record.
	live    func(Session) []string
	besides func(ctx context.Context, s Session, recorded map[string][]string) []string
}

// evidence returns that of the process which records.
func (in *Instance) evidence() *evidence {
	return &evidence{
		sync: in.sync, journal: in.journal,
		// The recorder is made after the guard.
		live: func(s Session) []string { return in.rec.LiveRuns(s) },
		besides: func(ctx context.Context, s Session, recorded map[string][]string) []string {
			return slices.Concat(in.rec.Turns(ctx, s).Gaps(recorded), in.rec.Gaps())
		},
	}
}

// Collect implements [safety.Evidence].
func (ev *evidence) Collect(ctx context.Context, s safety.Session, decision safety.Decision) (safety.Snapshot, error) {
	g, receipt, err := ev.sync.Update(ctx, s)
	if err != nil {
		return safety.Snapshot{}, err
	}
	// Of the rows that the graph was made from, not read again; what is lost, and which
	// runs are under way, is asked after they were.
	runs := g.Runs()
	gaps := graphsync.RunGaps(runs, ev.live(s))
	losses, err := ev.journal.Losses(ctx, s)
	if err != nil {
		return safety.Snapshot{}, err
	}
	gaps = append(gaps, losses...)
	recorded := make(map[string][]string) // runs by turn
	for _, r := range runs {
		for _, turn := range r.Turns {
			recorded[turn] = append(recorded[turn], r.ID)
		}
	}
	// What is missing stays missing, so the session can approve nothing any more.
	for i := range gaps {
		gaps[i] += ": start a new session"
	}
	gaps = slices.Concat(gaps, ev.besides(ctx, s, recorded))
	snapshot := safety.Snapshot{Gaps: gaps, Receipt: safety.Receipt{
		Watermark: receipt.Watermark, RowsRead: receipt.RowsRead,
		Failed: receipt.Failed, Truncated: receipt.Truncated, Version: receipt.Version,
	}}
	if len(receipt.Errors) > 0 {
		snapshot.Receipt.Error = receipt.Errors[0]
	}
	if decision.Node == "" {
		snapshot.Entities = g.Canonical()
		return snapshot, nil
	}
	// Without the limit that Why has: what led to the decision long ago is checked too.
	if snapshot.Entities, err = g.RestsOn(decision.Node); err != nil {
		return safety.Snapshot{}, err
	}
	return snapshot, nil
}

// covered returns the tools whose arguments a rule reads as those of an action.
func (c Config) covered() []string {
	var names []string
	for _, e := range c.Extract {
		if e.In == graphsync.InAction && e.Tool != "" {
			names = append(names, e.Tool)
		}
	}
	return names
}
