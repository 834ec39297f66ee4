// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

func TestBranches(t *testing.T) {
	for branch, want := range map[string][]string{
		"":      {""},
		"a":     {"a", ""},
		"a.b.c": {"a.b.c", "a.b", "a", ""},
		".":     {".", ""},
	} {
		got := slices.Collect(schema.Branches(branch))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", branch, diff)
		}
		for _, above := range got {
			if in := schema.BranchIn(branch, above); in != (branch != above) {
				t.Errorf("BranchIn(%q, %q) = %v", branch, above, in)
			}
		}
		for range schema.Branches(branch) {
			break // as a walk may end early
		}
	}
	for _, pair := range []string{"a b", "ab a", "a a", "a a.b", " "} {
		branch, above, _ := strings.Cut(pair, " ")
		if schema.BranchIn(branch, above) {
			t.Errorf("%q is in %q", branch, above)
		}
	}
}
