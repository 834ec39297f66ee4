// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Losses returns how many rows of s retention removed, and how many were dropped, by this process or,
// as far as the file knows, by any other.
func (j *Journal) Losses(ctx context.Context, s record.Session) ([]store.Loss, error) {
	var removed int64
	dropped := make(map[string]int)
	err := j.read(ctx, "look for losses", func(conn *sqlite.Conn) (err error) {
		if removed, _, err = removedRows(conn, s); err != nil {
			return err
		}
		return query(conn, selectLostRowsSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
			dropped[stmt.ColumnText(0)] = stmt.ColumnInt(1)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	lost, unsaved := j.queue.LostOf(s)
	for run, n := range unsaved {
		dropped[run] += n
	}
	for _, n := range dropped {
		lost -= n
	}
	if lost > 0 { // They were saved between the two looks.
		dropped[""] += lost
	}
	var losses []store.Loss
	if removed > 0 {
		losses = append(losses, store.Loss{Rows: removed, Cause: store.CauseRemoved})
	}
	for _, run := range slices.Sorted(maps.Keys(dropped)) {
		losses = append(losses, store.Loss{Run: run, Rows: int64(dropped[run]), Cause: store.CauseDropped})
	}
	return losses, nil
}

// saveLosses adds to the losses in the file, inside the transaction of the caller.
func saveLosses(conn *sqlite.Conn, losses []queue.Loss) error {
	for _, l := range losses {
		session, err := numberOf(conn, l.Session)
		if err != nil {
			return err
		}
		err = exec(conn, addLostRowsSQL, func(b *binder) {
			b.integer(session)
			b.text(l.Run)
			b.integer(int64(l.Rows), store.LossRuns)
		})
		if err != nil {
			return err
		}
		if err := exec(conn, removeSummarySQL, func(b *binder) { b.integer(session) }); err != nil {
			return err
		}
	}
	return nil
}
