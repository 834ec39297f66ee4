// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/record"
)

// read runs fn on a reading connection. The statements of fn see what was committed
// when each of them began.
func (j *Journal) read(ctx context.Context, what string, fn func(*sqlite.Conn) error) error {
	if isClosed(j.w.closing) {
		return fmt.Errorf("journal: %s: %w", what, ErrClosed)
	}
	err := j.readers.with(ctx, fn)
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
func (j *Journal) Events(ctx context.Context, s record.Session) ([]record.Event, error) {
	return j.EventsAfter(ctx, s, 0)
}

// EventsAfter returns the rows of s with a Seq greater than seq, in order.
func (j *Journal) EventsAfter(ctx context.Context, s record.Session, seq int64) ([]record.Event, error) {
	var events []record.Event
	err := j.read(ctx, "read events", func(conn *sqlite.Conn) (err error) {
		events, err = readEvents(conn, s, seq, noLimit)
		return err
	})
	return events, err
}

// noLimit is the limit of a statement that returns, or removes, all rows.
const noLimit = -1

// readEvents returns the rows of s after seq, in order, at most limit.
func readEvents(conn *sqlite.Conn, s record.Session, seq int64, limit int) (events []record.Event, err error) {
	err = query(conn, selectEventsSQL, func(b *binder) {
		b.session(s)
		b.integer(seq, int64(limit))
	}, func(stmt *sqlite.Stmt) error {
		events = append(events, scanEvent(stmt, s))
		return nil
	})
	return events, err
}

func scanEvent(stmt *sqlite.Stmt, s record.Session) record.Event {
	return record.Event{
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
