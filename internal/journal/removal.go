// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"math"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/record"
)

// stepRows and stepBytes bound the removal in one transaction to a few milliseconds, because other
// writers wait for it.
const (
	stepRows  = 64
	stepBytes = 1 << 20
)

// usage is the use of the pages of the file.
type usage struct {
	pageSize, pages, free int64
}

// used returns the bytes that are in use.
func (u usage) used() int64 { return (u.pages - u.free) * u.pageSize }

func readUsage(conn *sqlite.Conn) (u usage, err error) {
	err = query(conn, selectUsageSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
		u.pageSize, u.pages, u.free = stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnInt64(2)
		return nil
	})
	return u, err
}

// cutoff holds two times. A session may be removed if its last row is before its time: one time for
// sessions whose removal has begun, one for others. The zero time excludes all.
type cutoff struct{ begun, untouched time.Time }

// removal is a session to remove: its rows up to the number to. last is the time of its last row, in
// microseconds; begun says that a part of it is gone.
type removal struct {
	session  int64 // its number
	to, last int64
	begun    bool
}

// sinceEver is a time before all rows.
const sinceEver = math.MinInt64

// nextRemoval chooses the session to remove. A removal that any process has begun is finished
// first. Of the others it looks at those with a last row at the time from or later: who sweeps has
// passed over those before, and they may be many that stay.
func nextRemoval(conn *sqlite.Conn, before cutoff, from int64) (next removal, found bool, err error) {
	list, err := selectRemovable(conn, true, before.begun, false, 1, sinceEver)
	if err == nil && len(list) == 0 {
		list, err = selectRemovable(conn, false, before.untouched, false, 1, from)
	}
	if err != nil || len(list) == 0 {
		return next, false, err
	}
	return list[0], true, nil
}

// selectRemovable returns at most limit sessions with a last row from a time on and before another:
// those that may be removed or, with waiting, those that only replication keeps.
func selectRemovable(conn *sqlite.Conn, begun bool, before time.Time, waiting bool, limit int, from int64) (list []removal, err error) {
	if before.IsZero() {
		return nil, nil
	}
	err = query(conn, selectRemovableSQL, func(b *binder) {
		b.boolean(begun)
		b.time(before)
		b.boolean(waiting)
		b.integer(int64(limit), from)
	}, func(stmt *sqlite.Stmt) error {
		list = append(list, removal{
			session: stmt.ColumnInt64(0), to: stmt.ColumnInt64(1), last: stmt.ColumnInt64(2), begun: begun,
		})
		return nil
	})
	return list, err
}

// removalStep is what one transaction removed.
type removalStep struct {
	rows     uint64
	finished bool // the last of the session is gone
}

// removeStep removes a session, or a part of it, inside the transaction of the
// writer. It chooses anew, because the session may have gone on since it was found,
// or another process has removed it.
func removeStep(conn *sqlite.Conn, before cutoff, from int64) (step removalStep, err error) {
	next, found, err := nextRemoval(conn, before, from)
	if err != nil || !found {
		return step, err
	}
	rows, all, err := next.removeRows(conn)
	if err != nil {
		return step, err
	}
	step.rows = uint64(rows)
	err = exec(conn, markRemovalSQL, func(b *binder) { b.integer(next.session, next.to, rows) })
	if err == nil {
		err = exec(conn, removeSummarySQL, func(b *binder) { b.integer(next.session) })
	}
	if err != nil || !all {
		return step, err
	}
	step.finished = true
	for _, text := range []string{removeAgentsSQL, removeChildrenSQL, finishRemovalSQL} {
		if err := exec(conn, text, func(b *binder) { b.integer(next.session) }); err != nil {
			return step, err
		}
	}
	return step, nil
}

// removeRows removes the oldest rows, as many as one transaction may, and reports
// whether these were all.
func (r removal) removeRows(conn *sqlite.Conn) (rows int64, all bool, err error) {
	var seen, bytes, last int64
	err = query(conn, selectRemovableRowsSQL, func(b *binder) { b.integer(r.session, r.to, stepRows) }, func(stmt *sqlite.Stmt) error {
		seen++
		if bytes < stepBytes {
			last = stmt.ColumnInt64(0)
			bytes += stmt.ColumnInt64(1)
			rows++
		}
		return nil
	})
	if err != nil || rows == 0 {
		return 0, true, err
	}
	err = exec(conn, removeRowsSQL, func(b *binder) { b.integer(r.session, last) })
	if err == nil {
		err = exec(conn, markRemovedToSQL, func(b *binder) { b.integer(last) })
	}
	return rows, rows == seen && seen < stepRows, err
}

// removedRows returns the number of removed rows of s, and the number up to which rows were removed
// or are being removed.
func removedRows(conn *sqlite.Conn, s record.Session) (rows, to int64, err error) {
	err = query(conn, selectRemovedSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
		rows, to = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
		return nil
	})
	return rows, to, err
}
