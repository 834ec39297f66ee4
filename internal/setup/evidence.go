// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/underway"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// evidence is the guard's source for decisions: the record behind a barrier, and the entities
// extracted from it.
type evidence struct {
	Program
	of       *graphsync.Sessions
	journal  *journal.Journal
	expected []safety.Expected
	places   map[string]string // of the rules
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
}

// NewEvidence returns the evidence of decisions from folded sessions of a journal.
func NewEvidence(c config.Config, of *graphsync.Sessions, j *journal.Journal, p Program) safety.Evidence {
	return newEvidence(c, of, j, p)
}

func newEvidence(c config.Config, of *graphsync.Sessions, j *journal.Journal, p Program) *evidence {
	return &evidence{Program: p, of: of, journal: j, expected: expectedOf(of.Extractor(), places(c)), places: places(c)}
}

// places returns where the rules stand, by their names.
func places(c config.Config) map[string]string {
	places := make(map[string]string, len(c.Extract))
	for _, e := range c.Extract {
		places[e.Name] = e.Place
	}
	return places
}

// expectedOf says which rules show what. Failures name these rules.
func expectedOf(x *graphsync.Extractor, places map[string]string) []safety.Expected {
	var out []safety.Expected
	for _, s := range x.Shows() {
		out = append(out, safety.Expected{Type: s.Type, Attribute: s.Attribute, Rule: s.Rule, Tool: s.Tool, Place: places[s.Rule]})
	}
	return out
}

// notChosen returns the things that a decision did not choose, as package safety has them.
func notChosen(n graphsync.NotChosen) safety.NotChosen {
	out := safety.NotChosen{Total: n.Total}
	for _, e := range n.Entities {
		out.Entities = append(out.Entities, safety.Alternative{Type: e.Type, Value: e.Value, Seen: e.Attributes, SeenAt: e.LastSeen})
	}
	return out
}

// counted returns why things count although they might be alternatives.
func (ev *evidence) counted(why map[string]graphsync.Counted) map[string]safety.Counted {
	out := make(map[string]safety.Counted, len(why))
	for key, c := range why {
		counts := safety.Counted{Row: c.Row}
		if r := c.Rule; r != nil {
			counts.Rule, counts.Place = r.Name, ev.places[r.Name]
			counts.Result, counts.Alternatives = r.In == config.InResult, r.Alternatives
		}
		out[key] = counts
	}
	return out
}

// Collect implements [safety.Evidence].
func (ev *evidence) Collect(ctx context.Context, s safety.Session, d safety.Decision) (safety.Snapshot, error) {
	turns := underway.Of(ctx, s)
	sel, err := ev.of.Select(ctx, s, graphsync.Decision(d), turns.Named()...)
	if err != nil {
		return safety.Snapshot{}, err
	}
	// Ask for runs under way and losses after the rows were read.
	gaps := graphsync.RunGaps(sel.OpenRuns, ev.Underway.Runs(s, ev.Now()))
	losses, err := ev.journal.Losses(ctx, s)
	if err != nil {
		return safety.Snapshot{}, err
	}
	gaps = append(gaps, losses...)
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
	return safety.Snapshot{
		Entities: sel.Entities, NotChosen: notChosen(sel.NotChosen), Counted: ev.counted(sel.Counted),
		Places: sel.Places, Asked: sel.Asked, Expected: ev.expected, Rewritten: c.Rewritten,
		Gaps: slices.Concat(gaps, turns.Gaps(sel.RunsOf), ev.Underway.Gaps()),
		Receipt: safety.Receipt{
			Watermark: c.Watermark, RowsRead: c.Rows, Failed: c.Failed, Truncated: c.Truncated, Error: c.Error,
			Version: ev.of.Extractor().Version(), Notes: remarks,
		},
	}, nil
}
