// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// DeadLetter is a row that a destination refuses for its content, and will refuse whenever it is
// sent. The row itself stays in the journal, and retention keeps its session, until people decide:
// they have it sent again, see [Outbox.DeadRows], or [Outbox.Discard] the letter.
type DeadLetter struct {
	// Seq, EventID, Session and EventType name the row.
	Seq       int64
	EventID   string
	Session   record.Session
	EventType string
	// Bytes is the size of the row as it was sent.
	Bytes int
	// Reason has the words of the server, at most MaxReason bytes; Code is its code, may be empty.
	Reason string
	Code   string
	// At is when the row was refused.
	At time.Time
}

// MaxReason bounds DeadLetter.Reason in bytes: a server may quote the row. A longer one
// is cut and ends with "…".
const MaxReason = 4 << 10

// maxCode bounds DeadLetter.Code.
const maxCode = 128

// defaultDeadLetters is how many letters are listed when nobody says how many.
const defaultDeadLetters = 100

// put stores the letter.
func (l *DeadLetter) put(conn *sqlite.Conn, destination int64, now time.Time) error {
	err := l.write(conn, insertDeadLetterSQL, destination, now)
	if err == nil && conn.Changes() == 0 {
		err = fmt.Errorf("a dead letter for row %d: there is no such row", l.Seq)
	}
	return err
}

// write runs a statement with the server's words about the row.
func (l *DeadLetter) write(conn *sqlite.Conn, statement string, destination int64, now time.Time) error {
	at := l.At
	if at.IsZero() {
		at = now
	}
	return exec(conn, statement, func(b *binder) {
		b.integer(destination, l.Seq, int64(l.Bytes))
		b.optional(text.Clip(l.Code, maxCode))
		b.text(text.Clip(l.Reason, MaxReason))
		b.time(at)
	})
}

// DeadLetters returns the dead letters of the destination in the order of their rows, at
// most limit; 0 stands for 100.
func (o *Outbox) DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error) {
	if limit < 0 {
		return nil, fmt.Errorf("journal: dead letters of %s: limit %d is negative", o.name, limit)
	}
	if limit == 0 {
		limit = defaultDeadLetters
	}
	var list []DeadLetter
	err := o.journal.read(ctx, "dead letters of "+o.name, func(conn *sqlite.Conn) error {
		return query(conn, selectDeadLettersSQL, func(b *binder) {
			b.text(o.name)
			b.integer(int64(limit))
		}, func(stmt *sqlite.Stmt) error {
			list = append(list, DeadLetter{
				Seq:       stmt.ColumnInt64(0),
				EventID:   stmt.ColumnText(1),
				Session:   record.Session{App: stmt.ColumnText(2), User: stmt.ColumnText(3), ID: stmt.ColumnText(4)},
				EventType: stmt.ColumnText(5),
				Bytes:     stmt.ColumnInt(6),
				Code:      stmt.ColumnText(7),
				Reason:    stmt.ColumnText(8),
				At:        columnTime(stmt, 9),
			})
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// DeadRows returns the rows of dead letters with a number greater than after, bounded as by
// [Outbox.Rows]. Use it to send them again after the reason is gone. It needs no lease, because the
// owner of the lease has left these rows behind. [Outbox.Discard] settles a row that was
// acknowledged this time. A row that is sent and not discarded will be sent again; the destination
// recognises it by the event id.
func (o *Outbox) DeadRows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	return o.rows(ctx, "rows of dead letters of "+o.name, selectDeadRowsSQL, maxRows, maxBytes, func(b *binder) {
		b.integer(after, int64(maxRows))
		b.text(o.name)
	})
}

// Reword stores what was said about rows that were sent again and refused again: Bytes,
// Reason, Code and At of the letters (the zero At is now), by Seq. It needs no lease, and
// makes no letter for a row that has none: it may have been discarded meanwhile.
func (o *Outbox) Reword(ctx context.Context, letters []DeadLetter) error {
	letters = slices.Clone(letters)
	return o.write(ctx, "reword dead letters of "+o.name, func(conn *sqlite.Conn) error {
		d, found, err := getDestination(conn, o.name)
		if err != nil || !found {
			return err
		}
		now := o.journal.w.now()
		for i := range letters {
			if err := letters[i].write(conn, updateDeadLetterSQL, d.id, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Discard removes the dead letters with these event ids, for good when it returns nil,
// and returns how many there were. Retention need not keep their sessions any more.
func (o *Outbox) Discard(ctx context.Context, eventIDs []string) (int, error) {
	eventIDs = slices.Clone(eventIDs)
	var removed int
	err := o.journal.w.do(ctx, func(conn *sqlite.Conn) error {
		removed = 0
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
		return 0, fmt.Errorf("journal: discard dead letters of %s: %w", o.name, err)
	}
	return removed, nil
}
