// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package index_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/index"
)

// TestOwnerOfTheIndex holds that the superuser gives an index the user and the group of the journal,
// and that an index of another user is not read.
func TestOwnerOfTheIndex(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the superuser gives files away")
	}
	path := newJournal(t)
	if err := os.Chown(path, 12345, 12346); err != nil {
		t.Fatal(err)
	}
	if err := index.Write(path, id, some()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path + index.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 12345 || s.Gid != 12346 {
		t.Errorf("it belongs to %d and group %d", s.Uid, s.Gid)
	}
	if _, err := index.Read(path, id); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		name        string
		user, group int
		mode        os.FileMode
		want        string
	}{
		{"of another user", 12347, 12346, 0o600, "another user"},
		{"of another group that may read it", 12345, 12347, 0o640, "gives more"},
		{"of another group that may not read it", 12345, 12347, 0o600, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{path, path + index.Suffix} {
				if err := os.Chmod(name, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(path+index.Suffix, tt.user, tt.group); err != nil {
				t.Fatal(err)
			}
			_, err := index.Read(path, id)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
