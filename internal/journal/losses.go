// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// txLosses bounds of how many runs one transaction saves the losses.
const txLosses = 1024

// runLoss is how many rows of a run were lost.
type runLoss struct {
	session record.Session
	run     string
	rows    int
}

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
	lost, unsaved := j.queue.lostOf(s)
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

// loseOf counts one row of a run that the file does not know to be lost. The caller holds mu.
func (q *queue) loseOf(s record.Session, run string) {
	runs := q.unsaved[s]
	if runs == nil {
		runs = make(map[string]int, 1)
		q.unsaved[s] = runs
	}
	if _, known := runs[run]; !known && (len(runs) >= store.LossRuns || q.unsavedRuns >= lostSessions) {
		run = ""
	}
	if runs[run]++; runs[run] == 1 {
		q.unsavedRuns++
	}
}

// unsavedLosses returns of how many runs the file does not know all losses.
func (q *queue) unsavedLosses() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unsavedRuns
}

// someUnsaved appends to losses what one transaction may save.
func (q *queue) someUnsaved(losses []runLoss) []runLoss {
	q.mu.Lock()
	defer q.mu.Unlock()
	for s, runs := range q.unsaved {
		for run, n := range runs {
			if len(losses) == txLosses {
				return losses
			}
			losses = append(losses, runLoss{s, run, n})
		}
	}
	return losses
}

// saved notes that losses are in the file.
func (q *queue) saved(losses []runLoss) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range losses {
		runs := q.unsaved[l.session]
		if runs[l.run] -= l.rows; runs[l.run] > 0 {
			continue
		}
		q.unsavedRuns--
		if delete(runs, l.run); len(runs) == 0 {
			delete(q.unsaved, l.session)
		}
	}
}

// saveLosses adds to the losses in the file, inside the transaction of the caller.
func saveLosses(conn *sqlite.Conn, losses []runLoss) error {
	for _, l := range losses {
		session, err := numberOf(conn, l.session)
		if err != nil {
			return err
		}
		err = exec(conn, addLostRowsSQL, func(b *binder) {
			b.integer(session)
			b.text(l.run)
			b.integer(int64(l.rows), store.LossRuns)
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
