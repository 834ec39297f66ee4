// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

func digest(v any) jsonenc.Digest { return jsonenc.NewWriter(jsonenc.Limits{}, nil).Digest(v) }

// One number has one digest, however it is spelled and whatever holds it.
func TestDigestOfNumbers(t *testing.T) {
	for _, same := range [][]any{
		{52000, int64(52000), int32(52000), uint64(52000), 52000.0, float32(52000), json.Number("52000"), json.Number("52000.0"), json.Number("5.2e4"), json.Number("5.20E+04"), json.Number("520000000e-4")},
		{0, 0.0, math.Copysign(0, -1), json.Number("-0"), json.Number("0.000"), json.Number("-0e9"), json.Number("0e-99999999999999999999")},
		{-1.5, json.Number("-1.50"), json.Number("-15e-1"), json.Number("-0.15e1")},
		{1e-7, json.Number("0.0000001"), json.Number("1e-7"), json.Number("0.1E-6")},
		{1e21, json.Number("1000000000000000000000"), json.Number("1e21"), json.Number("0.01e23")},
		{1e-300, json.Number("1e-300"), json.Number("0.10e-299"), json.Number("0." + strings.Repeat("0", 299) + "1")},
		{18000.5, json.Number("18000.50"), json.Number("1.80005e4")},
		{0.05, json.Number("5e-2")},
	} {
		for _, v := range same[1:] {
			if got, want := digest(v), digest(same[0]); got != want {
				t.Errorf("%v (%T) has the digest %s, and %v has %s", v, v, got, same[0], want)
			}
			in := []any{map[string]any{"a": "1.0", "n": v, "z": []any{v, "x"}}}
			if got, want := digest(in), digest([]any{map[string]any{"a": "1.0", "n": same[0], "z": []any{same[0], "x"}}}); got != want {
				t.Errorf("inside of other values %v has another digest than %v", v, same[0])
			}
		}
	}
	seen := make(map[jsonenc.Digest]any)
	for _, v := range []any{0, 1, 10, -1, 1.5, 15, 0.15, 1e-40, 1e40, "1", "1.0", true, nil, []any{1, 0}, []any{10}, map[string]any{}, map[string]any{"a": 1.0}} {
		if old, ok := seen[digest(v)]; ok {
			t.Errorf("%#v and %#v have one digest", v, old)
		}
		seen[digest(v)] = v
	}
}

// Numbers in texts are texts, also behind quotes and backslashes.
func TestDigestLeavesTexts(t *testing.T) {
	for _, pair := range [][2]string{{"1.0", "1"}, {`"1.0`, `"1`}, {`\" 1.0 \\`, `\" 1 \\`}, {`\\`, `\`}} {
		if digest(map[string]any{"k": pair[0], "n": 2.5}) == digest(map[string]any{"k": pair[1], "n": 2.5}) {
			t.Errorf("%q and %q have one digest", pair[0], pair[1])
		}
	}
}

type order struct {
	Item  string    `json:"item"`
	Price float32   `json:"price"`
	At    time.Time `json:"at"`
	Data  []byte    `json:"data"`
}

// A value has the digest of what encoding/json makes of it.
func TestDigestSurvivesStorage(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for _, v := range []any{
		map[string]any{"n": 1, "f": 2.50, "s": "a<b>&\u2028", "list": []any{1, nil, true}, "texts": []string{"x"}, "m": map[string]string{"k": "v"}},
		map[string]any{"order": order{"Superbowl", 40000.25, time.Date(2026, 1, 19, 10, 0, 0, 0, zone), []byte("bytes")}},
		map[string]any{"at": time.Date(2026, 1, 19, 10, 0, 0, 7, zone), "data": []byte("bytes"), "raw": json.RawMessage(`{"b":1.0,"a":2}`)},
		map[string]any{"ints": []int{3, 2}, "small": int8(4), "error": errors.New("no")},
	} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var stored any
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		if got, want := digest(stored), digest(v); got != want {
			t.Errorf("%s has the digest %s before it is stored and %s after", data, want, got)
		}
	}
	if digest(math.NaN()) == digest(1) || digest(func() {}).String() == "" {
		t.Error("what JSON cannot hold has no digest of its own")
	}
}

// Digested gives what Digest gives, or says that it cannot.
func TestDigestWhileWriting(t *testing.T) {
	for name, tt := range map[string]struct {
		value any
		ok    bool
	}{
		"plain":   {map[string]any{"n": 5.20, "s": "a"}, true},
		"secret":  {map[string]any{"n": 5.20, "secret_key": "hunter2"}, false},
		"numbers": {map[string]any{"n": json.Number("5.20e1"), "m": 1e-9}, true},
		"foreign": {map[string]any{"o": order{Item: "x"}}, false},
		"bytes":   {map[string]any{"o": []byte("x")}, false},
		"cut":     {map[string]any{"o": strings.Repeat("x", 2_000_000)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := jsonenc.NewWriter(jsonenc.Limits{}, nil)
			d := w.Doc(50)
			d.Open('{')
			d.Str("before", "1.0")
			sum, ok := d.Digested("v", tt.value)
			d.Close('}')
			if ok != tt.ok || ok && sum != digest(tt.value) {
				t.Errorf("Digested = %s, %t; want %s, %t", sum, ok, digest(tt.value), tt.ok)
			}
			if w.Truncated() != (name == "cut") {
				t.Errorf("truncated = %t", w.Truncated())
			}
			if !json.Valid(w.Bytes()) {
				t.Errorf("wrote %s", w.Bytes())
			}
		})
	}
}

// What a row leaves out counts: two values have one digest only if they are equal to the last byte.
func TestDigestOfTheWhole(t *testing.T) {
	long := strings.Repeat("x", 600_000)
	var deep any = "a"
	for range 100 {
		deep = []any{deep}
	}
	different := []any{
		map[string]any{"note": long + "a"}, map[string]any{"note": long + "b"}, map[string]any{"note": long},
		map[string]any{"api_key": "hunter1"}, map[string]any{"api_key": "hunter2"}, map[string]any{"api_key": "[REDACTED]"},
		map[string]any{"api_key": "hunter1", "n": 1}, map[string]any{"api_key": "hunter1", "n": 2}, deep, []any{deep},
	}
	digests := make(map[jsonenc.Digest]int)
	for i, v := range different {
		if j, known := digests[digest(v)]; known {
			t.Errorf("values %d and %d have one digest", i, j)
		}
		digests[digest(v)] = i
	}
	stored := map[string]any{"api_key": "hunter1", "n": 1.0, "raw": map[string]any{"a": 2, "b": json.Number("1")}}
	if digest(stored) != digest(map[string]any{"raw": json.RawMessage(`{"b":1.0,"a":2}`), "n": json.Number("1.0"), "api_key": "hunter1"}) {
		t.Error("a value that was stored has another digest")
	}
}

// The key of a store makes a digest its own.
func TestDigestHasAKey(t *testing.T) {
	w := jsonenc.NewWriter(jsonenc.Limits{}, nil)
	w.SetKey([]byte("key"))
	if w.Digest(40000) == digest(40000) {
		t.Error("the key changes nothing")
	}
}

// Numbers have one digest if and only if they have one value.
func FuzzDigestOfNumbers(f *testing.F) {
	for _, pair := range [][2]string{{"52000", "5.2e4"}, {"0", "-0.0"}, {"1e-7", "0.0000001"}, {"1.50", "1.5"}, {"123456789012345678901234567890", "1e29"}, {"1e-40", "10e-41"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := number(a), number(b)
		if x == nil || y == nil {
			return // no numbers
		}
		if got, want := digest(json.Number(a)) == digest(json.Number(b)), x.Cmp(y) == 0; got != want {
			t.Errorf("%s and %s: one digest is %t, one value %t", a, b, got, want)
		}
		// A whole number that a float64 holds is the same after it was stored.
		if n, err := strconv.ParseInt(a, 10, 64); err == nil && n > -1<<53 && n < 1<<53 {
			if digest(n) != digest(float64(n)) || digest(n) != digest(json.Number(a)) {
				t.Errorf("%d has several digests", n)
			}
		}
		if v, err := strconv.ParseFloat(a, 64); err == nil {
			data, _ := json.Marshal(v)
			if digest(v) != digest(json.Number(data)) {
				t.Errorf("%v as a float64 and as %s have two digests", v, data)
			}
		}
	})
}

// number returns the value of a JSON number of a size that can be compared.
func number(s string) *big.Rat {
	if len(s) > 60 || !json.Valid([]byte(s)) || strings.ContainsAny(s, "\"{[tfn \t\r\n") {
		return nil
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e < -1000 || e > 1000 {
			return nil
		}
	}
	if f, err := strconv.ParseFloat(s, 64); err != nil || math.IsInf(f, 0) {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}
