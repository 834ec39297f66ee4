// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "…"},
		{"abcdefgh", 8, "abcdefgh"},
		{"abcdefghi", 8, "abcde…"},
		{"ééééé", 10, "ééééé"},
		{"éééééé", 10, "ééé…"}, // 7 bytes are left: three characters of two
		{"a\xffb", 8, "a\ufffdb"},
		{"a\xff\xfe\xfdb", 8, "a\ufffdb"},
		{strings.Repeat("a\xff", 4), 8, "a\ufffda…"}, // as long as the limit before it is repaired
		{"😀😀😀", 11, "😀😀…"},
		{"😀😀😀", 10, "😀…"},
	} {
		if got := text.Clip(c.s, c.limit); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.s, c.limit, got, c.want)
		}
	}
}
