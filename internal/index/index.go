// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package index is the file in which the counts and the status of each session of a journal stand, so
// that lists and counts over many sessions need not read the rows. It is beside the journal.
//
// Everything in it is made from the journal, so it can be deleted at any time. An entry holds while its
// session has the [Mark] of the entry, and until the time that the entry names. The recorder never
// fills the file. Only retention touches it there: it takes the entries of removed sessions out.
// The file has no name of a person or a session and no text that anybody wrote.
package index

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Suffix is what the name of the index has behind that of the journal.
const Suffix = ".index"

// name returns the name of the index of the journal at path. A journal has one, also where links lead
// to it: what is removed from the journal is taken out of that one.
func name(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path + Suffix
}

// unfinished returns the name that an index has while it is written.
func unfinished(path string) string { return name(path) + ".new" }

// abandonedAfter is the age from which on an unfinished index is one of a process that has ended. To
// write one takes some milliseconds.
const abandonedAfter = time.Minute

// ErrBusy is returned while another process writes the index.
var ErrBusy = errors.New("another process writes the index")

// ErrUnusable is returned for an index that is damaged, of another journal or of another version. The
// next [Write] replaces it.
var ErrUnusable = errors.New("the index is not one of this journal and this version")

// Index is the content of an index.
type Index struct {
	// Step is the number of the last step of the ledger that the entries know.
	Step int64
	// Entries are in the order of LastSeq, the greatest first.
	Entries []*Entry
}

// Entry returns the entry of the session with this LastSeq; nil if there is none.
func (x *Index) Entry(seq int64) *Entry {
	i, found := slices.BinarySearchFunc(x.Entries, seq, func(e *Entry, seq int64) int { return cmp.Compare(seq, e.LastSeq) })
	if !found {
		return nil
	}
	return x.Entries[i]
}

// Mark is the state of a session. A session with another mark than its entry has changed, and its rows
// have to be read again.
type Mark struct {
	// LastSeq is the Seq of the row stored last, which no other session has. LastTime is the time of
	// the latest row, in microseconds.
	LastSeq, LastTime int64
	// Events is the number of its rows, Lost how many are known to be lost.
	Events, Lost int64
}

// Entry is what one session comes to.
type Entry struct {
	Mark
	// Until is the time before which the entry is true, in microseconds: then a request expires, or a
	// run counts as ended.
	Until  int64
	Status string
	Words  Words
	// Start and End are the times of the first and the last row, in microseconds.
	Start, End                int64
	Errors, Turns             int64
	Prompt, Completion, Total int64 // tokens
	Requests                  []Request
	Verdicts                  []string // of its checks
	Gaps                      []string // of its record, in words
}

// Request is what came of one request to a human.
type Request struct {
	Status string
	At     time.Time
	// WaitedMS is how long people were waited for; it grows while Waits.
	WaitedMS int64
	Waits    bool
}

// Read reads the index of the journal at path with this id. The error is [fs.ErrNotExist] if there is
// none.
func Read(path, id string) (Index, error) {
	name := name(path)
	info, err := os.Lstat(name)
	if err != nil {
		return Index{}, err
	}
	of, err := os.Stat(path)
	if err != nil {
		return Index{}, err
	}
	if err := checkOwner(info, of); err != nil {
		return Index{}, fmt.Errorf("the index %s %w", name, err)
	}
	f, err := os.Open(name)
	if err != nil {
		return Index{}, err
	}
	defer f.Close()
	var text strings.Builder
	text.Grow(int(info.Size()))
	if _, err := io.Copy(&text, f); err != nil {
		return Index{}, err
	}
	x, ok := decode(text.String(), id)
	if !ok {
		return Index{}, ErrUnusable
	}
	return x, nil
}

// Write replaces the index of a journal at once: who reads meanwhile has the old one. Whoever may
// read the journal may read the index, and nobody else. The error is [ErrBusy] if another process writes
// one now.
func Write(path, id string, x Index) (err error) {
	of, err := os.Stat(path)
	if err != nil {
		return err
	}
	Clean(path)
	made := unfinished(path)
	f, err := os.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ErrBusy
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(made)
		}
	}()
	err = adopt(f, of)
	if err == nil {
		_, err = f.Write(encode(x, id))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(made, name(path))
}

// Clean removes an index that a process left unfinished when it ended.
func Clean(path string) {
	left := unfinished(path)
	if info, err := os.Lstat(left); err == nil && time.Since(info.ModTime()) > abandonedAfter {
		_ = os.Remove(left)
	}
}

// Remove removes the index of the journal at path, if there is one.
func Remove(path string) error {
	if err := os.Remove(name(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
