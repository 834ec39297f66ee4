// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

func TestMatchName(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{"buy", []string{"buy"}, []string{"", "Buy", "buyer", "rebuy"}},
		{"provision_*", []string{"provision_", "provision_campaign", "provision_a/b"}, []string{"provision", "deprovision_campaign", "Provision_campaign"}},
		{"*", []string{"buy", "files/delete", "a/b/c", "", "日本"}, nil},
		{"files?delete", []string{"files/delete", "files_delete"}, []string{"filesdelete", "files//delete"}},
		{"*/delete", []string{"files/delete", "a/b/delete"}, []string{"delete", "files/deleted"}},
		{"files/*", []string{"files/delete", "files/a/b"}, []string{"files", "files_delete"}},
		{"[a-c]uy", []string{"buy"}, []string{"duy", "uy"}},
		{"[^b]uy", []string{"guy"}, []string{"buy"}},
		{"x[!-/]y", []string{"x-y", "x.y", "x/y"}, []string{"xay", "xy"}},
		{"files[.-0]delete", []string{"files/delete", "files.delete"}, []string{"files_delete"}},
		{"*[!-/]x", []string{"a/b/x", "a/b-x", "/x"}, []string{"a/bx", "x"}},
		{"*/d[!-/]*", []string{"a/b/d/x", "a/d-"}, []string{"d/x", "a/dx"}},
		{"a*b*c", []string{"abc", "a/b/b/c", "abbcc"}, []string{"ab", "acb", "abcd"}},
		{`[\]\-a]x`, []string{"]x", "-x", "ax"}, []string{"bx", `\x`}},
		{"[^/]x", []string{"ax"}, []string{"/x"}},
		{"b?y", []string{"b\ny", "b\xffy", "béy"}, []string{"by", "be\u0301y"}},
		{"b*", []string{"b\n", "b\x00", "b\xff/"}, []string{"B"}},
		{"b?", []string{"by", "b\ufffd"}, []string{"b", "byy"}},
		{`b\*`, []string{"b*"}, []string{"buy", `b\*`}},
	} {
		if err := text.CheckPattern(tt.pattern); err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
		}
		for want, names := range map[bool][]string{true: tt.yes, false: tt.no} {
			for _, name := range names {
				if got := text.MatchName(tt.pattern, name); got != want {
					t.Errorf("%q matches %q: %v, want %v", tt.pattern, name, got, want)
				}
			}
		}
	}
	for _, p := range []string{"[", "a[b", `a\`, "[]a]", "*["} {
		if text.CheckPattern(p) == nil {
			t.Errorf("%q is taken for a pattern", p)
		}
		if text.MatchName(p, "a") {
			t.Errorf("%q matches", p)
		}
	}
}

// For names without a slash a pattern means what it means to path.Match, and with one what
// it would if a slash were any other character.
func FuzzMatchName(f *testing.F) {
	f.Add("b*[a-c]?", "buy")
	f.Add(`*\[x-z]`, "a[x")
	f.Add("[^]a]*", "bb")
	f.Add("a*b*c", "abbc")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return
		}
		if _, err := path.Match(pattern, ""); (err == nil) != (text.CheckPattern(pattern) == nil) {
			t.Fatalf("%q: %v, path.Match says %v", pattern, text.CheckPattern(pattern), err)
		}
		got := text.MatchName(pattern, name)
		if strings.Contains(name, "/") {
			return
		}
		if want, err := path.Match(pattern, name); got != (want && err == nil) {
			t.Errorf("%q matches %q: %v, path.Match says %v, %v", pattern, name, got, want, err)
		}
	})
}
