// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// read runs fn on a reading connection. The statements of fn see what was committed
// when each of them began.
func (j *Journal) read(ctx context.Context, what string, fn func(*sqlite.Conn) error) error {
	if isClosed(j.w.closing) {
		return fmt.Errorf("journal: %s: %w", what, ErrClosed)
	}
	conn, err := j.readers.Take(ctx)
	if err == nil {
		err = func() error {
			defer j.readers.Put(conn) // also when fn panics: who recovers that reads on
			return fn(conn)
		}()
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case isClosed(j.w.closing):
		err = ErrClosed
	}
	return fmt.Errorf("journal: %s: %w", what, explain(err))
}

// Events returns the rows of s in the order they were recorded. Rows still queued
// are not among them: call Flush first to have all.
func (j *Journal) Events(ctx context.Context, s schema.Session) ([]schema.Event, error) {
	return j.EventsAfter(ctx, s, 0)
}

// EventsAfter returns the rows of s whose Seq is greater than seq, in order.
func (j *Journal) EventsAfter(ctx context.Context, s schema.Session, seq int64) ([]schema.Event, error) {
	var events []schema.Event
	err := j.read(ctx, "read events", func(conn *sqlite.Conn) error {
		return query(conn, selectEventsSQL, func(b *binder) {
			b.session(s)
			b.integer(seq)
		}, func(stmt *sqlite.Stmt) error {
			events = append(events, scanEvent(stmt, s))
			return nil
		})
	})
	return events, err
}

func scanEvent(stmt *sqlite.Stmt, s schema.Session) schema.Event {
	return schema.Event{
		AppName:      s.App,
		UserID:       s.User,
		SessionID:    s.ID,
		Seq:          stmt.ColumnInt64(0),
		RunID:        stmt.ColumnText(1),
		RunSeq:       stmt.ColumnInt64(2),
		Timestamp:    stmt.ColumnInt64(3),
		EventID:      stmt.ColumnText(4),
		EventType:    stmt.ColumnText(5),
		Agent:        stmt.ColumnText(6),
		InvocationID: stmt.ColumnText(7),
		TraceID:      stmt.ColumnText(8),
		SpanID:       stmt.ColumnText(9),
		ParentSpanID: stmt.ColumnText(10),
		Content:      columnJSON(stmt, 11),
		ContentParts: columnJSON(stmt, 12),
		Attributes:   columnJSON(stmt, 13),
		LatencyMS:    columnJSON(stmt, 14),
		Status:       stmt.ColumnText(15),
		ErrorMessage: stmt.ColumnText(16),
		IsTruncated:  stmt.ColumnBool(17),
	}
}

// Count returns the number of rows in the journal, over all sessions. It reads an
// index from end to end.
func (j *Journal) Count(ctx context.Context) (int64, error) {
	var n int64
	err := j.read(ctx, "count rows", func(conn *sqlite.Conn) error {
		return query(conn, countEventsSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt64(0)
			return nil
		})
	})
	return n, err
}

// SessionsQuery selects sessions. The zero value selects the newest 100.
type SessionsQuery struct {
	// App and User select the sessions of one application and one user; empty
	// selects all.
	App  string
	User string
	// Limit is the greatest number of sessions to return. Default 100.
	Limit int
	// Offset is the number of sessions to skip.
	Offset int
}

// SessionSummary is one line of the list of sessions.
type SessionSummary struct {
	Session schema.Session
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

// Sessions lists sessions, the one with the newest row first.
func (j *Journal) Sessions(ctx context.Context, q SessionsQuery) ([]SessionSummary, error) {
	if q.Limit < 0 || q.Offset < 0 {
		return nil, fmt.Errorf("journal: list sessions: limit %d, offset %d: neither may be negative", q.Limit, q.Offset)
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	var list []SessionSummary
	err := j.read(ctx, "list sessions", func(conn *sqlite.Conn) error {
		return query(conn, selectSessionsSQL, func(b *binder) {
			b.text(q.App, q.User)
			b.integer(int64(q.Limit), int64(q.Offset))
		}, func(stmt *sqlite.Stmt) error {
			s := SessionSummary{
				Session:  schema.Session{App: stmt.ColumnText(0), User: stmt.ColumnText(1), ID: stmt.ColumnText(2)},
				First:    columnTime(stmt, 3),
				Last:     columnTime(stmt, 4),
				LastSeq:  stmt.ColumnInt64(5),
				Events:   stmt.ColumnInt64(6),
				Approval: stmt.ColumnText(8),
			}
			if err := json.Unmarshal(columnJSON(stmt, 7), &s.Agents); err != nil {
				return fmt.Errorf("agents of session %s: %w", s.Session.ID, err)
			}
			list = append(list, s)
			return nil
		})
	})
	return list, err
}
