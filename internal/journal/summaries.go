// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Summaries calls each with every session with rows, and with what is known of it at the time now, all
// at one moment. It reads no row.
func (j *Journal) Summaries(ctx context.Context, now time.Time, each func(*store.Summary)) error {
	return j.read(ctx, "read the summaries of sessions", func(conn *sqlite.Conn) error {
		var words []byte
		return query(conn, selectSummariesSQL, func(b *binder) { b.time(now) }, func(stmt *sqlite.Stmt) error {
			s := store.Summary{
				Session: columnSession(stmt, 0),
				LastSeq: stmt.ColumnInt64(3), LastTime: stmt.ColumnInt64(4), Events: stmt.ColumnInt64(5),
				Known: !stmt.ColumnIsNull(6),
			}
			if s.Known {
				words = slices.Grow(words[:0], stmt.ColumnLen(7))[:stmt.ColumnLen(7)]
				stmt.ColumnBytes(7, words)
				s.Status, s.Words, s.More = stmt.ColumnText(6), words, columnJSON(stmt, 8)
				for i, n := range numbersOf(&s) {
					*n = stmt.ColumnInt64(9 + i)
				}
			}
			each(&s)
			return nil
		})
	})
}

// numbersOf returns the numbers of a summary in the order of their columns.
func numbersOf(s *store.Summary) [7]*int64 {
	return [...]*int64{&s.Start, &s.End, &s.Errors, &s.Turns, &s.Prompt, &s.Completion, &s.Total}
}

// Stamp returns the state of a session: before its rows are read for a summary.
func (j *Journal) Stamp(ctx context.Context, s record.Session) (store.Stamp, error) {
	return get(ctx, j, "look at the state of a session", func(conn *sqlite.Conn) (store.Stamp, error) { return stampOf(conn, s) })
}

// stampOf returns the state of a session; the zero value if nothing is known of it.
func stampOf(conn *sqlite.Conn, s record.Session) (stamp store.Stamp, err error) {
	err = query(conn, selectStampSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
		stamp = store.Stamp{LastSeq: stmt.ColumnInt64(0), Events: stmt.ColumnInt64(1), Lost: stmt.ColumnInt64(2), Steps: stmt.ColumnInt64(3)}
		return nil
	})
	return stamp, err
}

// KeepSummaries stores summaries in one transaction, which need not be on the disk when it returns.
func (j *Journal) KeepSummaries(ctx context.Context, list []store.NewSummary) error {
	return j.write(ctx, fmt.Sprintf("keep the summaries of %d sessions", len(list)), syncNormal, func(conn *sqlite.Conn) error {
		for _, s := range list {
			now, err := stampOf(conn, s.Session)
			if err != nil {
				return err
			}
			if now != s.Of {
				continue
			}
			err = exec(conn, upsertSummarySQL, func(b *binder) {
				b.session(s.Session)
				b.integer(s.Of.LastSeq)
				b.time(s.Until)
				b.text(s.Status)
				b.blob(s.Words)
				b.json(s.More)
				for _, n := range numbersOf(&s.Summary) {
					b.integer(*n)
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
