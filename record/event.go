// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package record defines a record: the rows of the agent_events table, the names of their types,
// and their sessions. Names and shapes are those of the BigQuery Agent Analytics plugin for Python,
// so that one table can hold rows of both.
package record

import "time"

// Session names one conversation. A session id is unique only within an
// application and a user, so the three always travel together.
type Session struct {
	App  string `json:"app"`
	User string `json:"user"`
	ID   string `json:"id"`
}

// Child is the session of an agent that ran as a tool, with the span of the call that ran it, and its id, ""
// where a row does not say it.
type Child struct {
	Session    Session
	Span, Call string
}

// Turn is a turn of a session, by its invocation id, and when a run of it began.
type Turn struct {
	ID      string
	Started time.Time
}

// Event is one row of agent_events: one step of one run.
//
// Content, ContentParts, Attributes and LatencyMS are JSON texts. A nil slice is
// SQL NULL, except for ContentParts, which is a repeated column: nil is the empty
// list. An Event must not be changed once it was handed to a journal.
type Event struct {
	// Timestamp is the time of the step in microseconds since the Unix epoch, UTC.
	Timestamp int64
	// EventID is 32 hexadecimal digits, minted before the row is queued, so that
	// a row delivered twice can be recognised.
	EventID   string
	EventType string

	Agent        string
	SessionID    string
	InvocationID string
	UserID       string
	TraceID      string
	SpanID       string
	ParentSpanID string

	Content      []byte
	ContentParts []byte
	Attributes   []byte
	LatencyMS    []byte

	// Status is StatusOK or StatusError, never empty: a query for "no error" compares it and would
	// lose a row with a NULL status.
	Status       string
	ErrorMessage string
	IsTruncated  bool

	// The fields below stand in the journal only.

	// Seq is the number of the row in its journal, ascending in the order of
	// recording; 0 until stored.
	Seq int64
	// AppName is the application of the session (attributes.adk.app_name).
	AppName string
	// RunID names one Run of the runner. An invocation id does not: a run that
	// resumes after an approval reuses the id of the run that asked.
	RunID string
	// RunSeq is the position of the row in its run, from 1 without gaps. A gap
	// shows that a row was lost.
	RunSeq int64
}

// Session returns the key of the session the row belongs to.
func (e *Event) Session() Session {
	return Session{App: e.AppName, User: e.UserID, ID: e.SessionID}
}

// Time returns the Timestamp in UTC.
func (e *Event) Time() time.Time { return time.UnixMicro(e.Timestamp).UTC() }

// Values of the status column.
const (
	StatusOK    = "OK"
	StatusError = "ERROR"
)
