// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Harness is a store as the suite uses it.
type Harness struct {
	// Open gives a function that opens one more handle on the same data each time it is called, as another
	// process does, and closes it with t.Cleanup. The data of each call of Open is fresh. Append has room
	// for 2,000 rows.
	Open func(t *testing.T) func() store.Store
	// Remove removes by retention, at the time now, what is older than age. Nil is for a store that keeps
	// everything.
	Remove func(t *testing.T, s store.Store, now time.Time, age time.Duration)
}

const place = "place:of.rows"

// sender sends rows. Each of its calls has to succeed.
type sender struct {
	store.Outbox
	t     *testing.T
	owner string
}

func (s sender) acquire() int64 {
	at, err := s.Acquire(s.t.Context(), s.owner, time.Hour)
	wantErr(s.t, "Acquire", err, nil)
	return at
}

func (s sender) advance(to int64, dead ...store.DeadLetter) {
	wantErr(s.t, "Advance", s.Advance(s.t.Context(), s.owner, to, dead), nil)
}

func (s sender) rows(after int64, most int) []record.Event {
	rows, err := s.Rows(s.t.Context(), after, most, 1<<30)
	wantErr(s.t, "Rows", err, nil)
	return rows
}

// wantAt checks the position, and what the destination lacks.
func (s sender) wantAt(want int64, lack store.Backlog) {
	s.t.Helper()
	at, err := s.Position(s.t.Context())
	wantSame(s.t, "the position", err, want, at)
	got, err := s.Backlog(s.t.Context())
	wantSame(s.t, "the backlog", err, lack, got)
}
