// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
)

// A journal that others may write is refused, and left as it is.
func TestOthersMayWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		end    string // of the file with the mode
		mode   fs.FileMode
		folder fs.FileMode
		want   string // "" if it is opened
		said   string // in the log; "" if nothing is
	}{
		"ours":                      {"", 0o600, 0o700, "", ""},
		"ours in a readable folder": {"", 0o600, 0o755, "", ""},
		"others may read it":        {"", 0o644, 0o755, "", "others than its owner may read the journal"},
		"others, if they could":     {"", 0o644, 0o700, "", ""},
		"others, by its name":       {"", 0o604, 0o711, "", "others than its owner may read the journal"},
		"a group may read it":       {"", 0o640, 0o750, "", "others than its owner may read the journal"},
		"a group, if it could":      {"", 0o640, 0o705, "", ""},
		"a group may write it":      {"", 0o660, 0o700, "", "members of a group may write"},
		"everybody may write it":    {"", 0o602, 0o700, "lets everybody write j.db, and whoever writes it approves requests: run chmod 600", ""},
		"everybody, and its log":    {"-wal", 0o666, 0o700, "lets everybody write j.db-wal", ""},
		"everybody, and its memory": {"-shm", 0o666, 0o700, "lets everybody write j.db-shm", ""},
		"an open folder":            {"", 0o600, 0o777, "everybody may replace it", ""},
		"a sticky folder":           {"", 0o600, 0o777 | fs.ModeSticky, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "j.db")
			openAndClose(t, path, nil)
			if tt.end != "" {
				if err := os.WriteFile(path+tt.end, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for file, mode := range map[string]fs.FileMode{path + tt.end: tt.mode, filepath.Dir(path): tt.folder} {
				if err := os.Chmod(file, mode); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			j, err := Open(t.Context(), Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err == nil {
				err = j.Close(t.Context())
				if tt.want != "" {
					t.Error("it was opened")
				}
			}
			if tt.want == "" && err != nil || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if tt.said == "" && strings.Contains(log.String(), "may") || !strings.Contains(log.String(), tt.said) {
				t.Errorf("log %q, want %q", log.String(), tt.said)
			}
		})
	}
}

// In a folder that everybody may write no journal is made.
func TestOthersMayWriteTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(t.Context(), Config{Journal: config.Journal{Path: path}}); err == nil || !strings.Contains(err.Error(), "everybody may replace it") {
			t.Errorf("error %v", err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) > 0 {
		t.Errorf("files %v, error %v", files, err)
	}
}
