// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// builder is a Record on its way to a Session.
type builder struct {
	Record
	now   time.Time
	graph *graphsync.Graph
	// rows are in the order of recording, each event once; of finds them by event id,
	// spans by the key of their node.
	rows  []row
	of    map[string]int
	spans map[string]int
	// turns numbers the runs; over holds those that have ended.
	turns map[string]int
	over  map[string]bool
}

// New makes all views of a session from its record. Time-dependent facts, such as whether a request
// has expired, are as of now. It reads any rows: their faults are in Problems, and never an error.
// The error is [ErrNotFound] for a record without rows and approvals.
func New(r Record, now time.Time) (*Session, error) {
	if len(r.Rows) == 0 && len(r.Approvals) == 0 {
		return nil, notFound(r.Session)
	}
	if r.Fold == nil {
		r.Fold = graphsync.Fold(nil, r.Rows)
	}
	x := &builder{Record: r, now: now, graph: r.Fold.Graph()}
	trace := x.graph.Trace()
	x.read(trace.Timeline)

	s := &Session{Rows: x.shownRows(), Left: x.left()}
	s.Spans = x.shownSpans(trace.Roots)
	for _, e := range x.graph.Edges() {
		s.Edges = append(s.Edges, Edge{From: e.From, To: e.To, Kind: string(e.Kind)})
	}
	s.Entities = x.entities()
	s.Approvals = approvalsOf(x.rows, x.Approvals, now)
	x.explain(s)
	s.Summary = summarize(r.Session, x.rows, s.Approvals)
	s.Thoughts = x.thoughts(s)
	s.Flows = x.flows()
	s.CriticalPath = criticalPath(s.Spans)
	s.Problems = x.problems(s)
	s.Edges = present(s.Edges)
	return s, nil
}

// read takes the rows of the timeline over.
func (x *builder) read(timeline []record.Event) {
	x.rows = decode(timeline)
	x.of = make(map[string]int, len(x.rows))
	x.turns = make(map[string]int)
	x.over = make(map[string]bool)
	for i := range x.rows {
		r := &x.rows[i]
		if r.EventID != "" {
			x.of[r.EventID] = i
		}
		if r.run == "" {
			continue
		}
		if x.turns[r.run] == 0 {
			x.turns[r.run] = len(x.turns) + 1
		}
		if r.endsRun() {
			x.over[r.run] = true
		}
	}
}

// present makes a nil slice an empty one: JSON has a list where there is nothing.
func present[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
