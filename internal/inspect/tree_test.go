// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

func TestTree(t *testing.T) {
	tree := inspect.NewTree([]inspect.Span{
		{Key: "outside"},
		{Key: "late", Turn: 2},
		{Key: "root", Turn: 1},
		{Key: "model", Parent: "root", Turn: 1},
		{Key: "tool", Parent: "model", Turn: 1},
		{Key: "lost", Parent: "never recorded", Turn: 1},
	})
	if diff := cmp.Diff([]int{2, 5, 1, 0}, tree.Roots); diff != "" {
		t.Errorf("roots, by turn (-want +got):\n%s", diff)
	}
	if n := tree.Below(2); n != 2 {
		t.Errorf("%d spans are in the root, want 2", n)
	}
	around := tree.Around(func(s *inspect.Span) bool { return s.Key == "model" })
	if diff := cmp.Diff([]bool{false, false, true, true, false, false}, around); diff != "" {
		t.Errorf("the model and those around it (-want +got):\n%s", diff)
	}
}
