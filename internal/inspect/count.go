// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Totals counts the sessions of a source, together.
type Totals struct {
	Source   string    `json:"source"`
	Rows     int64     `json:"rows"`
	Errors   int64     `json:"errors"`
	Sessions int       `json:"sessions"`
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"`
	Turns    int       `json:"turns"`
	Tokens   Tokens    `json:"tokens"`
	// Approvals counts requests to humans by status, Verdicts checks by verdict.
	Approvals map[Status]int `json:"approvals"`
	Verdicts  map[string]int `json:"verdicts"`
	// WaitedMS is how long the sessions waited for humans, LongestMS the longest wait of a request.
	WaitedMS  int64 `json:"waited_ms"`
	LongestMS int64 `json:"longest_wait_ms"`
	// Incomplete counts the sessions with a known gap in their record.
	Incomplete []Incomplete `json:"incomplete"`
}

// Incomplete is a session with gaps, in words.
type Incomplete struct {
	Session record.Session `json:"session"`
	Gaps    []string       `json:"gaps"`
}

// Count counts what there is in the sessions that q selects. It reads every row of them, but those of
// a journal that has a summary. Count keeps the summaries that a journal lacks, and gives note what it
// does when that takes long.
func Count(ctx context.Context, src Source, q Query, now time.Time, note func(format string, args ...any)) (Totals, error) {
	if s, ok := src.(*journalSource); ok {
		return s.count(ctx, q, now, note)
	}
	t := newTotals(src)
	var sessions []record.Session
	lines := make(map[record.Session]Summary)
	for s, err := range All(ctx, src, q) {
		if err != nil {
			return Totals{}, err
		}
		sessions, lines[s.Session] = append(sessions, s.Session), s
	}
	for r, err := range Records(ctx, src, sessions) {
		if err != nil {
			return Totals{}, err
		}
		line, asked := lines[r.Session], []Approval(nil)
		if len(r.Approvals) > 0 || slices.ContainsFunc(r.Rows, func(e record.Event) bool { return isRequest(e.EventType) }) {
			full, err := New(r, now)
			if err != nil {
				return Totals{}, err
			}
			asked = full.Approvals
		}
		sum := numbered(&line)
		t.add(&sum, moreOf(asked, r.Gaps), now)
	}
	return t, nil
}

func newTotals(src Source) Totals {
	return Totals{Source: src.Name(), Approvals: make(map[Status]int), Verdicts: make(map[string]int), Incomplete: []Incomplete{}}
}

// numbered returns the numbers of a session, given its line in the list.
func numbered(s *Summary) store.Summary {
	return store.Summary{
		Session: s.Session, Events: int64(s.Events), Start: s.Start.UnixMicro(), End: s.End.UnixMicro(),
		Errors: int64(s.Errors), Turns: int64(s.Turns), Prompt: s.Tokens.Prompt, Completion: s.Tokens.Completion, Total: s.Tokens.Total,
	}
}

// moreOf returns what a session comes to beside, given its requests and its gaps.
func moreOf(asked []Approval, gaps []string) *more {
	m := &more{Requests: outcomes(asked), Gaps: gaps}
	for i := range asked {
		for _, k := range asked[i].Checks {
			m.Verdicts = append(m.Verdicts, k.Verdict)
		}
	}
	return m
}

// outcomes returns what came of requests.
func outcomes(asked []Approval) []outcome {
	var out []outcome
	for i := range asked {
		a := &asked[i]
		out = append(out, outcome{Status: a.Status, At: a.RequestedAt, WaitedMS: a.WaitedMS, Waits: a.waits()})
	}
	return out
}

// add adds what a session comes to, as of now.
func (t *Totals) add(e *store.Summary, also *more, now time.Time) {
	t.Sessions++
	t.Rows += e.Events
	t.Errors += e.Errors
	t.Turns += int(e.Turns)
	t.Tokens.add(Tokens{e.Prompt, e.Completion, e.Total})
	if start := time.UnixMicro(e.Start).UTC(); !start.IsZero() && (t.First.IsZero() || start.Before(t.First)) {
		t.First = start
	}
	if end := time.UnixMicro(e.End).UTC(); end.After(t.Last) {
		t.Last = end
	}
	for i := range also.Requests {
		q := &also.Requests[i]
		if q.Waits && !q.At.IsZero() {
			q.WaitedMS = max(0, now.Sub(q.At).Milliseconds())
		}
		t.Approvals[q.Status]++
		t.LongestMS = max(t.LongestMS, q.WaitedMS)
	}
	t.WaitedMS += waited(also.Requests).Milliseconds()
	for _, verdict := range also.Verdicts {
		t.Verdicts[verdict]++
	}
	if len(also.Gaps) > 0 {
		t.Incomplete = append(t.Incomplete, Incomplete{e.Session, also.Gaps})
	}
}
