// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// jsonString returns the JSON form of v, as a string.
func jsonString(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is wrapped deeper than is looked at is not written.
func TestManyLayersOfJSON(t *testing.T) {
	s := jsonString(t, map[string]any{"token": "SECRET"})
	for layers := 1; layers < 14; layers++ {
		s = jsonString(t, s)
		got, w := encode(t, jsonenc.Limits{}, s)
		if strings.Contains(got, "SECRET") || strings.Contains(got, jsonenc.MarkSensitive) != (layers > 10) {
			t.Errorf("%d layers: %s", layers, got)
		}
		if w.Redacted() != 1 || w.Truncated() != (layers > 10) {
			t.Errorf("%d layers: redacted %d, truncated %v", layers, w.Redacted(), w.Truncated())
		}
	}
}

// A secret taken out of a text leaves the rest of it: that is no truncation.
func TestRedactionIsNoTruncation(t *testing.T) {
	for _, in := range []any{
		map[string]any{"token": "x"}, `{"token":"x"}`, "token=x", `{"text":"token=x"}`, "https://u:p@h",
	} {
		_, w := encode(t, jsonenc.Limits{}, in)
		if w.Redacted() != 1 || w.Truncated() {
			t.Errorf("%v: redacted %d, truncated %v", in, w.Redacted(), w.Truncated())
		}
	}
}

func TestConfiguredRedaction(t *testing.T) {
	r := redact.NewRules(redact.Config{
		Keys:     []string{"Patient-ID", "--", ""},
		Patterns: []*regexp.Regexp{regexp.MustCompile(`\b\d{4}-\d{4}\b`), regexp.MustCompile(`x*`), nil},
	})
	for _, tt := range []struct {
		in   any
		want string
	}{
		{map[string]any{"patientId": 5, "my_patient_id": 6, "ok": 7}, `{"my_patient_id":6,"ok":7,"patientId":"[REDACTED]"}`},
		{"patient_id=17 done", `"patient_id=[REDACTED] done"`},
		{"card 1234-5678 and 8765-4321", `"card [REDACTED] and [REDACTED]"`},
		{`{"card":"1234-5678","patient_id":[1]}`, `"{\"card\":\"[REDACTED]\",\"patient_id\":\"[REDACTED]\"}"`},
		{map[string]any{"1234-5678": 1}, `{"[REDACTED]":1}`},
		{"nothing", `"nothing"`},
	} {
		w := jsonenc.NewWriter(jsonenc.Limits{}, r)
		w.Doc(100).Value(tt.in)
		if diff := cmp.Diff(tt.want, string(w.Bytes())); diff != "" {
			t.Errorf("%v: mismatch (-want +got):\n%s", tt.in, diff)
		}
		if w.Redacted() == 0 != (tt.in == "nothing") {
			t.Errorf("%v: Redacted() = %d", tt.in, w.Redacted())
		}
	}
}

// A cut must not part a secret from what tells it, and what is cut away need not
// be looked at.
func TestCutAfterRedaction(t *testing.T) {
	for limit := range 40 {
		w := jsonenc.NewWriter(jsonenc.Limits{}, nil)
		if got := w.Clean("some text password=hunter2andmore", limit); strings.Contains(got, "h") {
			t.Errorf("limit %d: %s", limit, got)
		}
	}
	got, _ := encode(t, jsonenc.Limits{String: 30}, "token=abcdefghijklmnop "+strings.Repeat("x", 5_000_000))
	if want := `"token=[REDACTED] xxxxxxxxxxxxx...[TRUNCATED]"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMemberNames(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits jsonenc.Limits
		in     any
		want   string
	}{
		{"a URI", jsonenc.Limits{}, map[string]any{"https://u:p@h/": 1}, `{"https://[REDACTED]@h/":1}`},
		{"the same after cleaning", jsonenc.Limits{}, map[string]any{"https://u:p@h": 1, "https://v:p@h": 2, "https://[REDACTED]@h": 3},
			`{"https://[REDACTED]@h":3,"[KEY_COLLISION_1]https://[REDACTED]@h":1,"[KEY_COLLISION_2]https://[REDACTED]@h":2}`},
		{"the same after the cut", jsonenc.Limits{String: 4}, map[string]string{"abcdef": "1", "abcdeg": "2"},
			`{"abcd...[TRUNCATED]":"1","[KEY_COLLISION_1]abcd...[TRUNCATED]":"2"}`},
		{"the same after the repair", jsonenc.Limits{}, map[string]any{"a\xff": 1, "a\xfe": 2, "a\ufffd": 3},
			"{\"[KEY_COLLISION_1]a\ufffd\":2,\"[KEY_COLLISION_2]a\ufffd\":1,\"a\ufffd\":3}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := encode(t, tt.limits, tt.in)
			var have, want map[string]any
			if err := json.Unmarshal([]byte(got), &have); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// The words that steer how a text is read, in any order around a secret, never
// let it through.
func TestSecretsAmongWhatSteers(t *testing.T) {
	pieces := []string{`"`, `\`, `\\`, `\\\`, `\"`, `'`, "`", "%", "%2", "%4", "%22", "%5C", "%25", "%3A", "token=", "password: ", `secret: {`,
		`"api_key":`, `"api_key":"`, "[", "]", "{", "}", "(", " ", "\n", `\n`, `\t`, `\u00`, `\u002`, `\x4`, "Authorization: ", "Authorization: Digest a=",
		"bearer ", "basic ", "https://", "://a:", "@", "/", "-----BEGIN", "-----BEGIN PRIVATE KEY", "-----END", "<token>", "</token>", "<", "&quot;", "&#",
		",", ";", "=", ":", "?key", "&", "x", "4", "_", "-", ".", "temp:", "[REDACTED]", "Cookie: ", "ä", "\xff", "'''", `"""`, `""`}
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func() string {
		var b strings.Builder
		for range rnd.IntN(5) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		return b.String()
	}
	for i := range 2000 {
		before, after := some(), some()
		marker := fmt.Sprintf("Mk%08dZ%08x", i, i*7919)
		for name, v := range plants(t, before, after, marker) {
			w := jsonenc.NewWriter(jsonenc.Limits{}, nil)
			w.Doc(100).Value(v)
			if strings.Contains(string(w.Bytes()), marker) {
				t.Errorf("%s in %q and %q: the secret was written: %s", name, before, after, w.Bytes())
			}
		}
		if t.Failed() {
			break
		}
	}
}
