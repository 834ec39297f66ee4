// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/record"
)

// txLosses bounds of how many sessions one transaction saves the losses.
const txLosses = 1024

// sessionLoss is how many rows of a session were lost.
type sessionLoss struct {
	session record.Session
	rows    int
}

// Losses says, in sentences for people, how many rows of s retention removed, and how many were
// dropped, by this process or, as far as the file knows, by any other.
func (j *Journal) Losses(ctx context.Context, s record.Session) ([]string, error) {
	var losses []string
	var saved int
	err := j.read(ctx, "look for losses", func(conn *sqlite.Conn) error {
		removed, _, err := removedRows(conn, s)
		if removed > 0 {
			losses = append(losses, fmt.Sprintf("%d rows of this session were removed by retention", removed))
		}
		if err != nil {
			return err
		}
		saved, err = savedLosses(conn, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	// A number that is saved between the two looks is still in the first one.
	lost, unsaved := j.queue.lostOf(s)
	if n := max(lost, saved+unsaved); n > 0 {
		losses = append(losses, fmt.Sprintf("%d rows were dropped before they could be stored", n))
	}
	return losses, nil
}

// unsavedSessions returns of how many sessions the file does not know all losses.
func (q *queue) unsavedSessions() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.unsaved)
}

// someUnsaved appends to losses what one transaction may save.
func (q *queue) someUnsaved(losses []sessionLoss) []sessionLoss {
	q.mu.Lock()
	defer q.mu.Unlock()
	for s, n := range q.unsaved {
		if len(losses) == txLosses {
			break
		}
		losses = append(losses, sessionLoss{s, n})
	}
	return losses
}

// saved notes that losses are in the file.
func (q *queue) saved(losses []sessionLoss) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range losses {
		if n := q.unsaved[l.session] - l.rows; n > 0 {
			q.unsaved[l.session] = n
		} else {
			delete(q.unsaved, l.session)
		}
	}
}

// saveLosses adds to the losses in the file, inside the transaction of the caller.
func saveLosses(conn *sqlite.Conn, losses []sessionLoss) error {
	for _, l := range losses {
		session, err := numberOf(conn, l.session)
		if err != nil {
			return err
		}
		if err := exec(conn, addLostRowsSQL, func(b *binder) { b.integer(session, int64(l.rows)) }); err != nil {
			return err
		}
		if err := exec(conn, removeSummarySQL, func(b *binder) { b.integer(session) }); err != nil {
			return err
		}
	}
	return nil
}

// savedLosses returns how many rows of s the file says were lost.
func savedLosses(conn *sqlite.Conn, s record.Session) (rows int, err error) {
	err = query(conn, selectLostRowsSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
		rows = stmt.ColumnInt(0)
		return nil
	})
	return rows, err
}
