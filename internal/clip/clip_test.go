// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package clip_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/clip"
)

func TestText(t *testing.T) {
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
		if got := clip.Text(c.s, c.limit); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.s, c.limit, got, c.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		"":                            "",
		"price of Strava: $40,000 ü😀": "price of Strava: $40,000 ü😀",
		"a\r\nb\tc\x00\x7f\u0085d":    "a  b c   d",
		"a\u2028b\u2029c":             "a b c",
		"a\u202eb\u2066c\u200fd":      "a b c d",
		"a\xff\xfeb":                  "a\ufffdb",
	} {
		if got := clip.Visible(s); got != want {
			t.Errorf("Visible(%q) = %q, want %q", s, got, want)
		}
	}
}
