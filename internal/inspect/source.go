// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// ErrNotFound is returned for a session that a source does not have.
var ErrNotFound = errors.New("no such session")

// Source is where sessions are read from. Its methods may be called concurrently.
type Source interface {
	// Name describes the source, for people: "journal contextgraph.db".
	Name() string
	// Sessions returns one page of the sessions that q selects, the one with the newest
	// row first.
	Sessions(ctx context.Context, q Query) (Page, error)
	// Find returns the sessions that the id names, see [Named]: none, one, or several. They have the
	// application and the user, where these are given.
	Find(ctx context.Context, s record.Session) ([]record.Session, error)
	// Record returns what is stored of a session; [ErrNotFound] when nothing is.
	Record(ctx context.Context, s record.Session) (Record, error)
}

// Record is the record of one session in a source.
type Record struct {
	Session record.Session
	// Rows are in the order of recording.
	Rows []record.Event
	// Fold is what the rows show. Nil is the fold of Rows without rules.
	Fold *graphsync.Session
	// Gaps says in words what the source knows to be missing.
	Gaps []string
	// Approvals and History are those of the ledger, History by the id of the approval. They are
	// nil if the source has no ledger.
	Approvals []safety.Approval
	History   map[string][]safety.Step
}

// Query selects sessions. The zero value selects the newest 50.
type Query struct {
	// App and User select the sessions of one application and one user.
	App  string
	User string
	// Search selects sessions with the text in their id, user, application, agents or title, in any
	// case.
	Search string
	// Status selects sessions with one of these; empty selects all.
	Status []Status
	// From and To bound the time of the last row: From <= t < To. Zero is unbounded.
	From time.Time
	To   time.Time
	// Limit is the greatest number of sessions to return. Default 50, at most 500.
	Limit int
	// After is the [Page.Next] of the page before.
	After string
}

// Page is one page of the list of sessions.
type Page struct {
	Sessions []Summary `json:"sessions"`
	// Next is the [Query.After] of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}
