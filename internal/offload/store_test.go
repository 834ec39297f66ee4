// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"a", "2026-07-31/4bf92f/00f0_p0.png", "a b/ü/+=@,~", "a..b", "dir./file.",
		strings.Repeat("x", 255), strings.Repeat(strings.Repeat("x", 255)+"/", 3) + strings.Repeat("x", 255),
	} {
		if err := offload.CheckName(name); err != nil {
			t.Errorf("CheckName(%q): %v", name, err)
		}
	}
	for _, tt := range []struct{ name, want string }{
		{"", "not a clean relative path"},
		{".", "begins with a dot"},
		{"/etc/passwd", "not a clean relative path"},
		{"../a", "not a clean relative path"},
		{"a/../b", "not a clean relative path"},
		{"a//b", "not a clean relative path"},
		{"a/", "not a clean relative path"},
		{"a/./b", "not a clean relative path"},
		{"a\xff", "not a clean relative path"},
		{"a\x00b", "does not work everywhere"},
		{"a\nb", "does not work everywhere"},
		{`a\b`, "does not work everywhere"},
		{"C:a", "does not work everywhere"},
		{".tmp/a", "begins with a dot"},
		{"a/.hidden", "begins with a dot"},
		{strings.Repeat("x", 256), "longer than 255"},
		{"a/" + strings.Repeat("ü", 128), "longer than 255"},
		{strings.Repeat("x/", 512) + "x", "too long"},
	} {
		err := offload.CheckName(tt.name)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CheckName(%q): %v, want %q", tt.name, err, tt.want)
		}
	}
}

func FuzzCheckName(f *testing.F) {
	for _, name := range []string{"a/b.png", "../a", "a\x00", "a/../../b", "C:\\a", ".tmp/x", "a\u2028b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if offload.CheckName(name) != nil {
			return
		}
		const root = "/store"
		if path := filepath.Join(root, name); path != root+"/"+name || !fs.ValidPath(name) {
			t.Errorf("%q becomes %q", name, path)
		}
		for element := range strings.SplitSeq(name, "/") {
			if element == "" || element[0] == '.' || len(element) > 255 {
				t.Errorf("%q has the element %q", name, element)
			}
		}
	})
}

func TestPermanent(t *testing.T) {
	err := offload.Permanent(fs.ErrPermission)
	if err.Error() != fs.ErrPermission.Error() || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Permanent: %v", err)
	}
}
