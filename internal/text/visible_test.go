// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		"":                            "",
		"price of Strava: $40,000 ü😀": "price of Strava: $40,000 ü😀",
		"a\r\nb\tc\x00\x7f\u0085d":    "a  b c   d",
		"a\u2028b\u2029c":             "a b c",
		"a\u202eb\u2066c\u200fd":      "a b c d",
		"a\xff\xfeb":                  "a\ufffdb",
	} {
		if got := text.Visible(s); got != want {
			t.Errorf("Visible(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	for s, want := range map[string]string{
		`{"a":"price ü😀 $1"}`:            `{"a":"price ü😀 $1"}`,
		"{\"a\":\"x\u009b2Jy\"}":         `{"a":"x\u009b2Jy"}`,
		"[\"\u202e\u2066\u200f\u061c\"]": `["\u202e\u2066\u200f\u061c"]`,
		"\"\x7f\u0080\u009f\u00a0\"":     "\"\\u007f\\u0080\\u009f\u00a0\"",
	} {
		if got := string(text.EscapeJSON([]byte(s))); got != want {
			t.Errorf("EscapeJSON(%q) = %q, want %q", s, got, want)
		}
		var b strings.Builder
		if n, err := (text.JSONWriter{W: &b}).Write([]byte(s)); n != len(s) || err != nil || b.String() != want {
			t.Errorf("Write(%q) = %d, %v, and wrote %q", s, n, err, b.String())
		}
		var was, is any
		if err := json.Unmarshal([]byte(s), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &is); err != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("%q reads as %v, not %v: %v", want, is, was, err)
		}
	}
	if got := string(text.EscapeJSON([]byte("\x7f"))); got != `\u007f` {
		t.Errorf("a character alone becomes %q", got)
	}
	_, closed := io.Pipe()
	_ = closed.Close()
	if _, err := (text.JSONWriter{W: closed}).Write([]byte("1")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write returns %v", err)
	}
}

func TestIgnorable(t *testing.T) {
	for r, want := range map[rune]bool{
		'a': false, ' ': false, '\u00ad': true, '\u200b': true, '\u200d': true, '\u202e': true, '\u2060': true, '\ufe0f': true,
		'\ufeff': true, '\u3164': true, '\U000e0041': true, '\u0600': false,
	} {
		if text.Ignorable(r) != want {
			t.Errorf("Ignorable(%U) = %t", r, !want)
		}
	}
}
