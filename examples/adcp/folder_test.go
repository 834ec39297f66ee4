// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrepareFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // the second run finds what the first one left
		journal, err := prepareFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if journal != filepath.Join(dir, "contextgraph.db") {
			t.Errorf("journal %q", journal)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if _, err := os.Lstat(journal + suffix); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s%s: %v, want no such file", journal, suffix, err)
			}
			if err := os.WriteFile(journal+suffix, []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		keep := filepath.Join(dir, "notes.txt")
		if err := os.WriteFile(keep, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Lstat(keep); err != nil {
				t.Errorf("a file beside the journal is gone: %v", err)
			}
		}()
	}
}

func TestPrepareFolderRefuses(t *testing.T) {
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, journalName), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	full := t.TempDir()
	if _, err := prepareFolder(full); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(full, journalName, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, dir, want string }{
		{"a journal of somebody else", foreign, "no earlier run of the demo made it"},
		{"a file", file, "choose another with --dir"},
		{"a journal that cannot be removed", full, "cannot be replaced"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := prepareFolder(tc.dir); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.dir) {
				t.Errorf("err = %v, want one with %q and the folder", err, tc.want)
			}
		})
	}
	data, err := os.ReadFile(filepath.Join(foreign, journalName))
	if err != nil || string(data) != "mine" {
		t.Errorf("the journal of somebody else: %q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(foreign, markerName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the marker in a refused folder: %v, want none", err)
	}
}
