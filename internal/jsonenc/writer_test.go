// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

type custom struct{}

func (custom) MarshalJSON() ([]byte, error) { return []byte(`{"password":"p","shape":"own"}`), nil }

func encode(t testing.TB, l jsonenc.Limits, v any) (string, *jsonenc.Writer) {
	t.Helper()
	w := jsonenc.NewWriter(l, nil)
	w.Doc(100).Value(v)
	if !json.Valid(w.Bytes()) {
		t.Fatalf("not JSON: %s", w.Bytes())
	}
	return string(w.Bytes()), w
}

func TestValue(t *testing.T) {
	var nilMap map[string]any
	for _, tt := range []struct {
		name string
		in   any
		want string
	}{
		{"nil", nil, `null`},
		{"nil map", nilMap, `null`},
		{"scalars", []any{true, 1, int64(2), int32(3), uint64(4), 1.5, float32(2.5), "x"}, `[true,1,2,3,4,1.5,2.5,"x"]`},
		{"floats", []any{1e21, 1e-7, 0.000001, 100.0}, `[1e+21,1e-07,0.000001,100]`},
		{"keys are sorted", map[string]any{"b": 1, "a": map[string]any{"d": 1, "c": 2}}, `{"a":{"c":2,"d":1},"b":1}`},
		{"escapes", "a\"b\\c\nd\te\rf\x01", `"a\"b\\c\nd\te\rf\u0001"`},
		{"invalid UTF-8", "a\xffb", `"a` + "\ufffd" + `b"`},
		{"NaN and infinities", []any{math.NaN(), math.Inf(1)}, `["NaN","+Inf"]`},
		{"bytes are never written", []byte("secret image"), `"[BINARY DATA]"`},
		{"json.Number", []any{json.Number("12.50"), json.Number("x")}, `[12.50,"x"]`},
		{"time", time.Date(2026, 1, 19, 10, 0, 0, 0, time.UTC), `"2026-01-19T10:00:00Z"`},
		{"error", errors.New("e"), `"e"`},
		{"string map", map[string]string{"k": "v"}, `{"k":"v"}`},
		{"struct", struct {
			A int `json:"a"`
			B []byte
		}{1, nil}, `{"B":null,"a":1}`},
		{"own MarshalJSON, still redacted", custom{}, `{"password":"[REDACTED]","shape":"own"}`},
		{"panicking MarshalJSON", panics{}, `"[UNSERIALIZABLE]"`},
		{"a channel", make(chan int), `"[UNSERIALIZABLE]"`},
		{"secret keys in any spelling", map[string]any{"access_token": 1, "Access-Token": 2, "accessToken": 3, "X-Goog-Signature": 4, "temp:draft": 5, "tokens": 6},
			`{"Access-Token":"[REDACTED]","X-Goog-Signature":"[REDACTED]","accessToken":"[REDACTED]","access_token":"[REDACTED]","temp:draft":"[REDACTED]","tokens":6}`},
		{"secret keys of the session state", map[string]any{"user:api_key": 1, "app:password": 2, "temp:": 3, "user:name": 4, "app:": 5, "user:temp": 6},
			`{"app:":5,"app:password":"[REDACTED]","temp:":"[REDACTED]","user:api_key":"[REDACTED]","user:name":4,"user:temp":6}`},
		{"a long secret key", map[string]any{"X-Amz-" + strings.Repeat("a", 60): 1},
			`{"X-Amz-` + strings.Repeat("a", 60) + `":"[REDACTED]"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := encode(t, jsonenc.Limits{}, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	wide := make([]any, 1000)
	for i := range wide {
		wide[i] = "0123456789"
	}
	for _, tt := range []struct {
		name   string
		limits jsonenc.Limits
		in     any
		want   string // a part of the result
		most   int
	}{
		{"long string, at a rune boundary", jsonenc.Limits{String: 5}, "ääääää", `"ää...[TRUNCATED]"`, 100},
		{"cycle", jsonenc.Limits{Depth: 5}, cyclic, jsonenc.MarkDepth, 200},
		{"nodes", jsonenc.Limits{Nodes: 10}, wide[:20], jsonenc.MarkBudget, 1000},
		{"total", jsonenc.Limits{Total: 500}, wide, "", 600},
		{"total of one string", jsonenc.Limits{Total: 500}, strings.Repeat("x", 10_000), "...[TRUNCATED]", 600},
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

// A large document must not starve the one behind it.
func TestSharesOfTheTotal(t *testing.T) {
	w := jsonenc.NewWriter(jsonenc.Limits{Total: 1000}, nil)
	w.Doc(50).Value(strings.Repeat("x", 5000))
	d := w.Doc(40)
	d.Open('{')
	d.Str("id", "call-1")
	d.Close('}')
	from, to := d.Range()
	if got := string(w.Bytes()[from:to]); got != `{"id":"call-1"}` {
		t.Errorf("second document = %s", got)
	}
}

func TestResetForgets(t *testing.T) {
	w := jsonenc.NewWriter(jsonenc.Limits{String: 1}, nil)
	w.Doc(100).Value(map[string]any{"token": "x", "a": "long", "b": math.NaN()})
	if !w.Truncated() || w.Redacted() != 1 || w.Repaired() != 1 {
		t.Fatalf("truncated %v, redacted %d, repaired %d", w.Truncated(), w.Redacted(), w.Repaired())
	}
	w.Reset()
	w.Doc(100).Value("y")
	if w.Truncated() || w.Redacted() != 0 || w.Repaired() != 0 || string(w.Bytes()) != `"y"` {
		t.Errorf("after Reset: %s, truncated %v", w.Bytes(), w.Truncated())
	}
}

// What is written counts, not what was given: escapes make it longer.
func TestLimitsCountWhatIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits jsonenc.Limits
		in     string
		want   string
	}{
		{"control characters", jsonenc.Limits{String: 20}, strings.Repeat("\x01", 20), `"` + strings.Repeat(`\u0001`, 3) + `...[TRUNCATED]"`},
		{"quotes", jsonenc.Limits{String: 5}, `""""""`, `"\"\"...[TRUNCATED]"`},
		{"invalid UTF-8", jsonenc.Limits{String: 7}, "\xff\xff\xff\xff", "\"\ufffd\ufffd...[TRUNCATED]\""},
		{"an escape shortens the text behind it", jsonenc.Limits{String: 10}, "a\nb\u20ac\u20acxyz", `"a\nb` + "\u20ac\u20ac" + `...[TRUNCATED]"`},
		{"no rune is split", jsonenc.Limits{String: 9}, "a\nb\u20ac\u20ac", `"a\nb` + "\u20ac" + `...[TRUNCATED]"`},
		{"no rune of four bytes is split", jsonenc.Limits{String: 5}, "ab\U0001f600c", `"ab...[TRUNCATED]"`},
		{"exactly full", jsonenc.Limits{String: 6}, "\n\n\n", `"\n\n\n"`},
		{"the share of the document", jsonenc.Limits{Total: 100}, strings.Repeat("\x02", 100), `"` + strings.Repeat(`\u0002`, 16) + `...[TRUNCATED]"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, w := encode(t, tt.limits, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			if cut := strings.Contains(tt.want, jsonenc.MarkTruncated); w.Truncated() != cut {
				t.Errorf("Truncated() = %v, want %v", w.Truncated(), cut)
			}
		})
	}
}

func TestFull(t *testing.T) {
	w := jsonenc.NewWriter(jsonenc.Limits{Total: 200}, nil)
	d := w.Doc(50)
	d.Open('[')
	if d.Full() || w.Truncated() {
		t.Fatal("an empty document is full")
	}
	n := 0
	for range 1000 {
		if d.Full() {
			break
		}
		d.Open('{')
		d.Int("n", 1)
		d.Close('}')
		n++
	}
	d.Close(']')
	if !w.Truncated() || n == 1000 || w.Len() > 120 || !json.Valid(w.Bytes()) {
		t.Errorf("%d elements, truncated %v: %s", n, w.Truncated(), w.Bytes())
	}
	if w.Doc(50).Full() {
		t.Error("the document behind a full one is full")
	}
}

func TestCounters(t *testing.T) {
	for _, tt := range []struct {
		name               string
		in                 any
		redacted, repaired int
	}{
		{"plain", map[string]any{"a": []any{1, "x", nil, []byte("x")}}, 0, 0},
		{"numbers", []any{math.NaN(), math.Inf(-1), float32(math.Inf(1)), json.Number("1e999"), json.Number("x")}, 0, 5},
		{"invalid UTF-8", []string{"a\xff", "\xfe\xff"}, 0, 3},
		{"no JSON form", []any{make(chan int), panics{}, failing{}, (*typedErr)(nil)}, 0, 4},
		{"keys", map[string]any{"token": 1, "a": map[string]string{"password": "x", "b": "y"}}, 2, 0},
		{"texts", []string{"token=a password=b", `{"secret":1,"c":"https://u:p@h"}`, "Bearer abc123def"}, 5, 0},
		{"struct", struct{ Token, Note string }{"t", "api_key=k"}, 2, 0},
		{"own MarshalJSON", json.RawMessage(`{"token":1,"note":"api_key=k and 'sig': 's'"}`), 3, 0},
		{"a key", map[string]any{"https://u:p@h": "token=x"}, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, w := encode(t, jsonenc.Limits{}, tt.in)
			if w.Redacted() != tt.redacted || w.Repaired() != tt.repaired {
				t.Errorf("redacted %d, repaired %d: %s", w.Redacted(), w.Repaired(), got)
			}
		})
	}
}

func TestCleanCutsAndRepairs(t *testing.T) {
	w := jsonenc.NewWriter(jsonenc.Limits{}, nil)
	if got := w.Clean("a\xffb", 10); got != "a\ufffdb" || w.Repaired() != 1 || w.Truncated() {
		t.Errorf("got %q, repaired %d, truncated %v", got, w.Repaired(), w.Truncated())
	}
	if got := w.Clean("ääää", 5); got != "ää"+jsonenc.MarkTruncated || !w.Truncated() {
		t.Errorf("got %q, truncated %v", got, w.Truncated())
	}
	if w.Len() != 0 {
		t.Errorf("%d bytes were written", w.Len())
	}
}

func TestMarked(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "REDACTED": false, "a " + jsonenc.MarkRedacted + " b": true, jsonenc.MarkSensitive: true, "long" + jsonenc.MarkTruncated: true,
		jsonenc.MarkBinary: true, jsonenc.MarkDepth: true, jsonenc.MarkBudget: true, jsonenc.MarkUnserializable: true,
	} {
		if got := jsonenc.Marked(text); got != want {
			t.Errorf("Marked(%q) = %t", text, got)
		}
	}
}
