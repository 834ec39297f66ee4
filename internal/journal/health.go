// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// Health is the state of a journal file.
type Health struct {
	// Bytes is the size of the file, LogBytes the size of the log that is not copied into it yet.
	Bytes, LogBytes int64
	// Checked says that SQLite read the whole file in search of damage. Damage lists what it found;
	// empty for a sound file.
	Checked bool
	Damage  []string

	Sessions, Rows int64
	// First and Last are the times of the oldest and the newest session's rows.
	First, Last time.Time
	// LostSessions is how many sessions lost rows, LostRows how many rows they lost.
	LostSessions, LostRows int64
	// Destinations are those that the rows are sent to, by name.
	Destinations []Destination
}

// Destination is how far the replication to one place is.
type Destination struct {
	Name string
	store.Backlog
	// LeasedUntil is until when somebody sends; zero when nobody does.
	LeasedUntil time.Time
}

// examineBusy is how long the look at a journal waits for a lock.
const examineBusy = 5 * time.Second

// damageListed bounds what is listed of the damage of a file.
const damageListed = 20

// CheckedBytes is the size up to which [Examine] reads a file whole: that takes a second for some
// 300 MiB.
const CheckedBytes = 32 << 20

// Examine looks at an existing journal file, and changes nothing. Any process may have it open
// meanwhile. It searches a file for damage up to CheckedBytes, and a larger one only with whole,
// because it then reads all of it. Of a file without content it says nothing but that.
func Examine(ctx context.Context, path string, whole bool) (h Health, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return Health{}, fmt.Errorf("journal: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("journal: examine %q: %w", path, explain(err))
		}
	}()
	info, err := os.Stat(path)
	if err != nil {
		return Health{}, err
	}
	if !info.Mode().IsRegular() {
		return Health{}, errors.New("it is not a file")
	}
	h.Bytes = info.Size()
	if wal, err := os.Stat(path + "-wal"); err == nil {
		h.LogBytes = wal.Size()
	}
	h.Checked = whole || h.Bytes+h.LogBytes <= CheckedBytes
	// For writing, as the readers of a journal: see openReaders.
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return Health{}, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	conn.SetBusyTimeout(examineBusy)
	if err := execAll(conn, "PRAGMA query_only = ON"); err != nil {
		return Health{}, err
	}
	isNew, err := checkFile(conn, path)
	if isNew || err != nil {
		return h, err
	}
	err = h.read(conn)
	return h, err
}

func (h *Health) read(conn *sqlite.Conn) error {
	nothing := func(*binder) {}
	if h.Checked {
		err := query(conn, fmt.Sprintf("PRAGMA quick_check(%d)", damageListed), nothing, func(stmt *sqlite.Stmt) error {
			if text := stmt.ColumnText(0); text != "ok" {
				h.Damage = append(h.Damage, text)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	err := query(conn, selectHealthSQL, nothing, func(stmt *sqlite.Stmt) error {
		h.Sessions, h.Rows, h.First, h.Last = stmt.ColumnInt64(0), stmt.ColumnInt64(1), columnTime(stmt, 2), columnTime(stmt, 3)
		h.LostSessions, h.LostRows = stmt.ColumnInt64(4), stmt.ColumnInt64(5)
		return nil
	})
	if err != nil {
		return err
	}
	err = query(conn, selectDestinationsSQL, nothing, func(stmt *sqlite.Stmt) error {
		if _, graphs := rowsOf(stmt.ColumnText(0)); graphs {
			return nil // the backlog of its destination says it
		}
		h.Destinations = append(h.Destinations, Destination{Name: stmt.ColumnText(0), LeasedUntil: columnTime(stmt, 1)})
		return nil
	})
	for i := range h.Destinations {
		if err == nil {
			h.Destinations[i].Backlog, err = backlog(conn, h.Destinations[i].Name)
		}
	}
	return err
}
