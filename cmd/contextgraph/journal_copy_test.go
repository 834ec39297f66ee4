// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of a journal has the rows in its log too, and nothing is left of one that failed.
func TestCopyJournal(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "contextgraph.db")
	for suffix, content := range map[string]string{"": "rows", "-wal": "more rows"} {
		if err := os.WriteFile(path+suffix, []byte(content), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	copied, err := copyJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for suffix, want := range map[string]string{"": "rows", "-wal": "more rows"} {
		if got, err := os.ReadFile(copied + suffix); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", suffix, got, err)
		}
	}
	if err := os.RemoveAll(filepath.Dir(copied)); err != nil {
		t.Fatal(err)
	}
	if _, err := copyJournal(filepath.Join(path, "none")); err == nil || !strings.Contains(err.Error(), "copy the journal") {
		t.Errorf("a path that is none: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
