// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// maxCode bounds the Code of a letter.
const maxCode = 128

// defaultDeadLetters is how many letters are listed when nobody says how many.
const defaultDeadLetters = 100

// putLetter stores a letter.
func putLetter(conn *sqlite.Conn, l *store.DeadLetter, destination int64, now time.Time) error {
	err := writeLetter(conn, insertDeadLetterSQL, l, destination, now)
	if err == nil && conn.Changes() == 0 {
		err = fmt.Errorf("a dead letter for row %d: there is no such row", l.Seq)
	}
	return err
}

// writeLetter runs a statement with the server's words about the row.
func writeLetter(conn *sqlite.Conn, statement string, l *store.DeadLetter, destination int64, now time.Time) error {
	at := l.At
	if at.IsZero() {
		at = now
	}
	return exec(conn, statement, func(b *binder) {
		b.integer(destination, l.Seq, int64(l.Bytes))
		b.optional(text.Clip(l.Code, maxCode))
		b.text(text.Clip(l.Reason, store.MaxReason))
		b.time(at)
	})
}

func (o *outbox) DeadLetters(ctx context.Context, limit int) ([]store.DeadLetter, error) {
	if limit < 0 {
		return nil, fmt.Errorf("journal: dead letters of %s: limit %d is negative", o.name, limit)
	}
	return list(ctx, o.journal, "dead letters of "+o.name, selectDeadLettersSQL, func(b *binder) {
		b.text(o.name)
		b.integer(int64(cmp.Or(limit, defaultDeadLetters)))
	}, func(stmt *sqlite.Stmt) store.DeadLetter {
		return store.DeadLetter{
			Seq:       stmt.ColumnInt64(0),
			EventID:   stmt.ColumnText(1),
			Session:   columnSession(stmt, 2),
			EventType: stmt.ColumnText(5),
			Bytes:     stmt.ColumnInt(6),
			Code:      stmt.ColumnText(7),
			Reason:    stmt.ColumnText(8),
			At:        columnTime(stmt, 9),
		}
	})
}

func (o *outbox) DeadRows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	return o.rows(ctx, "rows of dead letters of "+o.name, selectDeadRowsSQL, maxRows, maxBytes, func(b *binder) {
		b.integer(after, int64(maxRows))
		b.text(o.name)
	})
}

func (o *outbox) Reword(ctx context.Context, letters []store.DeadLetter) error {
	letters = slices.Clone(letters)
	return o.write(ctx, "reword dead letters of "+o.name, func(conn *sqlite.Conn) error {
		d, found, err := getDestination(conn, o.name)
		if err != nil || !found {
			return err
		}
		now := o.journal.w.now()
		for i := range letters {
			if err := writeLetter(conn, updateDeadLetterSQL, &letters[i], d.id, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *outbox) Discard(ctx context.Context, eventIDs []string) (int, error) {
	eventIDs = slices.Clone(eventIDs)
	var removed int
	err := o.journal.write(ctx, "discard dead letters of "+o.name, syncFull, func(conn *sqlite.Conn) error {
		d, found, err := getDestination(conn, o.name)
		if err != nil || !found {
			return err
		}
		for _, id := range eventIDs {
			err := exec(conn, deleteDeadLetterSQL, func(b *binder) {
				b.integer(d.id)
				b.text(id)
			})
			if err != nil {
				return err
			}
			removed += conn.Changes()
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
