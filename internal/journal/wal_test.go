// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"os"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestReadersDoNotGrowTheWAL writes while somebody reads at any time: each reader
// begins before the one before it ends, and ends after the next row.
func TestReadersDoNotGrowTheWAL(t *testing.T) {
	const limit = 1 << 20
	j := openJournal(t, nil)
	err := j.LimitWAL(t.Context(), limit, "PRAGMA wal_autocheckpoint = 20", "PRAGMA journal_size_limit = 0")
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	write := func() int64 {
		n++
		appendAll(t, j, sized(n, "X", 8000))
		flush(t, j)
		info, err := os.Stat(j.Path() + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	write()
	conns := []*sqlite.Conn{connect(t, j.Path()), connect(t, j.Path())}
	run := func(conn *sqlite.Conn, statements ...string) {
		for _, text := range statements {
			if err := sqlitex.ExecuteTransient(conn, text, nil); err != nil {
				t.Error(err)
			}
		}
	}
	begin := []string{"BEGIN", "SELECT count(*) FROM sessions"}
	run(conns[0], begin...)
	for write() <= limit {
	}

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for now, next := conns[0], conns[1]; ; now, next = next, now {
			stored := j.Stats().Stored
			for begun := time.Now(); j.Stats().Stored == stored && time.Since(begun) < 5*time.Millisecond; {
				time.Sleep(50 * time.Microsecond)
			}
			run(next, begin...)
			run(now, "COMMIT")
			select {
			case <-stop:
				run(next, "COMMIT")
				return
			default:
			}
		}
	}()
	defer func() {
		close(stop)
		<-stopped
	}()
	waitFor(t, func() bool { return write() <= limit })
}
