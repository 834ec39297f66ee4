// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

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

// write is writer.doAt with an error that says what failed.
func (j *Journal) write(ctx context.Context, what string, level synchronous, fn func(*sqlite.Conn) error) error {
	if err := j.w.doAt(ctx, level, fn); err != nil {
		return fmt.Errorf("journal: %s: %w", what, err)
	}
	return nil
}

// get returns what fn reads on a reading connection.
func get[T any](ctx context.Context, j *Journal, what string, fn func(*sqlite.Conn) (T, error)) (out T, err error) {
	err = j.read(ctx, what, func(conn *sqlite.Conn) (err error) {
		out, err = fn(conn)
		return err
	})
	return out, err
}

// list returns what scan makes of each row of a statement.
func list[T any](ctx context.Context, j *Journal, what, text string, bind func(*binder), scan func(*sqlite.Stmt) T) ([]T, error) {
	return get(ctx, j, what, func(conn *sqlite.Conn) (all []T, err error) {
		err = query(conn, text, bind, func(stmt *sqlite.Stmt) error {
			all = append(all, scan(stmt))
			return nil
		})
		return all, err
	})
}

// The bounds of [Journal.RowsAfter].
const (
	nextRows  = 500
	nextBytes = 4 << 20
)

// Children implements [store.Store].
func (j *Journal) Children(ctx context.Context, s record.Session) ([]record.Child, error) {
	return list(ctx, j, "look for children", selectChildrenSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) record.Child {
		return record.Child{Session: columnSession(stmt, 0), Span: stmt.ColumnText(3), Call: stmt.ColumnText(4)}
	})
}

// RowsAfter returns the next rows of s with a Seq greater than seq, in order: at most 500 rows and
// 4 MiB of payload, but at least one row if there is one. When it returns none, there are no more.
func (j *Journal) RowsAfter(ctx context.Context, s record.Session, seq int64) ([]record.Event, error) {
	return get(ctx, j, "read the next rows", func(conn *sqlite.Conn) ([]record.Event, error) {
		return scanRows(conn, selectEventsSQL, nextBytes, func(b *binder) {
			b.session(s)
			b.integer(seq, nextRows)
		}, rowOf(s))
	})
}

// Row returns the row with an event id, of any session; false if no such row is stored.
func (j *Journal) Row(ctx context.Context, eventID string) (e record.Event, found bool, err error) {
	err = j.read(ctx, "read row "+eventID, func(conn *sqlite.Conn) error {
		return query(conn, selectRowSQL, func(b *binder) { b.text(eventID) }, func(stmt *sqlite.Stmt) error {
			e, found = scanRow(stmt), true
			return nil
		})
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

// scanRows reads rows in the columns of select_rows until the statement has no more or the next would exceed maxBytes, but at
// least one row if there is one.
func scanRows(conn *sqlite.Conn, text string, maxBytes int64, bind func(*binder), scan func(*sqlite.Stmt) record.Event) (rows []record.Event, err error) {
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
		for col := columnErrorMessage; col <= columnLatency; col++ {
			maxBytes -= int64(stmt.ColumnLen(col))
		}
		if maxBytes < 0 && len(rows) > 0 {
			return rows, nil
		}
		rows = append(rows, scan(stmt))
	}
}

// rowOf returns what reads a row of select_events, which leaves out the session that its caller has.
func rowOf(s record.Session) func(*sqlite.Stmt) record.Event {
	return func(stmt *sqlite.Stmt) record.Event {
		e := scanRow(stmt)
		e.AppName, e.UserID, e.SessionID = s.App, s.User, s.ID
		return e
	}
}

// Columns of select_rows.
const (
	columnErrorMessage = 16 + iota // the first of those that count as the payload
	columnContent
	columnContentParts
	columnAttributes
	columnLatency
)

// scanRow reads a row of select_rows.
func scanRow(stmt *sqlite.Stmt) record.Event {
	return record.Event{
		Seq:          stmt.ColumnInt64(0),
		RunSeq:       stmt.ColumnInt64(1),
		Timestamp:    stmt.ColumnInt64(2),
		IsTruncated:  stmt.ColumnBool(3),
		AppName:      stmt.ColumnText(4),
		UserID:       stmt.ColumnText(5),
		SessionID:    stmt.ColumnText(6),
		RunID:        stmt.ColumnText(7),
		EventID:      stmt.ColumnText(8),
		EventType:    stmt.ColumnText(9),
		Agent:        stmt.ColumnText(10),
		InvocationID: stmt.ColumnText(11),
		TraceID:      stmt.ColumnText(12),
		SpanID:       stmt.ColumnText(13),
		ParentSpanID: stmt.ColumnText(14),
		Status:       stmt.ColumnText(15),
		ErrorMessage: stmt.ColumnText(columnErrorMessage),
		Content:      columnJSON(stmt, columnContent),
		ContentParts: columnJSON(stmt, columnContentParts),
		Attributes:   columnJSON(stmt, columnAttributes),
		LatencyMS:    columnJSON(stmt, columnLatency),
	}
}
