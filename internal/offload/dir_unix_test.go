// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package offload_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

func TestDirModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "new", "parts")
	d := openDir(t, path, false)
	for _, name := range []string{"a/b/c", "d"} {
		if err := d.Create(t.Context(), name, "", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(filepath.Dir(path), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenDirModes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(path string) error
		want  string // of the error
	}{
		{"empty and open", func(path string) error { return os.Chmod(path, 0o755) }, ""},
		{"ours, opened later", func(path string) error {
			d, err := offload.OpenDir(path, false)
			if err != nil {
				return err
			}
			return errors.Join(d.Create(context.Background(), "a", "", nil), d.Close(), os.Chmod(path, 0o777))
		}, ""},
		{"foreign and closed", func(path string) error {
			return errors.Join(os.WriteFile(filepath.Join(path, "x"), nil, 0o600), os.Chmod(path, 0o700))
		}, ""},
		{"foreign and open", func(path string) error {
			return errors.Join(os.WriteFile(filepath.Join(path, "x"), nil, 0o600), os.Chmod(path, 0o750))
		}, "mode -rwxr-x--- lets others read it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := t.TempDir()
			if err := tt.setup(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			d, err := offload.OpenDir(path, false)
			if err == nil {
				defer d.Close()
			}
			info, statErr := os.Stat(path)
			if statErr != nil {
				t.Fatal(statErr)
			}
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("OpenDir: %v, want %q", err, tt.want)
				}
				if info.Mode() != before.Mode() {
					t.Errorf("mode changed to %v", info.Mode())
				}
				return
			}
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v, %v", info.Mode().Perm(), err)
			}
		})
	}
}
