// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Gaps says, in sentences for people, what is missing from the record of s: rows
// lost from the middle of a run, runs that ended without saying so, rows that
// retention removed and rows that were dropped, by this process or, as far as the file
// knows, by any other. No gap gives an empty list. live names the runs in progress,
// which are not expected to have ended. Call Flush first: a row that is still queued
// may look like a gap.
func (j *Journal) Gaps(ctx context.Context, s schema.Session, live []string) ([]string, error) {
	var gaps []string
	var saved int
	err := j.read(ctx, "look for gaps", func(conn *sqlite.Conn) error {
		err := query(conn, selectRunsSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
			run := stmt.ColumnText(0)
			completed := stmt.ColumnBool(1)
			expected, stored := stmt.ColumnInt64(2), stmt.ColumnInt64(3)
			turn := fmt.Sprintf("turn %s (run %s, started %s)", stmt.ColumnText(5), run, columnTime(stmt, 4).Format(time.RFC3339))
			if missing := expected - stored; missing > 0 {
				gaps = append(gaps, fmt.Sprintf("%s: %d of %d rows are missing", turn, missing, expected))
			}
			if !completed && !slices.Contains(live, run) {
				gaps = append(gaps, fmt.Sprintf("%s ended without %s", turn, schema.InvocationCompleted))
			}
			return nil
		})
		if err != nil {
			return err
		}
		// After the runs: what is removed while they are read shows here.
		removed, _, err := removedRows(conn, s)
		if removed > 0 {
			gaps = append(gaps, fmt.Sprintf("%d rows of this session were removed by retention", removed))
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
	// What is saved between the two looks is in the first number still.
	lost, unsaved := j.queue.lostOf(s)
	if n := max(lost, saved+unsaved); n > 0 {
		gaps = append(gaps, fmt.Sprintf("%d rows were dropped before they could be stored", n))
	}
	return gaps, nil
}

// Turns returns the runs of s that are on record, by the id of the turn (the
// invocation) that each is of. Call Flush first, as for Gaps.
func (j *Journal) Turns(ctx context.Context, s schema.Session) (map[string][]string, error) {
	turns := make(map[string][]string)
	err := j.read(ctx, "list turns", func(conn *sqlite.Conn) error {
		return query(conn, selectTurnsSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
			turn := stmt.ColumnText(0)
			turns[turn] = append(turns[turn], stmt.ColumnText(1))
			return nil
		})
	})
	return turns, err
}
