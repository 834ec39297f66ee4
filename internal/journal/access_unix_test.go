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
		said   bool   // in the log
	}{
		"ours":                      {"", 0o600, 0o700, "", false},
		"others may read it":        {"", 0o644, 0o755, "", false},
		"a group may write it":      {"", 0o660, 0o700, "", true},
		"everybody may write it":    {"", 0o602, 0o700, "lets everybody write j.db, and whoever writes it approves requests: run chmod 600", false},
		"everybody, and its log":    {"-wal", 0o666, 0o700, "lets everybody write j.db-wal", false},
		"everybody, and its memory": {"-shm", 0o666, 0o700, "lets everybody write j.db-shm", false},
		"an open folder":            {"", 0o600, 0o777, "everybody may replace it", false},
		"a sticky folder":           {"", 0o600, 0o777 | fs.ModeSticky, "", false},
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
			if said := strings.Contains(log.String(), "members of a group may write"); said != tt.said {
				t.Errorf("log %q", log.String())
			}
		})
	}
}
