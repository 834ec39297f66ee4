// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/plugin"
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
	// Running returns the runs of a session that are under way in this process. Nil knows of none.
	Running func(record.Session) []string
	// Gaps returns the gaps that only this process knows. Nil knows of none.
	Gaps func() []string
	Now  func() time.Time
	// Notes gives remarks about the program for whoever approves. Nil gives none.
	Notes func() []string
	// Idle hears of the rules that found nothing, at each request. Nil hears nothing.
	Idle func(record.Session, []graphsync.Tally)
	// Give writes a row for each of the results that models were shown and no row has, in the run that ctx is
	// of. It returns those that it cannot write. Nil writes none.
	Give func(ctx context.Context, list []record.Shown) (without []record.Shown)
	// Close writes what the history of the run that ctx is of has of the turns of runs whose record is broken. It
	// returns why a run cannot be closed, by its id. Nil closes none.
	Close func(ctx context.Context, runs map[string]record.Turn) (open map[string]string)
}

// NewEvidence returns the evidence of decisions from folded sessions of a journal.
func NewEvidence(of *graphsync.Sessions, j store.Store, p Program) safety.Evidence {
	if p.Running == nil {
		p.Running = func(record.Session) []string { return nil }
	}
	if p.Gaps == nil {
		p.Gaps = func() []string { return nil }
	}
	return &evidence{Program: p, of: of, journal: j, expected: of.Extractor().Shows()}
}

// Collect implements [safety.Evidence].
func (ev *evidence) Collect(ctx context.Context, s record.Session, d record.Decision) (safety.Snapshot, error) {
	turns := plugin.TurnsOf(ctx, s)
	if ev.of.Extractor().ReadsOther() != "" {
		turns.Earlier = slices.Concat(turns.Earlier, turns.Unanswered)
	}
	selectAll := func() (graphsync.Selection, error) { return ev.of.Select(ctx, s, d, named(turns)...) }
	live := ev.Running(s)
	sel, err := selectAll()
	if err != nil {
		return safety.Snapshot{}, err
	}
	live = append(live, ev.Running(s)...) // those that ended or began meanwhile have no end in these rows
	why := ev.close(ctx, sel.Broken, live, d)
	if len(why) < len(sel.Broken) { // rows were written, which may have results that requests showed
		if sel, err = selectAll(); err != nil {
			return safety.Snapshot{}, err
		}
	}
	noRow := sel.NoRow
	if ev.Give != nil && len(noRow) > 0 && d.Node != "" {
		noRow = ev.Give(ctx, noRow)
	}
	if len(noRow) < len(sel.NoRow) {
		if sel, err = selectAll(); err != nil {
			return safety.Snapshot{}, err
		}
	}
	var gaps []string
	onRecord := make(map[string]bool)
	for _, r := range sel.Runs {
		onRecord[r] = true
	}
	for _, r := range sel.Broken {
		for _, gap := range r.Gaps(slices.Contains(live, r.ID)) {
			remedy := ": start a new session"
			if !r.Completed && r.Stored == r.Expected && why[r.ID] == "" {
				remedy = ": if another process is at work on it, wait for its end and answer again; else start a new session"
			}
			gaps = append(gaps, gap+why[r.ID]+remedy)
		}
	}
	losses, err := ev.journal.Losses(ctx, s)
	if err != nil {
		return safety.Snapshot{}, err
	}
	// The rows that a run on record lost are missing there.
	losses = slices.DeleteFunc(losses, func(l store.Loss) bool { return l.Run != d.Run && onRecord[l.Run] })
	for _, loss := range store.LossSentences(losses) {
		gaps = append(gaps, loss+": start a new session")
	}
	for _, shown := range noRow {
		gaps = append(gaps, fmt.Sprintf("a model was shown a result of %q that no row has, and its value is gone: start a new session", shown.Tool))
	}
	c := sel.Counts
	if ev.Idle != nil && d.Node != "" {
		ev.Idle(s, c.Rules)
	}
	remarks := notes(c.Rules)
	if ev.Notes != nil {
		remarks = append(remarks, ev.Notes()...)
	}
	for _, typ := range slices.Sorted(maps.Keys(sel.Unnamed)) {
		remarks = append(remarks, "A "+typ+" on a list has no name that can be read, so it cannot be chosen: "+sel.Unnamed[typ])
	}
	receipt := c.Receipt
	receipt.Notes = remarks
	return safety.Snapshot{
		Evidence: sel.Evidence, Expected: ev.expected, Receipt: receipt,
		Gaps: slices.Concat(gaps, turnGaps(turns, sel.RunsOf), ev.Gaps()),
	}, nil
}

// close closes the runs of turns whose record is broken, if the history can heal it. It returns why others stay
// open, each as the end of a sentence.
func (ev *evidence) close(ctx context.Context, broken []graphsync.Run, live []string, d record.Decision) (why map[string]string) {
	why = make(map[string]string)
	runs := make(map[string]record.Turn)
	for _, r := range broken {
		switch missing := r.Stored < r.Expected; {
		case r.ID == d.Run || d.Node == "":
			why[r.ID] = ""
		case !missing && slices.Contains(live, r.ID):
			why[r.ID] = "" // what it recorded before the request is on record
		default:
			runs[r.ID] = record.Turn{ID: r.Turn, Started: r.Started}
		}
	}
	if len(runs) == 0 {
		return why
	}
	rule := ev.of.Extractor().ReadsOther()
	switch {
	case ev.Close == nil:
		rule = ""
	case rule == "":
		maps.Copy(why, ev.Close(ctx, runs))
		return why
	}
	for id := range runs {
		why[id] = ""
		if rule != "" {
			why[id] = fmt.Sprintf(", and rule %q reads rows that the history of the session does not have", rule)
		}
	}
	return why
}
