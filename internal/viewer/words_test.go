// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// The page has an icon for each code that has a name, and no name of its own.
func TestPageHasTheWordsOfStates(t *testing.T) {
	b, err := os.ReadFile("assets/js/look.js")
	if err != nil {
		t.Fatal(err)
	}
	for kind, table := range map[string]string{"status": "STATUSES", "outcome": "OUTCOMES"} {
		body := regexp.MustCompile(`(?s)const ` + table + ` = \{\n(.*?)\n\};`).FindSubmatch(b)
		if body == nil {
			t.Fatalf("look.js has no %s", table)
		}
		var codes []string
		for _, m := range regexp.MustCompile(`(?m)^  (?:(\w+)|""): \["`).FindAllSubmatch(body[1], -1) {
			codes = append(codes, string(m[1]))
			if inspect.Words[kind][string(m[1])].Name == "" {
				t.Errorf("%s: %q has no name", table, m[1])
			}
		}
		for code := range inspect.Words[kind] {
			if !slices.Contains(codes, code) {
				t.Errorf("%s: %q has no icon", table, code)
			}
		}
	}
}
