// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// An answer must be read as ADK reads it: what ADK takes for a rejection, or
// cannot read, is never an approval here.
func TestParseConfirmation(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   map[string]any
		want bool
		fail bool
	}{
		{"nil", nil, false, false},
		{"empty", map[string]any{}, false, false},
		{"yes", map[string]any{"confirmed": true}, true, false},
		{"no", map[string]any{"confirmed": false}, false, false},
		{"other case, which Go's decoder takes", map[string]any{"CONFIRMED": true}, true, false},
		{"a string is no boolean", map[string]any{"confirmed": "true"}, false, true},
		{"a number is no boolean", map[string]any{"confirmed": 1}, false, true},
		{"unknown key", map[string]any{"approved": true}, false, false},
		{"as the developer UI sends it", map[string]any{"response": `{"confirmed":true}`}, true, false},
		{"an object where a string is expected", map[string]any{"response": map[string]any{"confirmed": true}}, false, true},
		{"broken JSON", map[string]any{"response": `{"confirmed":tru`}, false, true},
		{"response beside another key is the plain form", map[string]any{"response": `{"confirmed":true}`, "x": 1}, false, false},
		{"what JSON cannot hold", map[string]any{"confirmed": true, "payload": make(chan int)}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := recorder.ParseConfirmation(tt.in)
			if c.Confirmed != tt.want || (err != nil) != tt.fail {
				t.Errorf("confirmed %v, error %v; want %v, failure %v", c.Confirmed, err, tt.want, tt.fail)
			}
		})
	}
}

func FuzzParseConfirmation(f *testing.F) {
	for _, s := range []string{`{"confirmed":true}`, `{"response":"{\"confirmed\":true}"}`, `{"response":{}}`, `null`, `{"confirmed":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var answer map[string]any
		if json.Unmarshal(data, &answer) != nil {
			return
		}
		c, err := recorder.ParseConfirmation(answer)
		if err != nil && c.Confirmed {
			t.Fatalf("%s is an approval although it cannot be read", data)
		}
		if c.Confirmed && !strings.Contains(strings.ToLower(string(data)), "true") && !strings.Contains(string(data), `\u`) {
			t.Fatalf("%s is an approval although nothing in it is true", data)
		}
	})
}
