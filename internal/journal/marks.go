// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	_ "embed"
	"slices"

	"zombiezen.com/go/sqlite"
)

var (
	//go:embed sql/select_marks.sql
	selectMarksSQL string
	//go:embed sql/select_decided.sql
	selectDecidedSQL string
	//go:embed sql/select_last_step.sql
	selectLastStepSQL string
	//go:embed sql/select_session_of.sql
	selectSessionOfSQL string
)

// Mark says which state a session is in. Whoever keeps what he made of the rows of a session has to
// make it anew when its mark is another one.
type Mark struct {
	// LastSeq is the Seq of the row stored last, which no other session has. LastTime is the time of
	// the latest row, in microseconds.
	LastSeq, LastTime int64
	// Events is the number of its rows, Lost how many are known to be lost.
	Events, Lost int64
}

// Marks are the states of all sessions with rows at one moment.
type Marks struct {
	// Sessions are the newest first.
	Sessions []Mark
	// Decided has the LastSeq of each session with a step of an approval after the step that was asked
	// for, LastStep is the number of the last step.
	Decided  map[int64]bool
	LastStep int64
}

// Marks returns the states of all sessions, and which of them have steps of approvals after the step
// with the number step. It reads no row.
func (j *Journal) Marks(ctx context.Context, step int64) (Marks, error) {
	m := Marks{Decided: make(map[int64]bool)}
	err := j.read(ctx, "look at the states of sessions", func(conn *sqlite.Conn) error {
		return atOnce(conn, func() error {
			err := query(conn, selectMarksSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
				m.Sessions = append(m.Sessions, Mark{stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnInt64(2), stmt.ColumnInt64(3)})
				return nil
			})
			if err != nil {
				return err
			}
			err = query(conn, selectDecidedSQL, func(b *binder) { b.integer(step) }, func(stmt *sqlite.Stmt) error {
				m.Decided[stmt.ColumnInt64(0)] = true
				return nil
			})
			if err != nil {
				return err
			}
			return query(conn, selectLastStepSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
				m.LastStep = stmt.ColumnInt64(0)
				return nil
			})
		})
	})
	slices.SortFunc(m.Sessions, func(a, b Mark) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	return m, err
}

// SessionOf returns the session of the row with the number seq, as it is now. found is false if
// nothing is left of it.
func (j *Journal) SessionOf(ctx context.Context, seq int64) (of SessionSummary, found bool, err error) {
	err = j.read(ctx, "look up a session", func(conn *sqlite.Conn) error {
		return query(conn, selectSessionOfSQL, func(b *binder) { b.integer(seq) }, func(stmt *sqlite.Stmt) (err error) {
			found = true
			of, err = scanSummary(stmt)
			return err
		})
	})
	return of, found, err
}
