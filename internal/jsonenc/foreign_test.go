// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

type (
	word      string
	typedErr  struct{ text string }
	panicText struct{}
	failing   struct{}
	ranked    struct{ R int }
	part      struct{ Data []byte }
	alias     struct {
		Parts []*part
		Any   any
	}
	circular struct {
		Data []byte
		Self *circular
	}
	list struct {
		V    int
		Next *list
	}
	fork struct{ A, B *fork }
)

func (e *typedErr) Error() string                { return e.text }
func (panicText) MarshalText() ([]byte, error)   { panic("text") }
func (failing) MarshalJSON() ([]byte, error)     { return nil, errors.New("no") }
func (r ranked) MarshalJSON() ([]byte, error)    { return json.Marshal(r.R * 2) }
func (a alias) MarshalJSON() ([]byte, error)     { type plain alias; return json.Marshal(plain(a)) }
func (c *circular) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"data": c.Data}) }

func TestForeignValues(t *testing.T) {
	data := []byte("some bytes")
	circle := &circular{Data: data}
	circle.Self = circle
	type blob []byte
	for _, tt := range []struct {
		name string
		in   any
		want string
	}{
		{"members in the order of their names", struct {
			B, A int
			C    string `json:"x,omitempty"`
			D    uint64
		}{1, 2, "", 1<<64 - 1}, `{"A":2,"B":1,"D":18446744073709551615}`},
		{"maps and marshalers", []any{map[int]bool{-1: true}, ranked{4}, netip.MustParseAddr("10.0.0.1"), (*ranked)(nil), []word{"<&>"}},
			`[{"-1":true},8,"10.0.0.1",null,["<&>"]]`},
		{"bytes in a struct", struct{ Data, None []byte }{Data: data}, `{"Data":"[BINARY DATA]","None":null}`},
		{"bytes behind pointers", &struct{ P *part }{&part{data}}, `{"P":{"Data":"[BINARY DATA]"}}`},
		{"bytes in slices and maps", []any{[][]byte{data}, map[string][]byte{"k": data}, blob(data)},
			`[["[BINARY DATA]"],{"k":"[BINARY DATA]"},"[BINARY DATA]"]`},
		{"bytes in an interface", struct{ A any }{map[string]any{"x": data}}, `{"A":{"x":"[BINARY DATA]"}}`},
		{"bytes in MarshalJSON", alias{[]*part{{data}}, data}, `{"Any":"[BINARY DATA]","Parts":[{"Data":"[BINARY DATA]"}]}`},
		{"bytes in MarshalJSON of a cycle", circle, `{"data":"[BINARY DATA]"}`},
		{"only that value", []any{&part{data}, "c29tZSBieXRlcw=="}, `[{"Data":"[BINARY DATA]"},"c29tZSBieXRlcw=="]`},
		{"a secret in a struct", struct {
			Key string `json:"api_key"`
			M   map[word]int
		}{"k", map[word]int{"password": 1}}, `{"M":{"password":"[REDACTED]"},"api_key":"[REDACTED]"}`},
		{"a typed nil error", map[string]any{"cause": (*typedErr)(nil), "n": 1}, `{"cause":"[UNSERIALIZABLE]","n":1}`},
		{"panics and failures are contained", []any{panics{}, panicText{}, map[panicText]int{{}: 1}, failing{}, func() {}, struct{ F func() }{}, map[bool]int{true: 1}, 1},
			`["[UNSERIALIZABLE]","[UNSERIALIZABLE]","[UNSERIALIZABLE]","[UNSERIALIZABLE]","[UNSERIALIZABLE]","[UNSERIALIZABLE]","[UNSERIALIZABLE]",1]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := encode(t, jsonenc.Limits{}, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForeignLimits(t *testing.T) {
	circle := &list{V: 1}
	circle.Next = circle
	var self any
	self = &self
	many := make([]part, 10_000)
	deep := &list{V: 1}
	for range 500 {
		deep = &list{V: 1, Next: deep}
	}
	forked := &fork{}
	for range 60 {
		forked = &fork{forked, forked} // 2^60 values for encoding/json
	}
	sparse := map[int]string{}
	for i := range 10_000 {
		sparse[i] = "0123456789"
	}
	for _, tt := range []struct {
		name   string
		limits jsonenc.Limits
		in     any
		want   string
		most   int
	}{
		{"deep", jsonenc.Limits{Depth: 5}, deep, jsonenc.MarkDepth, 200},
		{"cycle of structs", jsonenc.Limits{}, circle, jsonenc.MarkUnserializable, 50},
		{"cycle of pointers", jsonenc.Limits{}, self, jsonenc.MarkUnserializable, 50},
		{"one value by many ways", jsonenc.Limits{}, forked, jsonenc.MarkBudget, 50},
		{"a long text often", jsonenc.Limits{Total: 500}, []word{word(strings.Repeat("a", 3000))}, jsonenc.MarkBudget, 50},
		{"many structs", jsonenc.Limits{Total: 500}, many, "", 600},
		{"many keys", jsonenc.Limits{Total: 500}, sparse, "", 600},
		{"a wide struct", jsonenc.Limits{Total: 100}, struct{ A, B, C, D string }{strings.Repeat("a", 90), "b", "c", "d"}, "", 200},
		{"nodes", jsonenc.Limits{Nodes: 10}, many[:10], jsonenc.MarkBudget, 1000},
		{"a long number", jsonenc.Limits{Total: 100}, []any{json.Number(strings.Repeat("1", 300))}, jsonenc.MarkTruncated, 50},
		{"more than is looked at", jsonenc.Limits{Total: 100}, alias{Parts: make([]*part, 500)}, jsonenc.MarkBudget, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, w := encode(t, tt.limits, tt.in)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want it to hold %s", got, tt.want)
			}
			if len(got) > tt.most {
				t.Errorf("%d bytes, want at most %d", len(got), tt.most)
			}
			if !w.Truncated() {
				t.Error("Truncated() = false")
			}
		})
	}
}
