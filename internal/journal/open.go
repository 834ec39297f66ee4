// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
)

// minSQLite is the first version without a bug: resetting the WAL under a concurrent reader could
// corrupt the file.
const minSQLite = 3_051_003

// busySlice is how long the write connection waits inside SQLite at a time. The
// wait up to the whole busy timeout is made of slices, so that Close can end it.
const busySlice = 100 * time.Millisecond

// prepareFile makes sure that path is a file that can be written and returns its
// absolute form, which no SQLite version takes for anything but a file name.
func prepareFile(path string) (string, error) {
	if path == ":memory:" || strings.HasPrefix(path, "file:") {
		return "", fmt.Errorf("path %q: a journal is a plain file that outlives the process: give its name", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return "", fmt.Errorf("path %q is a directory: name a file in it, such as %q", path, filepath.Join(path, config.Default().Journal.Path))
		}
		return "", fmt.Errorf("path %q is not a regular file", path)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", fmt.Errorf("path %q: create its directory: %w: name a file in a folder that can be written, with journal.path or CONTEXTGRAPH_JOURNAL_PATH", path, err)
	}
	if err := checkFolder(abs); err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	err = createFile(abs)
	if errors.Is(err, fs.ErrExist) {
		if err := checkOwned(abs); err != nil {
			return "", fmt.Errorf("path %q: %w", path, err)
		}
		err = checkWritable(abs)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return "", fmt.Errorf("path %q cannot be written: %w: name another file with journal.path or CONTEXTGRAPH_JOURNAL_PATH, or change its permissions", path, err)
	}
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	return abs, nil
}

// createFile creates an empty file that only its owner can read. It does not open an existing file:
// when a process closes any descriptor of a file, POSIX takes all locks of the process on that file
// away, also those of another Journal. Another process with a SQLite before 3.51 could then delete
// the log that is in use.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// openWriter opens the writing connection, and makes the tables of a new file.
func openWriter(ctx context.Context, path string, destinations []string, busy time.Duration) (_ *sqlite.Conn, err error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	defer func() {
		conn.SetInterrupt(nil)
		if err != nil {
			err = errors.Join(err, conn.Close())
		}
	}()
	conn.SetInterrupt(ctx.Done())
	conn.SetBusyTimeout(busy)
	isNew, err := checkFile(conn, path)
	if err != nil {
		return nil, err
	}
	if sqlite.VersionNumber < minSQLite {
		return nil, fmt.Errorf("SQLite %d is linked, %d or newer is needed: older versions can corrupt a file in WAL mode; upgrade modernc.org/sqlite", sqlite.VersionNumber, minSQLite)
	}
	if isNew {
		if err := enableVacuum(conn); err != nil { // before WAL mode gives the file its first page
			return nil, err
		}
	}
	if err := enableWAL(ctx, conn, busy); err != nil {
		return nil, err
	}
	// fullfsync matters on macOS only, where a plain fsync does not reach the disk.
	err = execAll(conn,
		"PRAGMA synchronous = FULL", // until the writer knows its level
		"PRAGMA fullfsync = ON",
		"PRAGMA trusted_schema = OFF",
		"PRAGMA cell_size_check = ON",
		"PRAGMA foreign_keys = ON",
		"PRAGMA recursive_triggers = ON",
		"PRAGMA cache_size = -32768",
		"PRAGMA wal_autocheckpoint = 16000",
		"PRAGMA journal_size_limit = 67108864",
	)
	if err != nil {
		return nil, err
	}
	if isNew {
		if err := createSchema(conn, path); err != nil {
			return nil, err
		}
	}
	if err := createDestinations(conn, destinations); err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(min(busy, busySlice))
	return conn, nil
}

// enableVacuum makes a new file one that can give pages back. If another process has given it a first
// page already, it has done this too: setting it again would wait for whoever writes.
func enableVacuum(conn *sqlite.Conn) error {
	var pages int64
	err := queryRow(conn, "PRAGMA page_count", func(s *sqlite.Stmt) { pages = s.ColumnInt64(0) })
	if err != nil || pages > 0 {
		return err
	}
	return execAll(conn, "PRAGMA auto_vacuum = INCREMENTAL")
}

// enableWAL switches the file to WAL mode. The switch does not wait for locks by
// itself, so a file that two processes create at once needs retries.
func enableWAL(ctx context.Context, conn *sqlite.Conn, busy time.Duration) error {
	deadline := time.Now().Add(busy)
	for {
		var mode string
		err := queryRow(conn, "PRAGMA journal_mode = WAL", func(s *sqlite.Stmt) { mode = s.ColumnText(0) })
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("the file stays in %q mode: its file system cannot share memory between processes; choose a path on a local disk", mode)
		case !isBusy(err) || time.Now().After(deadline):
			return fmt.Errorf("enable WAL mode: %w", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func isBusy(err error) bool {
	return err != nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy
}
