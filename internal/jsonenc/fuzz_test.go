// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
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
		w := jsonenc.NewWriter(jsonenc.Limits{String: limit}, nil)
		w.Doc(100).Value(s)
		var back string
		if err := json.Unmarshal(w.Bytes(), &back); err != nil {
			t.Fatalf("%q gave %q: %v", s, w.Bytes(), err)
		}
		if utf8.ValidString(s) && w.Repaired() != 0 {
			t.Fatalf("%q is valid, but %q counts as repaired", s, w.Bytes())
		}
		if !w.Truncated() && w.Redacted() == 0 && utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"token":"x"}],"b":1e400}`))
	f.Add([]byte(`[[[[[[[[]]]]]]]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := jsonenc.NewWriter(jsonenc.Limits{Depth: 6, Nodes: 50, Total: 2000}, nil)
		w.Doc(100).Value(json.RawMessage(data))
		if !json.Valid(w.Bytes()) {
			t.Fatalf("%q gave %q", data, w.Bytes())
		}
	})
}

// slack is what a document may take beyond its share: the mark of a key that was
// cut and of one that would stand there twice, the mark of its value, and what
// closes the levels that are open, each with the marks of its rest.
func slack(depth int) int {
	return len(jsonenc.MarkTruncated) + len("[KEY_COLLISION_100000]") + len(jsonenc.MarkBudget) + len(`"":"",`) + depth*(1+len(`,"":""`)+2*len(jsonenc.MarkTruncated))
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
		w := jsonenc.NewWriter(l, nil)
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

// plants returns values that hold a secret, the marker, each in the middle of
// other text.
func plants(t *testing.T, before, after, marker string) map[string]any {
	secret := map[string]any{"access_token": marker}
	once := jsonString(t, secret)
	twice := jsonString(t, map[string]any{"inner": once})
	header := before + "Authorization: Bearer " + marker + after
	uri := before + "https://storage.googleapis.com/b/o?Expires=1&X-Goog-Signature=" + marker + "&y=2" + after
	return map[string]any{
		"value of a secret key":          map[string]any{"a": before, "DB-Password": marker},
		"inside of a secret value":       map[string]any{"credentials": []any{before, map[string]string{after: marker}}},
		"struct":                         struct{ APIKey, Text string }{marker, before},
		"marshaler":                      json.RawMessage(`{"Client-Secret":"` + marker + `"}`),
		"JSON":                           before + once + after,
		"JSON in JSON":                   before + twice + after,
		"JSON in JSON in JSON":           before + jsonString(t, []string{twice}) + after,
		"JSON with text in it":           jsonString(t, map[string]any{before: header, "u": []string{uri, before + once + after}}),
		"JSON with text in it, twice":    jsonString(t, jsonString(t, []string{header, uri})),
		"nested in JSON":                 before + `{"credentials":{"a":["` + marker + `"]}}` + after,
		"duplicate keys":                 before + `{"token":"x","token":"` + marker + `"}` + after,
		"header":                         header,
		"basic header":                   before + "Proxy-Authorization: Basic " + marker + "=" + after,
		"cookie":                         before + "\nSet-Cookie: sid=" + marker + "; Path=/" + after,
		"bearer":                         before + " bearer " + marker + after,
		"signed URI":                     uri,
		"user of a URI":                  before + " https://user:" + marker + "@example.com/" + after,
		"fragment":                       before + "https://app/#access_token=" + marker + after,
		"percent-encoded JSON":           before + url.QueryEscape(once) + after,
		"percent-encoded JSON, twice":    before + url.QueryEscape(url.QueryEscape(once)) + after,
		"percent-encoded pair":           before + "api_key%3D" + marker + after,
		"pair":                           before + "STRIPE_SECRET_KEY=" + marker + after,
		"quoted pair":                    before + `"password": "x ` + marker + ` y"` + after,
		"pair of words":                  before + " client secret: " + marker + after,
		"private key":                    before + "-----BEGIN PRIVATE KEY-----\n" + marker + "\n-----END PRIVATE KEY-----" + after,
		"element":                        before + "<password>" + marker + "</password>" + after,
		"text as a key":                  map[string]any{header: 1},
		"text as a key of another map":   map[word]any{word(uri): 1},
		"JSON as a key":                  map[string]string{before + once: after},
		"error":                          fmt.Errorf("%stoken=%s%s", before, marker, after),
		"list of strings":                []string{before, header, after},
		"variable":                       map[string]any{"name": "API_KEY", before: after, "value": marker},
		"variable of strings":            map[string]string{"Key": "API_KEY", "Value": marker},
		"struct of a variable":           []variable{{Name: "API_KEY", Value: &marker, From: before}},
		"variable in JSON":               jsonString(t, []any{before, map[string]any{"name": "API_KEY", "type": after, "value": marker}}),
		"variable in JSON, value first":  `[{"value":"` + marker + `","type":` + jsonString(t, before) + `,"name":"API_KEY"}]`,
		"variable in a text":             before + `{"name":"DB_PASSWORD","value":"` + marker + `"}` + after,
		"variable in YAML":               before + "\n- name: DB_PASSWORD\n  value: " + marker + "\n" + after,
		"block of YAML":                  before + "\nsecret: |\n  " + marker + "\n" + after,
		"arguments":                      []string{before, "--api-key", marker, after},
		"arguments in JSON":              jsonString(t, []string{before, "--api-key", marker, after}),
		"pairs":                          []any{[]any{"X-Api-Key", marker}, before},
		"flag":                           before + " --password " + marker + after,
		"token":                          before + "\nghp_0a1B" + marker + after,
		"web token":                      before + " eyJhbGciOiJub25lIn0.eyJz" + marker + after,
		"code of a redirect":             before + " https://app/?code=" + marker + after,
		"data source":                    before + " u:" + marker + "@tcp(h)/" + after,
		"stringer in JSON, in its quote": before + fmt.Sprintf("%q", once) + after,
	}
}

// No secret is ever written, whatever stands around it and wherever the limits
// cut.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{224, 225, 227}, "text", "", "", 1000)
	f.Add([]byte{}, "", `{"a":"`, `"}`, 300)
	f.Add([]byte{}, "", `token=`, `&x`, 100)
	f.Add([]byte{}, "", "%4", "%22", 200)
	f.Add([]byte{}, "", `\\\"`, `\"`, 5000)
	f.Add([]byte{}, "", "secret: [\"", "'`", 60000)
	f.Add([]byte{}, "", "password='", ")", 60000)
	f.Fuzz(func(t *testing.T, plan []byte, text, before, after string, total int) {
		if total < 100 || total > 1<<16 {
			total = 1 << 16
		}
		if len(plan) > 200 {
			plan = plan[:200]
		}
		if len(before)+len(after) > 1000 {
			return
		}
		total -= total % 100
		h := fnv.New64a()
		fmt.Fprintf(h, "%q%q%q%q", plan, text, before, after)
		marker := fmt.Sprintf("Mk%016xZ", h.Sum64())
		limits := jsonenc.Limits{Total: total, Depth: 12, Nodes: 200}
		around := grow(&plan, &text, 8)
		for name, v := range plants(t, before, after, marker) {
			w := jsonenc.NewWriter(limits, nil)
			w.Doc(100).Value([]any{v, around})
			if !json.Valid(w.Bytes()) {
				t.Fatalf("%s: not JSON: %q", name, w.Bytes())
			}
			if n := w.Len(); n > total+slack(limits.Depth) {
				t.Fatalf("%s: %d bytes, limit %d: %q", name, n, total, w.Bytes())
			}
			if strings.Contains(string(w.Bytes()), marker) {
				t.Fatalf("%s in %q and %q: the secret was written: %q", name, before, after, w.Bytes())
			}
			if s, ok := v.(string); ok {
				if got := w.Clean(s, total); strings.Contains(got, marker) {
					t.Fatalf("%s in %q and %q: the secret was left: %q", name, before, after, got)
				}
			}
		}
	})
}
