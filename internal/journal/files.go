// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// files remembers the database file and its log as they were opened. Data written to a file that
// has lost its name is gone with the process, and SQLite does not notice.
type files struct {
	db, wal openFile
}

type openFile struct {
	path string
	info fs.FileInfo
}

// Missing returns an error if there is no journal at path. Who only reads asks this before
// [Open], which would make one.
func Missing(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		err = fmt.Errorf("%s is empty", path)
	}
	if err != nil {
		return fmt.Errorf("there is no journal to read: %w", err)
	}
	return nil
}

// newFiles looks at the files of an open journal. SQLite creates the log when it first
// reads a file in WAL mode, and keeps it until the last connection is closed.
func newFiles(path string) (f files, err error) {
	f.db.path, f.wal.path = path, path+"-wal"
	for _, o := range []*openFile{&f.db, &f.wal} {
		if o.info, err = os.Stat(o.path); err != nil {
			return f, err
		}
	}
	return f, nil
}

// check returns the size of the log, and an error when one of the files does not stand
// where it was opened.
func (f *files) check() (log int64, err error) {
	if _, err := f.db.stat(); err != nil {
		return 0, err
	}
	return f.wal.stat()
}

func (o *openFile) stat() (size int64, err error) {
	info, err := os.Stat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(info, o.info):
		return 0, fmt.Errorf("%s was deleted, moved or replaced while it was open, so rows written now would be lost: put it back, or restart the program", o.path)
	case err != nil:
		return 0, nil // it may be there, and SQLite has it open
	}
	return info.Size(), nil
}

// Sizes returns the bytes of each file of the journal at path, by the name of the file.
func Sizes(path string) (map[string]int64, error) {
	sizes := make(map[string]int64)
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + end)
		switch {
		case err == nil:
			sizes[filepath.Base(path)+end] = info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return sizes, nil
}
