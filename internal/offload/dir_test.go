// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

func openDir(tb testing.TB, path string, sync bool) *offload.Dir {
	tb.Helper()
	d, err := offload.OpenDir(path, sync)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// files returns the files under path with their contents.
func files(tb testing.TB, path string) map[string]string {
	tb.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(path, name)
		found[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// variants are the ways in which a Dir works.
var variants = []struct {
	name  string
	sync  bool
	links bool
}{
	{"links", false, true},
	{"no links", false, false},
	{"sync", true, true},
}

func TestDirCreate(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a b", "parts")
			d := openDir(t, path, v.sync)
			if !v.links {
				d.WithoutLinks()
			}
			want := map[string]string{
				"2026-07-31/t1/1.png": "one", "2026-07-31/t1/2 ü#.png": "two", "plain": "", "big": strings.Repeat("x", 3<<20),
			}
			for name, data := range want {
				if err := d.Create(t.Context(), name, "image/png", []byte(data)); err != nil {
					t.Fatal(err)
				}
				err := d.Create(t.Context(), name, "image/png", []byte("other"))
				if !errors.Is(err, offload.ErrExists) || !strings.Contains(err.Error(), name) {
					t.Errorf("Create of %s again: %v", name, err)
				}
				u, err := url.Parse(d.URI(name))
				if err != nil || u.Scheme != "file" || u.Host != "" {
					t.Fatalf("URI %s: %v", d.URI(name), err)
				}
				if got, err := os.ReadFile(u.Path); err != nil || string(got) != data {
					t.Errorf("%s holds %.20q: %v", d.URI(name), got, err)
				}
			}
			if diff := cmp.Diff(want, files(t, path)); diff != "" {
				t.Errorf("files of the folder, also temporary ones: %s", diff)
			}
		})
	}
}

func TestDirCreateOnce(t *testing.T) {
	for _, v := range variants {
		if !v.links {
			continue // two at once need not see each other
		}
		t.Run(v.name, func(t *testing.T) {
			path := t.TempDir()
			var created atomic.Int32
			var wg sync.WaitGroup
			for i := range 20 {
				d := openDir(t, path, v.sync) // as another process would
				wg.Go(func() {
					switch err := d.Create(t.Context(), "d/same", "", fmt.Append(nil, i)); {
					case err == nil:
						created.Add(1)
					case !errors.Is(err, offload.ErrExists):
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if created.Load() != 1 || len(files(t, path)) != 1 {
				t.Errorf("created %d times; %v", created.Load(), files(t, path))
			}
		})
	}
}

func TestOpenDirErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{"", "give the path of a folder"},
		{"file:///tmp/x", "give the path of a folder"},
		{file, "not a folder"},
		{filepath.Join(file, "sub"), "choose another folder"},
	} {
		if _, err := offload.OpenDir(tt.path, false); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("OpenDir(%q): %v, want %q", tt.path, err, tt.want)
		}
	}
}

func TestOpenDirRemovesLeftovers(t *testing.T) {
	path := t.TempDir()
	openDir(t, path, false)
	tmp := filepath.Join(path, ".contextgraph")
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "old.claim": 2 * time.Hour, "new": time.Minute} {
		name = filepath.Join(tmp, name)
		written := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(name, []byte("half"), 0o600), os.Chtimes(name, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	openDir(t, path, false)
	if diff := cmp.Diff(map[string]string{".contextgraph/new": "half"}, files(t, path)); diff != "" {
		t.Error(diff)
	}
}

// TestDirEscape: neither names nor links lead out of the folder.
func TestDirEscape(t *testing.T) {
	outside := t.TempDir()
	path := t.TempDir()
	d := openDir(t, path, false)
	if err := os.Symlink(outside, filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x", "/x", "link/x", "a/../../x", "x\x00"} {
		if err := d.Create(t.Context(), name, "", []byte("x")); err == nil {
			t.Errorf("Create(%q) succeeded", name)
		}
	}
	if got := files(t, outside); len(got) > 0 {
		t.Errorf("outside: %v", got)
	}
	if err := os.Remove(filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	if got := files(t, path); len(got) > 0 {
		t.Errorf("inside: %v", got)
	}
}

func TestDirContext(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Create(ctx, "a", "", []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Create: %v", err)
	}
	if got := files(t, path); len(got) > 0 {
		t.Errorf("files: %v", got)
	}
}

// TestDirFailures: what waiting cannot cure is not tried for 30 seconds.
func TestDirFailures(t *testing.T) {
	d := openDir(t, t.TempDir(), false)
	u := start(t, offload.Config{Store: d, Timeout: time.Hour})
	put(t, u, "file", "x")
	flush(t, u)
	put(t, u, "file/below", "x")
	put(t, u, "file", "y")
	err := u.Flush(t.Context())
	if err == nil || !strings.Contains(err.Error(), "2 parts were lost") {
		t.Errorf("Flush: %v", err)
	}
	want := map[offload.Reason]uint64{offload.ReasonFailed: 1, offload.ReasonExists: 1}
	if diff := cmp.Diff(want, u.Stats().Lost); diff != "" {
		t.Error(diff)
	}
}

// TestOpenDirTogether opens an empty folder that others can read from several
// processes: each of them finds a folder of ours.
func TestOpenDirTogether(t *testing.T) {
	for range 50 {
		path := t.TempDir()
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				d, err := offload.OpenDir(path, false)
				if err == nil {
					err = d.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
