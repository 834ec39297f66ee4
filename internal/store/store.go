// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package store says what keeps rows and approvals. Everything else is made of them: readings, graphs,
// answers. Package storetest has the tests of an implementation.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// ErrClosed is returned for work that comes after Close.
var ErrClosed = errors.New("the store is closed")

// Errors that no caller asks for.
var (
	errNotStored = errors.New("the row was not taken: Stats says why")
	errNoDigest  = errors.New("note the rules: they have no digest")
)

// Store keeps rows and approvals. All methods may be called concurrently. Handles on the same data, also of
// several processes, see each other's committed work. After Close the methods, and those of the ledger,
// return an [ErrClosed], where they return an error. When their context has ended, they return its cause;
// Flush may return nil instead, if the rows are committed. The caller must not change what they return.
//
// A store may remove old rows by retention. It removes all rows of a session, and all of them stay of
//
//   - a session with an approval that is pending, approved or permitted, until that has expired, or one that is
//     executing;
//   - a session with a row that a destination has not acknowledged, or that is a dead letter, see [Outbox];
//   - the session of an agent that ran as a tool of another session, as long as that one stays.
//
// Approvals stay, and so does what Losses says: how many rows were removed. Session does not find the session
// any more. If it goes on, it has the new rows alone, and no number is given again.
type Store interface {
	// Name describes the store, for people: "journal contextgraph.db".
	Name() string
	// Secret is the key of digests that only the programs of this store may recognise. It is made with
	// the store and never changes.
	Secret() []byte

	// Append takes a row over to be stored, and waits for no disk. It returns false if it does not take
	// the row; that is counted in Stats with its reason. It refuses a row without an event id, type or
	// status. Of rows with one event id the first is stored. A payload that is empty comes back as nil.
	Append(e record.Event) bool
	// Flush returns nil only when every row that was appended before is committed, or counted as lost.
	Flush(ctx context.Context) error
	// Commit is Flush, and an error if the row with the event id is not committed then.
	Commit(ctx context.Context, eventID string) error

	// RowsAfter returns the next rows of a session with a number greater than seq, in the order of their
	// numbers: some of them, and none if there are no more. Numbers are positive and grow in the order of
	// commits: no row appears behind one that was read. No two rows have the same one.
	RowsAfter(ctx context.Context, s record.Session, seq int64) ([]record.Event, error)
	// Row returns the row with an event id, of any session; false if there is none.
	Row(ctx context.Context, eventID string) (record.Event, bool, error)
	// Stored reports whether all rows with these event ids are committed.
	Stored(ctx context.Context, eventIDs ...string) (bool, error)
	// Waiting returns the rows of a session that were appended and are not committed, in order, unless it
	// cannot tell.
	Waiting(s record.Session) (rows []record.Event, known bool)
	// Outline returns the rows of a session in order. It may leave out their payloads but the names of
	// models and the numbers of tokens.
	Outline(ctx context.Context, s record.Session) ([]record.Event, error)
	// Children returns the sessions of agents that ran as tools of a session, each with the span of its call, in
	// the order in which they came to be known: see [schema.Nested].
	Children(ctx context.Context, s record.Session) ([]record.Child, error)
	// Losses returns what of a session is known to be lost, none if nothing is: one loss for each run and
	// cause, of at most [LossRuns] runs. A row that was refused is lost; other handles know of it after the
	// next Flush.
	Losses(ctx context.Context, s record.Session) ([]Loss, error)

	// Session returns a session as it is now; false if it has no rows.
	Session(ctx context.Context, s record.Session) (Session, bool, error)
	// Sessions lists sessions, the one with the newest row first.
	Sessions(ctx context.Context, q Query) ([]Session, error)
	// Standings returns where sessions stand, in their order.
	Standings(ctx context.Context, sessions []record.Session) ([]Standing, error)
	// OpenRequests returns the sessions with a request for an approval that may be open at the time now,
	// the one that expires first first, at most limit, none if that is not positive.
	OpenRequests(ctx context.Context, now time.Time, limit int) ([]record.Session, error)
	// Requested returns the sessions with an approval whose id, or that of its confirmation, begins with
	// prefix, the newest first, at most limit, none if that is not positive. Those are of one application or user that of has; its ID
	// says nothing.
	Requested(ctx context.Context, of record.Session, prefix string, limit int) ([]record.Session, error)
	// Summaries calls each with every session with rows, and with its summary if one holds at the time now.
	// The summary is valid until each returns, which must not call the store.
	Summaries(ctx context.Context, now time.Time, each func(*Summary)) error
	// Stamp returns the state of a session.
	Stamp(ctx context.Context, s record.Session) (Stamp, error)
	// KeepSummaries keeps summaries, but those of sessions whose state has changed. It copies them.
	KeepSummaries(ctx context.Context, list []NewSummary) error

	// Rules returns the rules with a digest, or the newest if digest is ""; false if there are none.
	Rules(ctx context.Context, digest string) (rules []byte, found bool, err error)
	// SetRules notes that a process records under rules, which become the newest. A digest stands for the
	// text that first came with it.
	SetRules(ctx context.Context, digest string, rules []byte) error

	// Ledger returns the ledger of approvals.
	Ledger() safety.Ledger
	// Changes returns a number that grows with each row that is committed, 0 if there is none.
	Changes(ctx context.Context) (int64, error)
	// Stats returns the counters of this process.
	Stats() Stats
	// Close stores what waits. It returns soon after ctx ends.
	Close(ctx context.Context) error
}

// Query selects sessions. The zero value selects the newest 100.
type Query struct {
	// App, User and ID select the sessions of one application, of one user and with one id;
	// empty selects all.
	App  string
	User string
	ID   string
	// Prefix selects the sessions with an id that begins with it; empty selects all.
	Prefix string
	// From and To bound the time of the latest row: From <= t < To. Zero is unbounded.
	From, To time.Time
	// Before selects the sessions with a smaller LastSeq. Use it for the next page: unlike Offset,
	// it costs nothing far down, and new rows do not move anything. 0 selects all.
	Before int64
	// Limit is the greatest number of sessions to return. Default [DefaultLimit].
	Limit int
	// Offset is the number of sessions to skip.
	Offset int
}

// DefaultLimit is how many sessions a [Query] selects that does not say it.
const DefaultLimit = 100

// Check refuses numbers that mean nothing.
func (q *Query) Check() error {
	if min(q.Before, int64(q.Limit), int64(q.Offset)) < 0 {
		return fmt.Errorf("list sessions: limit %d, offset %d, before %d: none may be negative", q.Limit, q.Offset, q.Before)
	}
	return nil
}

// selects reports whether q selects a session, without Limit and Offset.
func (q *Query) selects(l *Session) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.App, l.Session.App) && is(q.User, l.Session.User) && is(q.ID, l.Session.ID) && strings.HasPrefix(l.Session.ID, q.Prefix) &&
		(q.From.IsZero() || !l.Last.Before(q.From)) && (q.To.IsZero() || l.Last.Before(q.To)) &&
		(q.Before == 0 || l.LastSeq < q.Before)
}

// Session is one line of the list of sessions.
type Session struct {
	Session record.Session
	// First and Last are the times of the earliest and the latest row.
	First, Last time.Time
	// LastSeq is the Seq of the row stored last.
	LastSeq int64
	Events  int64
	// Agents are the names of the agents that acted, sorted.
	Agents []string
	// Approval is the state of the approval asked for last; empty when there is none.
	Approval string
}

// Standing has the subject of a session and its status.
type Standing struct {
	// Rows are the messages of the user, the requests to humans, the answers, the checks and the checkpoints, in
	// the order of recording. Messages may have no attributes, and checks no content. Requests and answers
	// have content if Approvals is empty.
	Rows []record.Event
	// Approvals are those of the ledger, oldest first. Their long parts may be empty.
	Approvals []safety.Approval
}

// Milestone reports whether the rows of a type are in [Standing.Rows].
func Milestone(eventType string) bool {
	switch eventType {
	case record.UserMessageReceived, record.WorldChangeCheck, record.AgentStateCheckpoint,
		record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted,
		record.HITLCredentialRequest, record.HITLCredentialRequestCompleted,
		record.HITLInputRequest, record.HITLInputRequestCompleted:
		return true
	}
	return false
}

// Summary is what a session comes to, made of its rows and approvals by whoever lists sessions.
type Summary struct {
	Session record.Session
	// LastSeq, LastTime (in microseconds) and Events are those of the rows now.
	LastSeq, LastTime, Events int64
	// Known says that the rest is on record and holds. Without it the rest is empty.
	Known  bool
	Status string
	// Start and End are the times of the first and the last row, in microseconds.
	Start, End                int64
	Errors, Turns             int64
	Prompt, Completion, Total int64 // tokens
	// Words and More are for whoever made them.
	Words, More []byte
}

// Stamp is the state of a session: as long as it stays the same, so do its rows and its approvals.
type Stamp struct{ LastSeq, Events, Lost, Steps int64 }

// NewSummary is a summary to keep.
type NewSummary struct {
	Summary
	// Of is the state of the session from before its rows were read. If it is another one by now, the
	// summary is not kept.
	Of Stamp
	// Until is when the summary ceases to hold.
	Until time.Time
}

// Events returns all rows of a session in order.
func Events(ctx context.Context, s Store, of record.Session) ([]record.Event, error) {
	var all []record.Event
	for last := int64(0); ; {
		next, err := s.RowsAfter(ctx, of, last)
		if err != nil || len(next) == 0 {
			return all, err
		}
		all = append(all, next...)
		last = next[len(next)-1].Seq
	}
}

type key struct{}

// With returns a context with which an instance is opened over this store instead of a journal. The
// instance closes it.
func With(ctx context.Context, s Store) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the store that ctx brings; nil if it brings none.
func From(ctx context.Context) Store {
	s, _ := ctx.Value(key{}).(Store)
	return s
}
