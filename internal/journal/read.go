// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// read runs fn on a reading connection. The statements of fn see what was committed
// when each of them began.
func (j *Journal) read(ctx context.Context, what string, fn func(*sqlite.Conn) error) error {
	if isClosed(j.w.closing) {
		return fmt.Errorf("journal: %s: %w", what, store.ErrClosed)
	}
	err := j.readers.with(ctx, fn)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case isClosed(j.w.closing):
		err = store.ErrClosed
	}
	return fmt.Errorf("journal: %s: %w", what, explain(err))
}

// Events returns the rows of s in the order they were recorded. Rows still queued
// are not among them: call Flush first to have all.
func (j *Journal) Events(ctx context.Context, s record.Session) ([]record.Event, error) {
	var events []record.Event
	err := j.read(ctx, "read events", func(conn *sqlite.Conn) (err error) {
		events, err = readEvents(conn, s, 0, noLimit, math.MaxInt64)
		return err
	})
	return events, err
}

// The bounds of [Journal.RowsAfter].
const (
	nextRows  = 500
	nextBytes = 4 << 20
)

// Children implements [store.Store].
func (j *Journal) Children(ctx context.Context, s record.Session) (list []record.Child, err error) {
	err = j.read(ctx, "look for children", func(conn *sqlite.Conn) error {
		return query(conn, selectChildrenSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
			child := record.Session{App: stmt.ColumnText(0), User: stmt.ColumnText(1), ID: stmt.ColumnText(2)}
			list = append(list, record.Child{Session: child, Span: stmt.ColumnText(3), Call: stmt.ColumnText(4)})
			return nil
		})
	})
	return list, err
}

// RowsAfter returns the next rows of s with a Seq greater than seq, in order: at most 500 rows and
// 4 MiB of payload, but at least one row if there is one. When it returns none, there are no more.
func (j *Journal) RowsAfter(ctx context.Context, s record.Session, seq int64) (rows []record.Event, err error) {
	err = j.read(ctx, "read the next rows", func(conn *sqlite.Conn) (err error) {
		rows, err = readEvents(conn, s, seq, nextRows, nextBytes)
		return err
	})
	return rows, err
}

// Row returns the row with an event id, of any session; false if no such row is stored.
func (j *Journal) Row(ctx context.Context, eventID string) (e record.Event, found bool, err error) {
	err = j.read(ctx, "read row "+eventID, func(conn *sqlite.Conn) (err error) {
		e, found, err = readRow(conn, eventID)
		return err
	})
	return e, found, err
}

// Stored reports whether all rows with these event ids are stored. It looks them up in an index, and
// reads no row.
func (j *Journal) Stored(ctx context.Context, eventIDs ...string) (all bool, err error) {
	err = j.read(ctx, "look for rows", func(conn *sqlite.Conn) error {
		all = true
		for _, id := range eventIDs {
			all = false
			err := query(conn, selectStoredSQL, func(b *binder) { b.text(id) }, func(*sqlite.Stmt) error {
				all = true
				return nil
			})
			if err != nil || !all {
				return err
			}
		}
		return nil
	})
	return all, err
}

// noLimit is the limit of a statement that returns all rows.
const noLimit = -1

// readEvents returns the rows of s after seq, in order: at most limit rows and maxBytes of payload,
// but at least one row if there is one.
func readEvents(conn *sqlite.Conn, s record.Session, seq int64, limit int, maxBytes int64) ([]record.Event, error) {
	return scanRows(conn, selectEventsSQL, maxBytes, func(b *binder) {
		b.session(s)
		b.integer(seq, int64(limit))
	}, columns{
		payload: [...]int{11, 12, 13, 14, 16},
		row:     func(stmt *sqlite.Stmt) record.Event { return scanEvent(stmt, s) },
	})
}

// readRow returns the row with an event id.
func readRow(conn *sqlite.Conn, eventID string) (e record.Event, found bool, err error) {
	err = query(conn, selectRowSQL, func(b *binder) { b.text(eventID) }, func(stmt *sqlite.Stmt) error {
		e, found = scanRow(stmt), true
		return nil
	})
	return e, found, err
}

// columns tells what the columns of a statement are.
type columns struct {
	// payload are the numbers of the columns whose bytes count as the payload of a row: content,
	// content parts, attributes, latencies and error message.
	payload [5]int
	row     func(*sqlite.Stmt) record.Event
}

// scanRows reads rows until the statement has no more or the next would exceed maxBytes, but at
// least one row if there is one.
func scanRows(conn *sqlite.Conn, text string, maxBytes int64, bind func(*binder), of columns) (rows []record.Event, err error) {
	stmt, err := conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	defer func() {
		if resetErr := stmt.Reset(); err == nil {
			err = resetErr
		}
	}()
	bind(&binder{stmt: stmt})
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return rows, err
		}
		for _, col := range of.payload {
			maxBytes -= int64(stmt.ColumnLen(col))
		}
		if maxBytes < 0 && len(rows) > 0 {
			return rows, nil
		}
		rows = append(rows, of.row(stmt))
	}
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
