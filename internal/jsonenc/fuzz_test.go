// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "ä€😀", "a\xff\xfe", "x" + strings.Repeat("\u20ac", 40), "\x00\x1f\"\\", strings.Repeat("é", 300)} {
		f.Add(s, 64)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 1 || limit > 1<<16 {
			limit = 64
		}
		w := jsonenc.NewWriter(jsonenc.Limits{String: limit})
		w.Doc(100).Value(s)
		var back string
		if err := json.Unmarshal(w.Bytes(), &back); err != nil {
			t.Fatalf("%q gave %q: %v", s, w.Bytes(), err)
		}
		if utf8.ValidString(s) && w.Repaired() != 0 {
			t.Fatalf("%q is valid, but %q counts as repaired", s, w.Bytes())
		}
		if !w.Truncated() && utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"token":"x"}],"b":1e400}`))
	f.Add([]byte(`[[[[[[[[]]]]]]]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := jsonenc.NewWriter(jsonenc.Limits{Depth: 6, Nodes: 50, Total: 2000})
		w.Doc(100).Value(json.RawMessage(data))
		if !json.Valid(w.Bytes()) {
			t.Fatalf("%q gave %q", data, w.Bytes())
		}
	})
}

// slack is what a document may take beyond its share: the mark of a key, the
// mark of its value and what closes the levels that are open.
func slack(depth int) int {
	return len(jsonenc.MarkTruncated) + len(jsonenc.MarkBudget) + len(`"":"",`) + depth
}

type node struct {
	Name  string         `json:"name"`
	Data  []byte         `json:"data,omitempty"`
	Next  *node          `json:"next,omitempty"`
	More  []any          `json:"more,omitempty"`
	State map[string]any `json:"state,omitempty"`
}

// grow builds a value as the bytes of plan say, with the strings that it finds
// in text.
func grow(plan *[]byte, text *string, depth int) any {
	if len(*plan) == 0 || depth == 0 {
		return nil
	}
	op := (*plan)[0]
	*plan = (*plan)[1:]
	word := func() string {
		n := min(int(op>>3), len(*text))
		s := (*text)[:n]
		*text = (*text)[n:]
		return strings.Repeat(s, 1+int(op>>5))
	}
	switch op % 8 {
	case 0:
		m := map[string]any{}
		for range op >> 5 {
			m[word()] = grow(plan, text, depth-1)
		}
		return m
	case 1:
		a := make([]any, op>>5)
		for i := range a {
			a[i] = grow(plan, text, depth-1)
		}
		return a
	case 2:
		return []string{word(), word()}
	case 3:
		n := &node{Name: word(), Data: []byte("bytes"), More: []any{grow(plan, text, depth-1)}}
		n.Next, _ = grow(plan, text, depth-1).(*node)
		return n
	case 4:
		return map[string]string{word(): word()}
	case 5:
		return json.Number(word())
	case 6:
		return map[int]any{int(op): grow(plan, text, depth-1)}
	}
	return word()
}

func FuzzNested(f *testing.F) {
	f.Add([]byte{224, 225, 227, 228, 255, 226, 229, 230}, strings.Repeat("\x00\x01\"\\\xff\u20ac", 40), 200)
	f.Add([]byte{227, 227, 227, 227}, "plain text, long enough to be cut somewhere", 100)
	f.Add([]byte{245, 245}, strings.Repeat("1", 300), 100)
	f.Fuzz(func(t *testing.T, plan []byte, text string, total int) {
		if total < 100 || total > 1<<16 {
			total = 300
		}
		if len(plan) > 1000 {
			plan = plan[:1000]
		}
		total -= total % 100
		l := jsonenc.Limits{Total: total, Depth: 12, Nodes: 200}
		v := grow(&plan, &text, 20)
		w := jsonenc.NewWriter(l)
		w.Doc(100).Value(v)
		if !json.Valid(w.Bytes()) {
			t.Fatalf("not JSON: %q", w.Bytes())
		}
		if n := w.Len(); n > total+slack(l.Depth) {
			t.Fatalf("%d bytes, limit %d: %q", n, total, w.Bytes())
		}
		if strings.Contains(string(w.Bytes()), "Ynl0ZXM=") && !strings.Contains(text, "Ynl0ZXM=") {
			t.Fatalf("bytes were written: %q", w.Bytes())
		}
	})
}
