// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adk-contextgraph/contextgraph/internal/store"
)

const (
	sweepInterval = time.Minute
	// minIdle is the shortest time without a row after which a session is removed: a run may be under way.
	minIdle = 10 * time.Minute
	// stepRows bounds the removal in one transaction, and maxHeld how many sessions are counted that wait to be sent.
	stepRows = 1000
	maxHeld  = 1000
)

// due is a session to remove, up to the row with the number.
type due struct {
	session []byte
	to      int64
}

func scanDue(r scanner) (d due, err error) { return d, r.to(&d.session, &d.to) }

// retain is the goroutine that removes what is older than age.
func (s *db) retain(age time.Duration) {
	s.every(sweepInterval, func() {
		err := s.sweep(s.hurry, s.now(), age)
		if s.isClosed() {
			return
		}
		if err != nil {
			s.log.Warn("contextgraph: retention fails; it tries again", "error", err)
		}
		s.note(func(st *store.Stats) { st.RetentionError = err })
	})
}

// sweep removes the sessions whose last row is older than age.
func (s *db) sweep(ctx context.Context, now time.Time, age time.Duration) error {
	before := now.Add(-max(age, minIdle)).UnixMicro()
	for {
		list, err := read(ctx, s, "select_removable", scanDue, before, false, 1)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			held, err := read(ctx, s, "select_removable", scanDue, before, true, maxHeld)
			s.note(func(st *store.Stats) { st.HeldSessions = len(held) })
			return err
		}
		if err := s.removeStep(ctx, before, list[0]); err != nil {
			return err
		}
	}
}

// removeStep removes a session, or a part of it, unless it has gone on since it was found.
func (s *db) removeStep(ctx context.Context, before int64, d due) error {
	return s.do(ctx, "remove a session", func(ctx context.Context) error {
		var rows int64
		finished := false
		err := s.tx(ctx, func(tx pgx.Tx) error {
			if _, err := exec(ctx, tx, "lock_sessions", [][]byte{d.session}); err != nil {
				return err
			}
			list, err := query(ctx, tx, "select_removable", scanDue, before, false, 1)
			if err != nil || len(list) == 0 || string(list[0].session) != string(d.session) {
				return err
			}
			if rows, err = exec(ctx, tx, "remove_rows", d.session, list[0].to, stepRows); err != nil {
				return err
			}
			if _, err = exec(ctx, tx, "mark_removal", d.session, list[0].to, rows); err != nil || rows == stepRows {
				return err
			}
			if _, err = exec(ctx, tx, "remove_children", d.session); err != nil {
				return err
			}
			_, err = exec(ctx, tx, "finish_removal", d.session)
			finished = true
			return err
		})
		if err == nil {
			s.note(func(st *store.Stats) {
				st.RemovedRows += uint64(rows)
				if finished {
					st.RemovedSessions++
				}
			})
		}
		return err
	})
}
