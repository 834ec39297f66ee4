// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// row is what a Writer wrote, with its counts.
type row struct {
	JSON               string
	Truncated          bool
	Redacted, Repaired int
}

func rowOf(w *jsonenc.Writer) row {
	return row{string(w.Bytes()), w.Truncated(), w.Redacted(), w.Repaired()}
}

// A piece is written again exactly as the value would be, or not at all: with any room that is
// left, and any number of values.
func TestPieceIsWrittenAsTheValue(t *testing.T) {
	long := strings.Repeat("x", 100) + " password=abcdefgh " + strings.Repeat("y", 100)
	for name, v := range map[string]any{
		"plain":     map[string]any{"a": []any{1.0, "two", nil}, "b": strings.Repeat("text ", 10)},
		"secret":    map[string]any{"password": "abc", "note": "token=abcdefgh and more"},
		"long":      map[string]any{"note": long},
		"shrinks":   map[string]any{"note": "token=" + strings.Repeat("s", 300) + " and more"},
		"key":       map[string]any{long: long, "b": 1.0},
		"repaired":  map[string]any{"a": "\xff\xfe"},
		"escaped":   []any{strings.Repeat("\n\"", 30)},
		"empty":     map[string]any{},
		"no text":   []any{1.0, 2.0, []any{true, nil}, 3.0},
		"not whole": map[string]any{"a": strings.Repeat("z", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			text := 700
			if name == "no text" {
				text = 0
			}
			again := 0
			for _, nodes := range []int{1, 3, 4, 8, 100} {
				for left := 0; left < 1700; left++ {
					if left == 100 && nodes < 100 {
						break
					}
					const total = 2000
					limits := jsonenc.Limits{Total: total, String: 2000, Nodes: nodes}
					first := jsonenc.NewWriter(jsonenc.Limits{String: 2000}, nil)
					p := first.Doc(100).Keep(text, func(d jsonenc.Doc) { d.Value(v) })
					if p == nil {
						if name != "not whole" {
							t.Fatal("the value was cut")
						}
						return
					}
					write := func(value func(jsonenc.Doc)) row {
						w := jsonenc.NewWriter(limits, nil)
						d := w.Doc(100)
						d.Open('[')
						d.Value(strings.Repeat("b", total-left-len(`["",`)))
						value(d)
						d.Value("behind")
						d.Close(']')
						return rowOf(w)
					}
					copied := false
					got := write(func(d jsonenc.Doc) {
						if copied = d.Again(p); !copied {
							d.Value(v)
						}
					})
					if want := write(func(d jsonenc.Doc) { d.Value(v) }); got != want {
						t.Fatalf("%d bytes left, %d nodes: -value +piece:\n%s", left, nodes, cmp.Diff(want, got))
					}
					if copied {
						again++
					}
				}
			}
			if again == 0 {
				t.Error("the piece was never written")
			}
		})
	}
}

// Keep writes the value as if nobody kept it, and gives nothing of a value that was cut.
func TestKeep(t *testing.T) {
	v := map[string]any{"a": strings.Repeat("z", 300), "b": "password=abcdefgh"}
	for _, total := range []int{100, 1000} {
		w := jsonenc.NewWriter(jsonenc.Limits{Total: total}, nil)
		d := w.Doc(100)
		d.Open('[')
		p := d.Keep(500, func(d jsonenc.Doc) { d.Value(v) })
		more := d.Keep(500, func(d jsonenc.Doc) { d.Value("more") })
		d.Close(']')

		plain := jsonenc.NewWriter(jsonenc.Limits{Total: total}, nil)
		d = plain.Doc(100)
		d.Open('[')
		d.Value(v)
		d.Value("more")
		d.Close(']')
		if diff := cmp.Diff(rowOf(plain), rowOf(w)); diff != "" {
			t.Errorf("total %d: -written +kept:\n%s", total, diff)
		}
		if whole := total == 1000; (p != nil) != whole || (more != nil) != whole {
			t.Errorf("total %d: kept %v and %v", total, p != nil, more != nil)
		}
	}
}

// Once a row is marked as truncated, a value that is whole does not take that back, and is kept.
func TestKeepInATruncatedRow(t *testing.T) {
	w := jsonenc.NewWriter(jsonenc.Limits{String: 10}, nil)
	d := w.Doc(100)
	d.Open('[')
	d.Value("a long string is cut")
	p := d.Keep(10, func(d jsonenc.Doc) { d.Value([]any{"whole"}) })
	d.Close(']')
	if p == nil || p.Len() != len(`["whole"]`) {
		t.Errorf("kept %v", p)
	}
	if !w.Truncated() {
		t.Error("the row does not count as truncated any more")
	}
}
