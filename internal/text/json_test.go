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

func TestOpenJSON(t *testing.T) {
	for s, want := range map[string]any{
		`{"a": [1, {"b": "{}"}]}`: map[string]any{"a": []any{json.Number("1"), map[string]any{"b": "{}"}}},
		"\n [9007199254740993] ":  []any{json.Number("9007199254740993")},
		`[]`:                      []any{},
	} {
		got, opened, err := text.OpenJSON(s)
		if diff := cmp.Diff(want, got); !opened || err != nil || diff != "" {
			t.Errorf("%s: opened %t, error %v (-want +got):\n%s", s, opened, err, diff)
		}
	}
	for _, s := range []string{"", "Podcast", `"Podcast"`, "12", "null", "[sic] an aside", `{"a": 1`, `{"a": 1} {}`, "{name}"} {
		if got, opened, err := text.OpenJSON(s); got != nil || opened || err != nil {
			t.Errorf("%q: %v, opened %t, error %v; want a text", s, got, opened, err)
		}
	}
	for s, want := range map[string]string{
		`{"a": 1, "a": 2}`:                                  `"a" stands twice`,
		`[{"b": {"stock": 1, "Stock": 2}}]`:                 `it has the keys "Stock" and "stock"`,
		`{"stock": 1, "stoc\u212a": 2}`:                     `"stock" and "stoc\u212a"`,
		"[\"\xff\"]":                                        "not valid UTF-8",
		strings.Repeat("[", 300) + strings.Repeat("]", 300): "nested deeper",
	} {
		if _, opened, err := text.OpenJSON(s); !opened || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: opened %t, error %v, want %q", s, opened, err, want)
		}
	}
}

func TestClearKeys(t *testing.T) {
	type m = map[string]any
	for name, v := range map[string]any{
		"distinct":        m{"stock": 1, "stocks": m{"a": 1, "b": []any{m{"c": 1}}}},
		"other languages": m{"straße": 1, "strasse": 2, "ı": 1, "i": 1},
		"objects":         []m{{"a": 1}, {"A": 1}},
		"scalar":          "aA",
	} {
		if err := text.ClearKeys(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, v := range map[string]any{
		`"Stock" and "stock"`:    m{"stock": 1, "Stock": 2},
		`"size" and "\u017fize"`: m{"size": 1, "\u017fize": 2},
		`"N" and "n"`:            m{"lines": []any{m{"n": 1}, m{"n": 1, "N": 2}}},
		`"M" and "m"`:            m{"lines": []m{{"m": 1, "M": 2}}},
	} {
		if err := text.ClearKeys(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", v, err, want)
		}
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

func TestOpenTexts(t *testing.T) {
	type m = map[string]any
	given := m{"a": `{"b": 1}`, "c": []any{`[2]`, "words"}, "d": []m{{"e": `{"f": "g"}`}}, "h": 3}
	want := m{"a": m{"b": json.Number("1")}, "c": []any{[]any{json.Number("2")}, "words"}, "d": []any{m{"e": m{"f": "g"}}}, "h": 3}
	got, err := text.OpenTexts(given)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	const twice = `{"a": 1, "A": 2}`
	for name, v := range map[string]any{"a text": twice, "a list": []any{twice}, "objects": []m{{"x": twice}}, "an object": m{"x": twice}} {
		if _, err := text.OpenTexts(v); err == nil || !strings.Contains(err.Error(), `the keys "A" and "a"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
