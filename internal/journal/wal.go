// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// maxWAL is the size of the WAL file beyond which the writer waits for readers to
	// make it start anew. It is twice the size at which SQLite does so by itself.
	maxWAL = 128 << 20
	// restartPause is the time between two attempts.
	restartPause = time.Second
)

// boundWAL makes the WAL file start anew after it has become too large. SQLite's own checkpoints do
// not wait for readers. If one reader begins before another ends, none of them comes to the end of
// the WAL. This one waits, but no longer than a slice of time for each reader; rows that come
// meanwhile wait in the queue.
func (w *writer) boundWAL() {
	size, err := w.files.check()
	if err != nil || size <= w.maxWAL || time.Now().Before(w.restart) {
		return
	}
	busy := false
	err = queryRow(w.conn, "PRAGMA wal_checkpoint(RESTART)", func(s *sqlite.Stmt) { busy = s.ColumnBool(0) })
	if busy || err != nil {
		w.restart = time.Now().Add(restartPause)
		w.log.Warn("contextgraph: journal: the WAL file grows, because somebody reads for long", "bytes", size, "error", err)
	}
}
