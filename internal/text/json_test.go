// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

func TestStrictJSON(t *testing.T) {
	for document, want := range map[string]any{
		`null`:                        nil,
		` "x" `:                       "x",
		`[]`:                          []any{},
		`9007199254740993`:            json.Number("9007199254740993"),
		`1e999`:                       json.Number("1e999"),
		`{"a": "a", "b": ["a", "a"]}`: map[string]any{"a": "a", "b": []any{"a", "a"}},
		`[{"a": {"a": 1}}, {"a": "b", "b": "a"}, "a"]`: []any{
			map[string]any{"a": map[string]any{"a": json.Number("1")}}, map[string]any{"a": "b", "b": "a"}, "a",
		},
	} {
		got, err := text.StrictJSON([]byte(document))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", document, err, diff)
		}
	}
}

func TestStrictJSONRefuses(t *testing.T) {
	for document, want := range map[string]string{
		"":                                "EOF",
		"<html>":                          "invalid character",
		`{"a": 1`:                         "unexpected EOF",
		`{"a": 1} {}`:                     "something after the value",
		`{"a": 1}x`:                       "something after the value",
		`1]`:                              "something after the value",
		"\"\xff\"":                        "not valid UTF-8",
		`{"a": 1, "b": 2, "a": 1}`:        `"a" stands twice`,
		`{"a": 1, "\u0061": 2}`:           `"a" stands twice`,
		`{"a": {"b": 1}, "a": 1}`:         `"a" stands twice`,
		`[1, {"a": [], "b": {}, "a": 1}]`: `"a" stands twice`,
		`{"x": 1e999, "a": 1, "a": 2}`:    `"a" stands twice`,
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000): "depth",
	} {
		if _, err := text.StrictJSON([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %q", document, err, want)
		}
	}
}

// What is nested deeper than any answer is refused, at the level that the document says.
func TestStrictJSONDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2))
	}
	if _, err := text.StrictJSON(nested(200)); err != nil {
		t.Error(err)
	}
	if _, err := text.StrictJSON(nested(202)); err == nil || !strings.Contains(err.Error(), "nested deeper than 200 levels") {
		t.Errorf("error %v", err)
	}
}

func TestOne(t *testing.T) {
	for _, c := range []struct {
		selected []any
		want     any
	}{{nil, nil}, {[]any{nil}, nil}, {[]any{"a"}, "a"}, {[]any{[]any{"a", "b"}}, []any{"a", "b"}}} {
		if got, err := text.One(c.selected); err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("One(%v) = %v, %v", c.selected, got, err)
		}
	}
	if got, err := text.One([]any{"a", "b"}); got != nil || err == nil || err.Error() != "2 values where one is expected" {
		t.Errorf("%v, error %v", got, err)
	}
}
