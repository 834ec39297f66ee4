// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// Once a Writer has its memory, plain values cost no more of it.
func TestNoAllocationsInSteadyState(t *testing.T) {
	w := jsonenc.NewWriter(jsonenc.Limits{String: 4 << 20, Total: 8 << 20}, nil)
	// Without patterns: the pool of regexp gives up what it holds under the race
	// detector.
	configured := jsonenc.NewWriter(jsonenc.Limits{String: 4 << 20, Total: 8 << 20}, redact.NewRules(redact.Config{Keys: []string{"patient_id"}}))
	for _, v := range values {
		if v.name == "Content" {
			continue // reflection allocates
		}
		for _, w := range []*jsonenc.Writer{w, configured} {
			n := testing.AllocsPerRun(20, func() {
				w.Reset()
				w.Doc(100).Value(v.v)
			})
			if n > 0 {
				t.Errorf("%s: %v allocations", v.name, n)
			}
			if w.Redacted() != 0 || w.Truncated() {
				t.Errorf("%s: redacted %d, truncated %v", v.name, w.Redacted(), w.Truncated())
			}
		}
	}
}

// hostile are texts that invite to look at the same bytes again and again.
func hostile(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	return map[string]string{
		"separators":        fill(":"),
		"pairs":             fill("a=a="),
		"secret pairs":      fill("token=a,"),
		"secret keys":       fill("token="),
		"brackets":          fill("["),
		"objects":           fill(`{"a":`),
		"secret objects":    fill("token={"),
		"parentheses":       fill("(("),
		"quotes":            fill(`":`),
		"open quotes":       fill(`token='a" `),
		"backslashes":       fill(`\`),
		"escaped quotes":    fill(`\":`),
		"percent signs":     fill("%25"),
		"encoded":           fill("%3A"),
		"authorities":       fill("://a:b/"),
		"users":             fill("://a@"),
		"tags":              fill("<token>"),
		"blocks":            fill("-----BEGIN "),
		"secret blocks":     fill("-----BEGIN PRIVATE KEY-----"),
		"headers":           fill("Authorization: a="),
		"schemes":           fill("basic YTpi "),
		"spaces":            fill("token" + strings.Repeat(" ", 40) + ":"),
		"commas":            fill(",") + "token=" + fill(","),
		"punctuated":        "token=" + fill(",a"),
		"strings of JSON":   `["` + fill(`a:b\n`) + `"]`,
		"nested in a text":  "x " + fill(`{\"a\":\"`),
		"references":        fill("&#58;"),
		"flags":             fill("--password "),
		"empty flags":       fill("--"),
		"logins":            fill("mysql -p"),
		"tokens":            fill("-eyJ."),
		"split tokens":      fill(`\neyJa.`),
		"prefixes":          fill("/sk-"),
		"long prefixes":     fill("/sntrys_eyJ=pscale_pw_=hvs.=discord.com/api/webhooks/"),
		"variables":         fill(`"name":"token","value":`),
		"values":            fill("value:"),
		"variables in JSON": "[" + fill(`{"value":"a","x":"token=y","name":"token"},`) + "1]",
		"arguments":         `["` + fill(`--token","`) + `"]`,
		"blocks of YAML":    fill("token:\n "),
		"data sources":      fill("a:a@"),
	}
}

// The time for each is about the same, however often what invites to it repeats.
func BenchmarkHostile(b *testing.B) {
	for name, s := range hostile(1 << 20) {
		b.Run(name, func(b *testing.B) {
			w := jsonenc.NewWriter(jsonenc.Limits{String: 4 << 20, Total: 8 << 20}, nil)
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				w.Reset()
				w.Doc(100).Value(s)
			}
		})
	}
}

// Texts of a megabyte and more are done with before the test runs out of time; with
// work that grows with the square each would take hours.
func TestWorkOnOneString(t *testing.T) {
	for name, s := range hostile(testsize.Rounds(t, 1_000_000, 2_000_000)) {
		got, w := encode(t, jsonenc.Limits{String: 4 << 20, Total: 16 << 20}, s)
		if len(got) == 0 || w.Len() > 16<<20+100 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}
