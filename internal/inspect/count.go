// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"time"

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

// Count counts what there is in the sessions that q selects. It reads every row of them.
func Count(ctx context.Context, src Source, q Query, now time.Time) (Totals, error) {
	t := Totals{Source: src.Name(), Approvals: make(map[Status]int), Verdicts: make(map[string]int), Incomplete: []Incomplete{}}
	var sessions []record.Session
	for s, err := range All(ctx, src, q) {
		if err != nil {
			return Totals{}, err
		}
		t.add(s)
		sessions = append(sessions, s.Session)
	}
	for r, err := range Records(ctx, src, sessions) {
		if err == nil {
			err = t.look(r, now)
		}
		if err != nil {
			return Totals{}, err
		}
	}
	return t, nil
}

func (t *Totals) add(s Summary) {
	t.Sessions++
	t.Rows += int64(s.Events)
	t.Errors += int64(s.Errors)
	t.Turns += s.Turns
	t.Tokens.add(s.Tokens)
	t.WaitedMS += s.WaitedMS
	if !s.Start.IsZero() && (t.First.IsZero() || s.Start.Before(t.First)) {
		t.First = s.Start
	}
	if s.End.After(t.Last) {
		t.Last = s.End
	}
}

// look counts what only the rows of a session say.
func (t *Totals) look(r Record, now time.Time) error {
	if len(r.Gaps) > 0 {
		t.Incomplete = append(t.Incomplete, Incomplete{r.Session, r.Gaps})
	}
	if len(r.Approvals) == 0 && !slices.ContainsFunc(r.Rows, func(e record.Event) bool { return isRequest(e.EventType) }) {
		return nil
	}
	full, err := New(r, now)
	if err != nil {
		return err
	}
	for _, p := range full.Approvals {
		t.Approvals[p.Status]++
		t.LongestMS = max(t.LongestMS, p.WaitedMS)
		for _, k := range p.Checks {
			t.Verdicts[k.Verdict]++
		}
	}
	return nil
}
