// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// Once a Cleaner has its memory, a text without secrets costs no more of it, whether it
// looks like one with secrets or not.
func TestNoAllocations(t *testing.T) {
	configured := redact.NewRules(redact.Config{Keys: []string{"patient_id"}})
	for _, text := range []string{
		"the quarter ended with 1,204 orders and 3 refunds",
		"at 10:30: total=5, see https://h:8080/p?x=1&y=2#z",
		`{"orders":[{"id":"o-1","total":12.5,"note":"paid: yes"}],"page_token":"x"}`,
		`C:\Users\ada\file.json is 100%25 done`,
	} {
		for _, c := range []*redact.Cleaner{{}, {Rules: configured}} {
			n := testing.AllocsPerRun(20, func() {
				c.Reset()
				c.Inspect(text, len(text))
				c.Clean(text)
			})
			if n > 0 || c.Redacted > 0 {
				t.Errorf("%s: %v allocations, %d secrets", text, n, c.Redacted)
			}
		}
	}
}

// FuzzClean holds that Inspect overlooks nothing that Clean finds, says where the first byte
// stands that needs an escape, and that a JSON text stays one.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "a\n\"b\"", "password=hunter2", `{"token":"x","a":[1,"\u0041"]}`, "bearer " + githubToken, "https://u:p@h/?code=abcdefghijklmnopq",
		"- name: A\n  secret: |\n    x\n", `"{\"api_key\":\"x\"}"`, "a%3Dtoken%3Dx", "\xff:=", "x\\u0074oken: y", "-----BEGIN PRIVATE KEY-----\nx",
		`["--password","x"]`, "token&#61;x",
	} {
		f.Add(seed, "Patient-ID", `\d{4}-\d{4}`)
	}
	f.Fuzz(func(t *testing.T, text, key, pattern string) {
		p, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 20 {
			p = nil
		}
		for _, c := range []*redact.Cleaner{{}, {Rules: redact.NewRules(redact.Config{Keys: []string{key}})}, {Rules: redact.NewRules(redact.Config{Patterns: []*regexp.Regexp{p}})}} {
			dirty, escaped := c.Inspect(text, len(text))
			got := c.Clean(text)
			if !dirty && got != text {
				t.Errorf("Inspect finds nothing in %q, Clean makes it %q", text, got)
			}
			if (c.Redacted > 0) != (got != text) {
				t.Errorf("%q became %q with %d secrets", text, got, c.Redacted)
			}
			if !dirty && escaped != strings.IndexFunc(text+"\n", func(r rune) bool { return r >= 0x80 || !redact.Plain(byte(r)) }) {
				t.Errorf("%q needs no escape at %d, or one before", text, escaped)
			}
			if json.Valid([]byte(text)) && c.Lost == 0 && p == nil && !json.Valid([]byte(got)) {
				t.Errorf("%q is JSON and became %q", text, got)
			}
		}
	})
}
