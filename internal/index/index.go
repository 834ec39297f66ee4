// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package index keeps what each session of a journal comes to, in a file of its own beside the
// journal: its counts and its status. Lists and counts over many sessions read it and not the rows.
//
// The file is derived. It can be deleted at any time, and an entry holds only while the session has
// the mark that the entry has. Whoever reads compares the marks, see [journal.Journal.Marks]. The
// recorder does not know of the file. No text of a payload is in it, because retention removes those
// from the journal alone.
package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ErrNone is returned for a journal without an index that can be used.
var ErrNone = errors.New("there is no index")

// Index is the content of an index.
type Index struct {
	// Step is the last step of the ledger that the entries know.
	Step int64
	// Entries are those of the sessions, the newest session first.
	Entries []Entry
}

// Entry is what one session comes to.
type Entry struct {
	// Mark is the state of the session that the entry is about.
	journal.Mark
	// Until is the time before which the entry is true, in microseconds: then a request expires, or a
	// run counts as ended.
	Until   int64
	Session record.Session
	Status  string
	Words   Words
	// Start and End are the times of the first and the last row, in microseconds; 0 for none.
	Start, End                int64
	Errors, Turns             int64
	Prompt, Completion, Total int64 // tokens
	// Detail is JSON, empty for a session of which there is no more to say.
	Detail string
}

// Path returns where the index of the journal at path is.
func Path(path string) string { return path + ".index" }

// Read reads the index of a journal. It returns [ErrNone] if there is none, or one that is damaged, of
// another journal or of another version: the next [Write] replaces it.
func Read(j *journal.Journal) (Index, error) {
	path := Path(j.Path())
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Index{}, ErrNone
	}
	of, ofErr := os.Stat(j.Path())
	if err := errors.Join(err, ofErr); err != nil {
		return Index{}, err
	}
	if err := checkOwner(info, of); err != nil {
		return Index{}, fmt.Errorf("the index %s is not used: %w", path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Index{}, err
	}
	x, ok := decode(string(data), j.ID())
	if !ok {
		return Index{}, ErrNone
	}
	return x, nil
}

// Write replaces the index of a journal at once: who reads meanwhile has the old one. The file is
// as readable as the journal.
func Write(j *journal.Journal, x Index) (err error) {
	path := Path(j.Path())
	of, err := os.Stat(j.Path())
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(encode(x, j.ID()))
	err = errors.Join(err, f.Chmod(of.Mode().Perm()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
