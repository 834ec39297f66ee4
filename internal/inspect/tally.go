// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// tally is what one session adds to the [Totals] of a source.
type tally struct {
	place          int64 // in the list of a journal
	session        record.Session
	events, errors int
	turns          int
	start, end     time.Time
	tokens         Tokens
	detail
}

// detail is what most sessions do not have.
type detail struct {
	Requests []outcome      `json:"requests,omitempty"`
	Verdicts map[string]int `json:"verdicts,omitempty"`
	Gaps     []string       `json:"gaps,omitempty"`
}

// outcome is what came of one request to a human.
type outcome struct {
	Status      Status    `json:"status"`
	RequestedAt time.Time `json:"requested_at,omitzero"`
	WaitedMS    int64     `json:"waited_ms,omitempty"`
	// Waits says that it waits still: WaitedMS grows.
	Waits bool `json:"waits,omitempty"`
}

func outcomes(asked []Approval) []outcome {
	var out []outcome
	for i := range asked {
		a := &asked[i]
		out = append(out, outcome{a.Status, a.RequestedAt, a.WaitedMS, a.waits()})
	}
	return out
}

// tallyOf returns what a session adds, given its line in the list, its requests and its gaps.
func tallyOf(s *Summary, asked []Approval, gaps []string) tally {
	t := tally{
		session: s.Session, events: s.Events, errors: s.Errors, turns: s.Turns, start: s.Start, end: s.End, tokens: s.Tokens,
		detail: detail{Requests: outcomes(asked), Gaps: gaps},
	}
	for i := range asked {
		for _, k := range asked[i].Checks {
			if t.Verdicts == nil {
				t.Verdicts = make(map[string]int)
			}
			t.Verdicts[k.Verdict]++
		}
	}
	return t
}

// add adds what a session adds, as of now.
func (t *Totals) add(one *tally, now time.Time) {
	t.Sessions++
	t.Rows += int64(one.events)
	t.Errors += int64(one.errors)
	t.Turns += one.turns
	t.Tokens.add(one.tokens)
	if !one.start.IsZero() && (t.First.IsZero() || one.start.Before(t.First)) {
		t.First = one.start
	}
	if one.end.After(t.Last) {
		t.Last = one.end
	}
	for i := range one.Requests {
		o := &one.Requests[i]
		if o.Waits && !o.RequestedAt.IsZero() {
			o.WaitedMS = max(0, now.Sub(o.RequestedAt).Milliseconds())
		}
		t.Approvals[o.Status]++
		t.LongestMS = max(t.LongestMS, o.WaitedMS)
	}
	t.WaitedMS += waited(one.Requests).Milliseconds()
	for verdict, n := range one.Verdicts {
		t.Verdicts[verdict] += n
	}
	if len(one.Gaps) > 0 {
		t.Incomplete = append(t.Incomplete, Incomplete{one.session, one.Gaps})
	}
}
