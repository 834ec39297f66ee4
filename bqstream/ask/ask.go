// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package ask has the questions that a dataset of package bqstream answers, and the answers: the graph of
// a session, the approvals that rest on a product, waiting times, the findings of checks.
package ask

import (
	"errors"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Errors of the methods that ask questions. An answer is never empty because of an error.
var (
	// ErrNoSessionID is returned for a question about a session without an id: it would
	// be one about all sessions.
	ErrNoSessionID = errors.New("the session has no id: give the id, and the application and the user it belongs to")
	// ErrUnknownSession is returned for a session without a graph in the dataset.
	ErrUnknownSession = errors.New("the dataset has no graph of the session: check application, user, id and the time asked about, or bring it there with contextgraph sync")
	// ErrNoWindow is returned for a question about many sessions without a time.
	ErrNoWindow = errors.New("a question about all sessions needs the time it is about: set From")
)

// MaxHops is how many hops a question can ask for: BigQuery ends a recursive query with an
// error after 500 rounds, and a hop is one round or more.
const MaxHops = 400

// DefaultLimit bounds the rows of an answer about many sessions where no limit is given.
const DefaultLimit = 10_000

// DefaultSince is how far back a question about a session looks where no time is given.
const DefaultSince = 30 * 24 * time.Hour

// Scope says which session a question is about.
type Scope struct {
	// Session is the session. Its id is required; application and user are compared as
	// they are, also when they are empty.
	Session record.Session
	// From and To bound the time of the session: only the partitions of those days are read. To defaults
	// to now, From to [DefaultSince] before it. The session may have begun up to 30 days before From. One that
	// lies in neither is unknown.
	From, To time.Time
}

// Window bounds a question about many sessions.
type Window struct {
	// App is the application; empty for all.
	App string
	// From and To are the time it is about. From is required; To defaults to now.
	From, To time.Time
	// Limit bounds the rows of the answer. Defaults to [DefaultLimit].
	Limit int
}
