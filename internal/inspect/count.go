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

// counter is a source that counts without reading every row.
type counter interface {
	count(ctx context.Context, q Query, now time.Time) (Totals, error)
}

// Count counts what there is in the sessions that q selects. It reads every row of them, but those of
// a journal that its index knows.
func Count(ctx context.Context, src Source, q Query, now time.Time) (Totals, error) {
	if c, ok := src.(counter); ok {
		return c.count(ctx, q, now)
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
		one := tallyOf(&line, asked, r.Gaps)
		t.add(&one, now)
	}
	return t, nil
}

func newTotals(src Source) Totals {
	return Totals{Source: src.Name(), Approvals: make(map[Status]int), Verdicts: make(map[string]int), Incomplete: []Incomplete{}}
}
