// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Run is the record of one run of a session.
type Run struct {
	ID string
	// Turn is the turn (the invocation) that it is of, the greatest name if its rows have
	// several. Turns are all of them, each once, in the order of the rows.
	Turn  string
	Turns []string
	// Started is the time of its earliest row, UTC, First the number of its first one.
	Started time.Time
	First   int64
	// Completed tells that its end is on record.
	Completed bool
	// Expected is the highest place of a row in the run, which is the number of rows that
	// it should have; Stored is the number of places that have one.
	Expected, Stored int64
}

// sessionRun is a run with the results of its calls.
type sessionRun struct {
	Run
	results []*result
	fresh   bool       // it began with no events and no state of the session
	rewinds []string   // that its history goes by
	missing []interval // the places up to Expected that have no row, in order
}

// open reports whether rows of the run are missing, or its end.
func (r *Run) open() bool { return !r.Completed || r.Stored < r.Expected }

// Runs returns the runs of the session, in the order of their first rows.
func (s *Session) Runs() []Run { return s.runsWith(nil) }

// runsWith returns the runs with more rows.
func (s *Session) runsWith(rows []record.Event) []Run {
	runs := make([]sessionRun, len(s.order))
	place := make(map[string]int)
	for i, r := range s.order {
		runs[i].Run = r.Run
		runs[i].Turns = slices.Clip(r.Turns)
		if len(rows) > 0 {
			runs[i].missing = slices.Clone(r.missing)
			place[r.ID] = i
		}
	}
	for i := range rows {
		e := &rows[i]
		at, known := place[e.RunID]
		switch {
		case e.RunID == "":
			continue
		case !known:
			at = len(runs)
			place[e.RunID], runs = at, append(runs, sessionRun{Run: Run{ID: e.RunID, Started: e.Time(), First: e.Seq}})
		}
		runs[at].add(e)
	}
	out := make([]Run, len(runs))
	for i := range runs {
		out[i] = runs[i].Run
	}
	return out
}

// add adds what a row says of the run. A place that has a row already does not count again.
func (r *sessionRun) add(e *record.Event) {
	expected, n := r.Expected, e.RunSeq
	r.Run.add(e)
	switch i := slices.IndexFunc(r.missing, func(m interval) bool { return m.first <= n && n <= m.last }); {
	case n > expected:
		r.Stored++
		if n > expected+1 {
			r.missing = append(r.missing, interval{expected + 1, n - 1})
		}
	case i >= 0:
		r.Stored++
		var left []interval
		if m := r.missing[i]; m.first < n {
			left = append(left, interval{m.first, n - 1})
		}
		if m := r.missing[i]; n < m.last {
			left = append(left, interval{n + 1, m.last})
		}
		r.missing = slices.Replace(r.missing, i, i+1, left...)
	}
}

// add adds what a row says of the run, but for the number of places with a row.
func (r *Run) add(e *record.Event) {
	if at := e.Time(); at.Before(r.Started) {
		r.Started = at
	}
	r.Turn, r.Turns = max(r.Turn, e.InvocationID), appendNew(r.Turns, e.InvocationID)
	r.Completed = r.Completed || e.EventType == record.InvocationCompleted || e.EventType == record.InvocationError
	r.Expected = max(r.Expected, e.RunSeq)
}

// closing says that a run took the broken record of another for closed.
type closing struct {
	by, run string
	row     int64
}

// broken returns the runs whose record is broken and that a decision cannot leave aside. The asking run needs no
// end. Left aside are a run that began after the first row of the asking one, one before a run that began with no
// events and no state, and one that the asking run has closed.
func (s *Session) broken(runs []Run, d record.Decision, upTo int64) (list []Run) {
	asking := s.runs[d.Run]
	var fresh int64 // the first row of the last run that began with nothing
	for _, r := range s.order {
		if asking != nil && r.fresh && r.First <= asking.First {
			fresh = max(fresh, r.First)
		}
	}
	closed := make(map[string]bool)
	for _, c := range s.closed {
		closed[c.run] = closed[c.run] || c.by == d.Run && c.row <= upTo
	}
	for _, r := range runs {
		switch {
		case asking != nil && r.ID == d.Run:
			if r.Stored == r.Expected {
				continue
			}
		case !r.open(), asking != nil && began(r) > began(asking.Run), began(r) < fresh, closed[r.ID]:
			continue
		}
		list = append(list, r)
	}
	return list
}

// began returns the number of the first row of a run. Rows that wait have none yet, so a run that has only such rows
// comes after all others.
func began(r Run) int64 {
	if r.First == 0 {
		return math.MaxInt64
	}
	return r.First
}

// Gaps lists, in sentences for people, the missing parts of the record of a run: rows from the middle, and its
// end, unless it is under way.
func (r Run) Gaps(live bool) (gaps []string) {
	turn := fmt.Sprintf("turn %s (run %s, started %s)", r.Turn, r.ID, r.Started.Format(time.RFC3339))
	if missing := r.Expected - r.Stored; missing > 0 {
		gaps = append(gaps, fmt.Sprintf("%s: %d of %d rows are missing", turn, missing, r.Expected))
	}
	if !r.Completed && !live {
		gaps = append(gaps, fmt.Sprintf("%s has no %s on record", turn, record.InvocationCompleted))
	}
	return gaps
}

// RunGaps lists the gaps of runs. live are those under way.
func RunGaps(runs []Run, live []string) (gaps []string) {
	for _, r := range runs {
		gaps = append(gaps, r.Gaps(slices.Contains(live, r.ID))...)
	}
	return gaps
}
