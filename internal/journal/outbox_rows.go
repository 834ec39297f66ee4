// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ID returns the name of the journal in other places: 32 hexadecimal digits, minted
// when the file is created. A copy of the file has the same.
func (j *Journal) ID() string { return j.id }

// identify returns the id and the secret that stand in the file.
func identify(conn *sqlite.Conn) (id string, secret []byte, err error) {
	err = query(conn, selectJournalSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
		id, secret = stmt.ColumnText(0), make([]byte, stmt.ColumnLen(1))
		stmt.ColumnBytes(1, secret)
		return nil
	})
	if err == nil && (id == "" || len(secret) == 0) {
		err = errors.New("the file has no id or no secret: somebody changed it by hand")
	}
	return id, secret, err
}

// LastSeq returns the greatest number of a committed row, 0 when there is none.
func (j *Journal) LastSeq(ctx context.Context) (int64, error) {
	return get(ctx, j, "number of the last row", lastSeq)
}

// Changes is [Journal.LastSeq]: rows are committed in the order of their numbers.
func (j *Journal) Changes(ctx context.Context) (int64, error) { return j.LastSeq(ctx) }

func (o *outbox) LastSeq(ctx context.Context) (int64, error) { return o.journal.LastSeq(ctx) }

func lastSeq(conn *sqlite.Conn) (seq int64, err error) {
	err = query(conn, selectLastSeqSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
		seq = stmt.ColumnInt64(0)
		return nil
	})
	return seq, err
}

// Rows implements [store.Outbox].
func (o *outbox) Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	return o.rows(ctx, "rows for "+o.name, selectRowsSQL, maxRows, maxBytes, func(b *binder) {
		b.integer(after, int64(maxRows))
	})
}

// rows reads rows by a statement with the columns of select_rows.
func (o *outbox) rows(ctx context.Context, what, text string, maxRows int, maxBytes int64, bind func(*binder)) ([]record.Event, error) {
	if maxRows <= 0 || maxBytes <= 0 {
		return nil, fmt.Errorf("journal: %s: at most %d rows of %d bytes: both bounds must be positive", what, maxRows, maxBytes)
	}
	return get(ctx, o.journal, what, func(conn *sqlite.Conn) ([]record.Event, error) { return scanRows(conn, text, maxBytes, bind, scanRow) })
}

// backlogCounted is up to how many rows a backlog is counted.
const backlogCounted = 1000

func (o *outbox) Backlog(ctx context.Context) (store.Backlog, error) {
	return get(ctx, o.journal, "backlog of "+o.name, func(conn *sqlite.Conn) (store.Backlog, error) { return backlog(conn, o.name) })
}

// backlog returns what the destination with the name lacks.
func backlog(conn *sqlite.Conn, name string) (l store.Backlog, err error) {
	err = query(conn, selectBacklogSQL, func(b *binder) {
		b.text(name, store.GraphDestination(name))
		b.integer(backlogCounted)
	}, func(stmt *sqlite.Stmt) error {
		l.Rows = stmt.ColumnInt64(0)
		if l.Rows == backlogCounted {
			l.Rows = stmt.ColumnInt64(3) - stmt.ColumnInt64(1) + 1
		}
		l.First, l.Oldest, l.DeadLetters = stmt.ColumnInt64(1), columnTime(stmt, 2), stmt.ColumnInt64(4)
		l.Graphs = stmt.ColumnInt64(5)
		return nil
	})
	return l, err
}
