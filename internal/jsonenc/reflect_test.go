// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

type (
	level  int
	word   string
	ranked struct{ R int }

	inner struct {
		A, Same string
		Deep    int `json:"deep"`
	}
	other struct {
		Same string
		B    int `json:"b"`
	}
	Tagged struct {
		Name string `json:"Same"`
	}
	loop struct {
		*loop
		V int
	}
	onPointer struct{ N int }
	textual   struct{ s string }
	zeroable  struct{ N int }
	list      struct {
		V    int
		Next *list
	}
)

func (l level) MarshalText() ([]byte, error)      { return []byte(strings.Repeat("*", int(l))), nil }
func (p *onPointer) MarshalJSON() ([]byte, error) { return []byte(`"pointer"`), nil }
func (x *textual) MarshalText() ([]byte, error)   { return []byte("text " + x.s), nil }
func (z zeroable) IsZero() bool                   { return z.N == 7 }
func (r ranked) MarshalJSON() ([]byte, error)     { return json.Marshal(r.R * 2) }
func (e *typedErr) Error() string                 { return e.text }
func (panicText) MarshalText() ([]byte, error)    { panic("text") }
func (*panicZero) IsZero() bool                   { panic("zero") }
func (a alias) MarshalJSON() ([]byte, error)      { type plain alias; return json.Marshal(plain(a)) }
func (c *circular) MarshalJSON() ([]byte, error)  { return json.Marshal(map[string]any{"data": c.Data}) }
func (failing) MarshalJSON() ([]byte, error)      { return nil, errors.New("no") }

type (
	typedErr  struct{ text string }
	panicText struct{}
	panicZero struct{ N int }
	failing   struct{}
	alias     struct {
		Parts []*part
		Any   any
	}
	part     struct{ Data []byte }
	circular struct {
		Data []byte
		Self *circular
	}
)

// A struct is written as encoding/json writes it, but for the order of members.
func TestStructsAsEncodingJSON(t *testing.T) {
	at := time.Date(2026, 1, 19, 10, 0, 0, 5, time.FixedZone("x", 3600))
	n, s, yes := 5, "s", true
	pp := &n
	var nilInner *inner
	for name, v := range map[string]any{
		"scalars": struct {
			B   bool
			I8  int8
			U   uint
			U16 uint16
			F   float32
			G   float64
			S   word
			N   json.Number
			N0  json.Number
		}{true, -8, 9, 16, 1.1, 1e22, "w", "12.5", ""},
		"names": struct {
			A int `json:"x"`
			B int `json:"-"`
			//lint:ignore SA5008 tags that encoding/json accepts, whatever they say
			C int `json:"-,"`
			D int `json:",omitempty"`
			//lint:ignore SA5008 tags that encoding/json accepts, whatever they say
			E          int `json:"bad\"name"`
			F          int `json:"Größe"`
			unexported int
		}{1, 2, 3, 0, 5, 6, 7},
		"omitempty": struct {
			S  string         `json:",omitempty"`
			M  map[string]int `json:",omitempty"`
			A  []int          `json:",omitempty"`
			Z  [0]int         `json:",omitempty"`
			P  *int           `json:",omitempty"`
			I  any            `json:",omitempty"`
			T  time.Time      `json:",omitempty"`
			IN inner          `json:",omitempty"`
		}{A: []int{}},
		"omitzero": struct {
			T  time.Time  `json:",omitzero"`
			Z7 zeroable   `json:",omitzero"`
			Z0 zeroable   `json:",omitzero"`
			PZ *zeroable  `json:",omitzero"`
			QZ *zeroable  `json:",omitzero"`
			A  []int      `json:",omitzero"`
			E  []int      `json:",omitzero"`
			I  any        `json:",omitzero"`
			IN inner      `json:",omitzero"`
			OP onPointer  `json:",omitzero"`
			BZ *panicZero `json:",omitzero"`
		}{Z7: zeroable{7}, QZ: &zeroable{7}, E: []int{}},
		"string option": struct {
			I  int         `json:",string"`
			B  bool        `json:",string"`
			F  float64     `json:",string"`
			S  string      `json:",string"`
			P  *int        `json:",string"`
			Q  *int        `json:",string"`
			PS *string     `json:",string"`
			L  level       `json:",string"`
			N  json.Number `json:",string"`
			//lint:ignore SA5008 a tag without effect
			A []int `json:",string"`
		}{1, true, 1.5, "a\"b", &n, nil, &s, 2, "7", []int{1}},
		"embedded, hidden and annihilated": struct {
			inner
			*other
			A string
		}{inner{"a", "s", 1}, &other{"t", 2}, "outer"},
		"embedded nil": struct {
			inner
			*other
		}{},
		"embedded, the tag wins": struct {
			inner
			other
			Tagged
		}{Tagged: Tagged{"tagged"}},
		"embedded with a name": struct {
			inner  `json:"in"`
			Tagged `json:"-"`
		}{inner{"a", "s", 1}, Tagged{"x"}},
		"embedded scalar":    struct{ word }{"x"},
		"embedded in itself": loop{&loop{nil, 1}, 2},
		"embedded marshaler": struct{ ranked }{ranked{4}},
		"pointers":           struct{ P, N **int }{&pp, nil},
		"nil pointer":        nilInner,
		"linked":             &list{1, &list{2, nil}},
		"nil slices and maps": struct {
			A []int
			M map[string]int
			E [2]bool
		}{},
		"maps":                  map[level]any{1: map[int]bool{-1: yes}, 2: map[word]*int{"k": &n}, 3: map[uint8]string{3: "x"}},
		"map of pointer values": map[string]onPointer{"a": {1}},
		"marshalers":            []any{ranked{1}, &ranked{2}, onPointer{3}, &onPointer{4}, []onPointer{{5}}, struct{ O onPointer }{}, &struct{ O onPointer }{}, (*ranked)(nil)},
		"text marshalers":       []any{level(3), []level{1, 2}, &textual{"a"}, textual{"b"}, []textual{{"c"}}, netip.MustParseAddr("10.0.0.1"), (*textual)(nil), big.NewInt(77)},
		"times": struct {
			T time.Time
			P *time.Time
			D time.Duration
		}{at, &at, time.Second},
		"interfaces": struct {
			A, B any
			C    json.Marshaler
		}{1, inner{}, ranked{9}},
		"raw":  struct{ R, N json.RawMessage }{R: json.RawMessage(`{"a":[1,2]}`)},
		"text": []word{"<&>", "\u2028", "a\tb", "\x7f"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var want, have any
			got, w := encode(t, jsonenc.Limits{}, v)
			if err := errors.Join(json.Unmarshal(data, &want), json.Unmarshal([]byte(got), &have)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("mismatch (-encoding/json +got):\n%s", diff)
			}
			if w.Truncated() || w.Repaired() != 0 {
				t.Errorf("truncated %v, repaired %d", w.Truncated(), w.Repaired())
			}
		})
	}
}

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
		{"bytes in a struct", struct{ Data, None []byte }{Data: data}, `{"Data":"[BINARY DATA]","None":null}`},
		{"bytes behind pointers", &struct{ P *part }{&part{data}}, `{"P":{"Data":"[BINARY DATA]"}}`},
		{"bytes in slices and maps", []any{[][]byte{data}, map[string][]byte{"k": data}, blob(data), [3]byte{1}},
			`[["[BINARY DATA]"],{"k":"[BINARY DATA]"},"[BINARY DATA]","[BINARY DATA]"]`},
		{"bytes in an interface", struct{ A any }{map[string]any{"x": data}}, `{"A":{"x":"[BINARY DATA]"}}`},
		{"bytes in MarshalJSON", alias{[]*part{{data}}, data}, `{"Any":"[BINARY DATA]","Parts":[{"Data":"[BINARY DATA]"}]}`},
		{"bytes in MarshalJSON of a cycle", circle, `{"data":"[BINARY DATA]"}`},
		{"only that value", []any{&part{data}, "c29tZSBieXRlcw=="}, `[{"Data":"[BINARY DATA]"},"c29tZSBieXRlcw=="]`},
		{"a secret in a struct", struct {
			Key string `json:"api_key"`
			M   map[word]int
		}{"k", map[word]int{"password": 1}}, `{"M":{"password":"[REDACTED]"},"api_key":"[REDACTED]"}`},
		{"a typed nil error", map[string]any{"cause": (*typedErr)(nil), "n": 1}, `{"cause":"[UNSERIALIZABLE]","n":1}`},
		{"an error in a struct", struct{ Err error }{&typedErr{"e"}}, `{"Err":"e"}`},
		{"panics and failures are contained", struct {
			A panics
			B panicText
			C map[panicText]int
			D *panicZero `json:",omitzero"`
			E failing
			F func()
			G int
		}{C: map[panicText]int{{}: 1}, D: &panicZero{4}, F: func() {}, G: 1},
			`{"A":"[UNSERIALIZABLE]","B":"[UNSERIALIZABLE]","C":"[UNSERIALIZABLE]","D":{"N":4},"E":"[UNSERIALIZABLE]","F":"[UNSERIALIZABLE]","G":1}`},
		{"keys without a text form", map[bool]int{true: 1}, `"[UNSERIALIZABLE]"`},
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
	many := make([]inner, 10_000)
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
		{"cycle of structs", jsonenc.Limits{Depth: 5}, circle, jsonenc.MarkDepth, 200},
		{"cycle of pointers", jsonenc.Limits{Depth: 5}, self, jsonenc.MarkDepth, 50},
		{"many structs", jsonenc.Limits{Total: 500}, many, "", 600},
		{"many keys", jsonenc.Limits{Total: 500}, sparse, "", 600},
		{"a wide struct", jsonenc.Limits{Total: 100}, struct{ A, B, C, D string }{strings.Repeat("a", 90), "b", "c", "d"}, "", 200},
		{"nodes", jsonenc.Limits{Nodes: 10}, many[:10], jsonenc.MarkBudget, 1000},
		{"a long number", jsonenc.Limits{Total: 100}, []any{json.Number(strings.Repeat("1", 300))}, jsonenc.MarkTruncated, 50},
		{"more in a marshaler than is looked at", jsonenc.Limits{Nodes: 10}, alias{Parts: make([]*part, 20)}, jsonenc.MarkBudget, 100},
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
