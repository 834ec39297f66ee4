// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/index"
	"github.com/adk-contextgraph/contextgraph/record"
)

var (
	//go:embed sql/select_marks.sql
	selectMarksSQL string
	//go:embed sql/select_lost_marks.sql
	selectLostMarksSQL string
	//go:embed sql/select_decided.sql
	selectDecidedSQL string
	//go:embed sql/select_last_step.sql
	selectLastStepSQL string
	//go:embed sql/select_session.sql
	selectSessionSQL string
)

// MarkedSession is a session and the state that it is in.
type MarkedSession struct {
	record.Session
	index.Mark
}

// Marks calls each with every session with rows and the state that it is in, all at one moment. touched
// says that the ledger may say more about it than after the step with the number step. last is the
// number of the last step. It reads no row.
func (j *Journal) Marks(ctx context.Context, step int64, each func(m MarkedSession, touched bool)) (last int64, err error) {
	lost, decided := make(map[int64]int64), make(map[int64]bool)
	err = j.read(ctx, "look at the states of sessions", func(conn *sqlite.Conn) error {
		return atOnce(conn, func() error {
			err := query(conn, selectLastStepSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
				last = stmt.ColumnInt64(0)
				return nil
			})
			if err != nil {
				return err
			}
			err = query(conn, selectDecidedSQL, func(b *binder) { b.integer(step) }, func(stmt *sqlite.Stmt) error {
				decided[stmt.ColumnInt64(0)] = true
				return nil
			})
			if err != nil {
				return err
			}
			err = query(conn, selectLostMarksSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
				lost[stmt.ColumnInt64(0)] = stmt.ColumnInt64(1)
				return nil
			})
			if err != nil {
				return err
			}
			return query(conn, selectMarksSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
				seq := stmt.ColumnInt64(3)
				each(MarkedSession{
					record.Session{App: stmt.ColumnText(0), User: stmt.ColumnText(1), ID: stmt.ColumnText(2)},
					index.Mark{LastSeq: seq, LastTime: stmt.ColumnInt64(4), Events: stmt.ColumnInt64(5), Lost: lost[seq]},
				}, last < step || decided[seq]) // a ledger with fewer steps is that of a copy
				return nil
			})
		})
	})
	return last, err
}

// Session returns a session as it is now. found is false if nothing is left of it.
func (j *Journal) Session(ctx context.Context, s record.Session) (is SessionSummary, found bool, err error) {
	err = j.read(ctx, "look up a session", func(conn *sqlite.Conn) error {
		return query(conn, selectSessionSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) (err error) {
			found = true
			is, err = scanSummary(stmt)
			return err
		})
	})
	return is, found, err
}

// PruneIndex takes the entries of sessions that were removed out of the index of the journal. Whoever
// removes sessions calls it after that, and whoever writes an index after that: so the entry of a
// session that is removed meanwhile does not stay. An index that cannot be read or written is removed.
func (j *Journal) PruneIndex(ctx context.Context) error {
	index.Clean(j.path)
	x, err := index.Read(j.path, j.id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		left := make(map[int64]bool)
		if _, err := j.Marks(ctx, x.Step, func(m MarkedSession, _ bool) { left[m.LastSeq] = true }); err != nil {
			return err
		}
		before := len(x.Entries)
		x.Entries = slices.DeleteFunc(x.Entries, func(e *index.Entry) bool { return !left[e.LastSeq] })
		if len(x.Entries) == before {
			return nil
		}
		if err = index.Write(j.path, j.id, x); err == nil || errors.Is(err, index.ErrBusy) {
			return nil // another process that writes one looks afterwards
		}
	}
	if err := index.Remove(j.path); err != nil {
		return fmt.Errorf("journal: the index may keep entries of sessions that were removed: delete it: %w", err)
	}
	return nil
}
