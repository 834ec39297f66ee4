// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// pendingRows bounds the rows that a selection looks at without their extraction.
const pendingRows = 100

// bears reports whether a row can change what a decision rests on. The arguments of a call do not:
// the deciding call's own are read from the request, and those of another call are no reason for
// it. A row that cannot be read as the rules say does.
func (x *Extractor) bears(e *record.Event) bool {
	switch e.EventType {
	case record.ToolCompleted, record.ToolError, record.NodeOutput, record.HITLInputRequestCompleted, record.ToolResultRewritten,
		record.LLMResponse, record.AgentResponse:
		return true
	}
	read, err := x.row(e, nil, nil)
	return err != nil || e.IsTruncated && read.relevant || len(read.choices) > 0 ||
		slices.ContainsFunc(read.entities, func(e entity.Entity) bool { return e.Source != entity.SourceAction })
}

// notExtracted returns the rows that were recorded and not extracted, in order. It returns errBehind
// if the decision may rest on one of them, or if they are many. It sets later to their runs, with
// the rows that were extracted.
func (sel *selector) notExtracted(p Progress) ([]record.Event, error) {
	rows, err := sel.r.Rows(p.Watermark, pendingRows+1)
	if err != nil {
		return nil, err
	}
	for i := range sel.waiting {
		// It may have been stored since.
		if !slices.ContainsFunc(rows, func(e record.Event) bool { return e.EventID == sel.waiting[i].EventID }) {
			rows = append(rows, sel.waiting[i])
		}
	}
	if len(rows) > pendingRows || (p.Watermark > 0 || len(rows) > 0) && p.Version != sel.x.Version() {
		return nil, errBehind
	}
	for i := range rows {
		if id := rows[i].EventID; sel.x.bears(&rows[i]) || id == sel.d.Answer || id == sel.d.After {
			return nil, errBehind
		}
		if err := sel.count(&rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// count adds a row to the runs in later. It returns errBehind for a row that may have been
// extracted meanwhile.
func (sel *selector) count(e *record.Event) error {
	if e.RunID == "" {
		return nil
	}
	i := slices.IndexFunc(sel.later, func(r *Run) bool { return r.ID == e.RunID })
	if i < 0 {
		run, known, err := sel.r.Run(e.RunID)
		if err != nil {
			return err
		}
		if !known {
			run = Run{ID: e.RunID, Started: e.Time(), First: e.Seq}
		}
		i, sel.later = len(sel.later), append(sel.later, &run)
	}
	run := sel.later[i]
	if e.RunSeq > 0 {
		if e.RunSeq <= run.Expected {
			return errBehind // in a place that had one, or was missing
		}
		run.Stored++
	}
	run.add(e)
	return nil
}

// openRuns returns the runs with missing rows or without an end.
func (sel *selector) openRuns() ([]Run, error) {
	open, err := sel.r.OpenRuns()
	if err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(r Run) bool {
		return slices.ContainsFunc(sel.later, func(l *Run) bool { return l.ID == r.ID })
	})
	for _, l := range sel.later {
		if !l.Completed || l.Stored < l.Expected {
			open = append(open, *l)
		}
	}
	return open, nil
}

// runsOf returns the ids of the runs of a turn.
func (sel *selector) runsOf(turn string) ([]string, error) {
	ids, err := sel.r.RunsOfTurn(turn)
	if err != nil {
		return nil, err
	}
	for _, l := range sel.later {
		if slices.Contains(l.Turns, turn) {
			ids = appendNew(ids, l.ID)
		}
	}
	return ids, nil
}
