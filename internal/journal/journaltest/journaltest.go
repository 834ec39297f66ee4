// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package journaltest gives tests empty journals. The first of a process is made as every journal
// is; the others are copies of its file, which takes a fraction of the time. Each has an id of its
// own.
package journaltest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// Path returns the path of a new, empty journal that nobody has opened. It has a folder of its own,
// which goes with the test.
func Path(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), config.Default().Journal.Path)
	Write(t, path)
	return path
}

// Write writes an empty journal to path.
func Write(t testing.TB, path string) {
	t.Helper()
	empty, err := template()
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, hex.DecodedLen(len(empty.id)))
	rand.Read(id)
	file := bytes.Replace(empty.file, []byte(empty.id), []byte(hex.EncodeToString(id)), 1)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// journalFile is the content of a journal file, and the id in it.
type journalFile struct {
	file []byte
	id   string
}

// template makes the file that all others are copies of.
var template = sync.OnceValues(func() (f journalFile, err error) {
	dir, err := os.MkdirTemp("", "journaltest")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "empty.db")
	j, err := journal.Open(context.Background(), journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return f, err
	}
	f.id = j.ID()
	if err := j.Close(context.Background()); err != nil {
		return f, err
	}
	if f.file, err = os.ReadFile(path); err != nil {
		return f, err
	}
	if n := bytes.Count(f.file, []byte(f.id)); n != 1 {
		return f, fmt.Errorf("the id of the journal stands in its file %d times, want 1", n)
	}
	return f, nil
})
