// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestArgsDigest(t *testing.T) {
	for _, test := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"nil", nil, `{}`},
		{"empty", map[string]any{}, `{}`},
		{"literals", map[string]any{"a": nil, "b": true, "c": false}, `{"a":null,"b":true,"c":false}`},
		{"nil containers", map[string]any{"a": map[string]any(nil), "b": []any(nil), "c": []string(nil)}, `{"a":null,"b":null,"c":null}`},
		{"numbers", map[string]any{"n": []any{333333333.3333332, 4.50, 2e-3, 0.000001, 0.0000001, 1e-27, -1.5e-10, 1e15, math.Copysign(0, -1), -5.0}},
			`{"n":[333333333.3333332,4.5,0.002,0.000001,1e-7,1e-27,-1.5e-10,1000000000000000,0,-5]}`},
		{"integers", map[string]any{"n": []any{1, int8(-2), int16(3), int32(4), int64(-5), uint(6), uint8(7), uint16(8), uint32(9), uint64(10)}},
			`{"n":[1,-2,3,4,-5,6,7,8,9,10]}`},
		{"greatest integers", map[string]any{"n": []any{int64(1<<53 - 1), int64(-1<<53 + 1), uint64(1<<53 - 1), float64(1<<53 - 1), json.Number("9007199254740991")}},
			`{"n":[9007199254740991,-9007199254740991,9007199254740991,9007199254740991,9007199254740991]}`},
		{"number texts", map[string]any{"n": []any{json.Number("5"), json.Number("5.00"), json.Number("-0"), json.Number("0e7"), json.Number("1E3"), json.Number("1.25e+2"), json.Number("100e-2"), json.Number("0.1")}},
			`{"n":[5,5,0,0,1000,125,1,0.1]}`},
		{"text", map[string]any{"s": " \u20ac$\u000f\nA'B\"\\\"/\b\t\f\r\x7f\u2028<>&"},
			"{\"s\":\" \u20ac$\\u000f\\nA'B\\\"\\\\\\\"/\\b\\t\\f\\r\x7f\u2028<>&\"}"},
		// The example of RFC 8785, 3.2.3: order by UTF-16 code units.
		{"order", map[string]any{"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7},
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001f600\":5,\"\ufb33\":3}"},
		{"nested", map[string]any{"z": map[string]any{"b": []any{1, map[string]any{}}, "a": []any{}}, "y": []map[string]any{{"k": "v"}, nil}, "x": []string{"p", "q"}},
			`{"x":["p","q"],"y":[{"k":"v"},null],"z":{"a":[],"b":[1,{}]}}`},
	} {
		digest, canonical, err := safety.ArgsDigest(test.args)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if string(canonical) != test.want {
			t.Errorf("%s: %s, want %s", test.name, canonical, test.want)
		}
		if len(digest) != 64 {
			t.Errorf("%s: digest %q is not 64 digits", test.name, digest)
		}
	}
	const empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // sha-256 of {}
	if digest, _, _ := safety.ArgsDigest(nil); digest != empty {
		t.Errorf("digest of no arguments is %s, want %s", digest, empty)
	}
}

// deep returns n maps in each other.
func deep(n int) map[string]any {
	m := map[string]any{}
	for range n - 1 {
		m = map[string]any{"m": m}
	}
	return m
}

// badArgs are arguments that must not get a digest.
func badArgs() map[string]map[string]any {
	cycle := map[string]any{}
	cycle["self"] = cycle
	wide := []any{nil, nil, nil, nil}
	for i := range wide {
		wide[i] = wide
	}
	type named string
	bad := map[string]map[string]any{
		"a key that is not UTF-8": {"a\xff": 1},
		"too deep":                deep(102),
		"a cycle":                 cycle,
		"a wide cycle":            {"w": wide},
		"too long":                {"a": strings.Repeat("x", 5<<20), "b": 1},
		"too long at the end":     {"a": strings.Repeat("x", 4<<20)},
	}
	for name, v := range map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(1), "negative infinity": math.Inf(-1),
		"a great int": 1 << 53, "a small int": -1 << 53, "a great uint": uint64(1 << 53), "what a greater int becomes": float64(1 << 53), "a great float": float64(1 << 54),
		"a great number": json.Number("9007199254740993"), "a great even number": json.Number("9007199254740994"),
		"1e30": 1e30, "a number out of range": json.Number("1e999"), "a number that vanishes": json.Number("1e-999"),
		"an endless exponent": json.Number("1e-99999999999999999999"), "too many digits": json.Number("0.1000000000000000055"),
		"no number": json.Number("NaN"), "an empty number": json.Number(""), "a word": json.Number("null"), "a spaced number": json.Number(" 1"),
		"a plus": json.Number("+5"), "no whole part": json.Number(".5"), "no fraction": json.Number("5."), "a leading zero": json.Number("05"), "hexadecimal": json.Number("0x10"),
		"text that is not UTF-8": "a\xffb", "bytes": []byte("x"), "a struct": struct{}{}, "a func": func() {}, "a channel": make(chan int),
		"a pointer": new(1), "a named text": named("x"), "float32": float32(0.1), "complex": 1i, "an int map": map[int]any{1: 1}, "an error": errors.New("x"),
	} {
		bad[name] = map[string]any{"list": []any{map[string]any{"v": v}}}
	}
	return bad
}

func TestArgsDigestRefuses(t *testing.T) {
	for name, args := range badArgs() {
		digest, canonical, err := safety.ArgsDigest(args)
		if !errors.Is(err, safety.ErrArgs) || digest != "" || canonical != nil {
			t.Errorf("%s: digest %q, error %v; want %v", name, digest, err, safety.ErrArgs)
		}
		if frozen, err := safety.FreezeArgs(args); !errors.Is(err, safety.ErrArgs) || frozen != nil {
			t.Errorf("%s: frozen %v, error %v; want %v", name, frozen, err, safety.ErrArgs)
		}
	}
	if _, _, err := safety.ArgsDigest(deep(101)); err != nil {
		t.Errorf("100 levels: %v", err)
	}
	for want, args := range map[string]map[string]any{
		"$.a[1].b: ": {"a": []any{1, map[string]any{"b": math.NaN()}}},
		"$.a[0]: ":   {"a": []any{math.NaN(), 1}, "b": 1},
		"$.b.: ":     {"a": 1, "b": map[string]any{"": math.NaN()}},
	} {
		if _, _, err := safety.ArgsDigest(args); err == nil || !strings.Contains(err.Error(), ": "+want) {
			t.Errorf("error %v does not name the place %s", err, want)
		}
	}
}

func TestArgsOfMaximalSize(t *testing.T) {
	const most = 4 << 20
	for size, ok := range map[int]bool{most - 1: true, most: true, most + 1: false} {
		args := map[string]any{"a": strings.Repeat("x", size-len(`{"a":""}`))}
		_, canonical, err := safety.ArgsDigest(args)
		if (err == nil) != ok || ok && len(canonical) != size {
			t.Errorf("%d bytes: %d bytes, error %v", size, len(canonical), err)
		}
	}
}

func TestFreezeArgs(t *testing.T) {
	list, inner := []any{1, "x"}, map[string]any{"k": json.Number("2")}
	texts, maps := []string{"a"}, []map[string]any{{"m": 1.5}, nil}
	args := map[string]any{"list": list, "inner": inner, "texts": texts, "maps": maps, "nil": nil, "none": map[string]any(nil)}
	frozen, err := safety.FreezeArgs(args)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(frozen, args) {
		t.Fatalf("frozen %#v, want %#v", frozen, args)
	}
	before, _, _ := safety.ArgsDigest(frozen)
	list[0], inner["k"], texts[0], maps[0]["m"], args["new"] = 9, 9, "z", 9, 9
	if after, _, _ := safety.ArgsDigest(frozen); after != before {
		t.Error("the frozen arguments changed with the original")
	}
	if frozen, err := safety.FreezeArgs(nil); err != nil || frozen == nil || len(frozen) != 0 {
		t.Errorf("frozen nil: %v, %v; want an empty map", frozen, err)
	}
}

// FuzzArgsDigest checks that what has a digest is valid JSON that means the same and
// has the same digest when it is read back.
func FuzzArgsDigest(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":[1,2.5,-0,1e-7,"\u20ac\ud83d\ude00"],"b":{"c":null,"d":true}}`, `{"n":9007199254740993}`, `{"a":1E400}`, `{"\ufb33":1,"\ud83d\ude00":2}`, `{"n":0.10000000000000000555}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, useNumber bool) {
		d := json.NewDecoder(strings.NewReader(string(data)))
		if useNumber {
			d.UseNumber()
		}
		var args map[string]any
		if d.Decode(&args) != nil {
			return
		}
		digest, canonical, err := safety.ArgsDigest(args)
		if err != nil {
			if digest != "" || canonical != nil || !errors.Is(err, safety.ErrArgs) {
				t.Fatalf("digest %q beside error %v", digest, err)
			}
			return
		}
		var plain, again map[string]any
		if err := json.Unmarshal(canonical, &again); err != nil {
			t.Fatalf("%s is not JSON: %v", canonical, err)
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &plain); err != nil {
			t.Fatal(err)
		}
		if args != nil && !reflect.DeepEqual(plain, again) {
			t.Fatalf("%s means %v, want %v", canonical, again, plain)
		}
		digest2, canonical2, err := safety.ArgsDigest(again)
		if err != nil || digest2 != digest || string(canonical2) != string(canonical) {
			t.Fatalf("read back: %s, %v; want %s", canonical2, err, canonical)
		}
	})
}

// Nothing is made of the name of a list for each of its elements: the time that a digest
// takes would follow the product of the two.
func TestArgsDigestOfALongName(t *testing.T) {
	list := make([]any, 10_000)
	for i := range list {
		list[i] = 1.0
	}
	args := map[string]any{strings.Repeat("k", 10_000): list}
	allocations := testing.AllocsPerRun(1, func() {
		if _, _, err := safety.ArgsDigest(args); err != nil {
			t.Error(err)
		}
	})
	if allocations > 1000 {
		t.Errorf("%v allocations for %d elements", allocations, len(list))
	}
}
