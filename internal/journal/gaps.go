// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Gaps lists, in sentences for people, the missing parts of the record of s: rows lost from the
// middle of a run, runs without an end, and the losses of [Journal.Losses]. A complete record has
// an empty list. live names the runs in progress, which need no end yet. Call Flush first: a row
// that is still queued may look like a gap.
func (j *Journal) Gaps(ctx context.Context, s record.Session, live []string) ([]string, error) {
	runs, err := list(ctx, j, "look for gaps", selectRunsSQL, s, func(stmt *sqlite.Stmt) (graphsync.Run, error) {
		return graphsync.Run{
			ID: stmt.ColumnText(0), Completed: stmt.ColumnBool(1), Expected: stmt.ColumnInt64(2), Stored: stmt.ColumnInt64(3),
			Started: columnTime(stmt, 4), Turn: stmt.ColumnText(5),
		}, nil
	})
	if err != nil {
		return nil, err
	}
	// After the runs: a removal during their reading shows there.
	losses, err := j.Losses(ctx, s)
	if err != nil {
		return nil, err
	}
	return append(graphsync.RunGaps(runs, live), losses...), nil
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
