// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
)

// ErrNotReplicated is the reason in Stats.RetentionError when a file stays larger than
// it may become, because what would be removed is not replicated.
var ErrNotReplicated = errors.New("rows wait for replication")

// maxHeld is up to how many sessions that wait for replication are counted.
const maxHeld = 1000

// held has the sessions that were due and are kept, because they are not replicated everywhere.
type held struct {
	sessions int
	// laggard is the destination that is furthest behind: it has acknowledged what is
	// up to cursor, last is the number of the last row. letters counts the dead
	// letters of all destinations.
	laggard               string
	cursor, last, letters int64
}

func readHeld(conn *sqlite.Conn, before cutoff) (h held, err error) {
	for _, look := range []struct {
		begun  bool
		before time.Time
	}{{true, before.begun}, {false, before.untouched}} {
		list, err := selectRemovable(conn, look.begun, look.before, true, maxHeld-h.sessions, sinceEver)
		if err != nil {
			return h, err
		}
		h.sessions += len(list)
	}
	if h.sessions == 0 {
		return h, nil
	}
	err = query(conn, selectLaggardSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
		h.laggard, h.cursor = stmt.ColumnText(0), stmt.ColumnInt64(1)
		h.last, h.letters = stmt.ColumnInt64(2), stmt.ColumnInt64(3)
		return nil
	})
	return h, err
}

// explain says why a file of so many bytes stays larger than limit; nil if replication is not the
// reason.
func (h held) explain(bytes, limit int64) error {
	if h.sessions == 0 {
		return nil
	}
	return fmt.Errorf("journal: %d bytes are in use and %d are allowed, but %d sessions may not be removed: %w: "+
		"%s row %d of %d, and %d rows are dead letters: "+
		"see why it does not take them, discard the dead letters, or forget a destination that is not used any more: "+
		"contextgraph dead-letters --help",
		bytes, limit, h.sessions, ErrNotReplicated, describeDestination(h.laggard), h.cursor, h.last, h.letters)
}
