// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// explain adds to an error of SQLite what the person who reads it can do. Other
// errors are returned as they are.
func explain(err error) error {
	if err == nil {
		return nil
	}
	code := sqlite.ErrCode(err)
	var remedy string
	switch code.ToPrimary() {
	case sqlite.ResultFull:
		remedy = "the disk is full, or the file may not grow: free some space"
	case sqlite.ResultReadOnly:
		remedy = "the file or its folder is read-only: change its permissions, or mount the disk for writing"
	case sqlite.ResultCantOpen:
		remedy = "the file or the -wal and -shm files beside it cannot be opened: the folder must exist and be writable"
	case sqlite.ResultIOErr:
		remedy = "the disk does not read or write: check its space, its quota and its health"
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		remedy = "the file is damaged: stop the program, move the file away together with its -wal and -shm files, and start again; " +
			`"sqlite3 <file> .recover" saves what can be read`
	case sqlite.ResultBusy, sqlite.ResultLocked:
		remedy = "another process holds the write lock: end it, or let it finish its transaction"
	default:
		return err
	}
	return fmt.Errorf("%w (%v): %s", err, code, remedy)
}
