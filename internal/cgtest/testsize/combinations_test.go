// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package testsize_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

func TestCombinations(t *testing.T) {
	for _, tt := range []struct {
		name, thorough string
		strength       int
		lengths        []int
		want           int
	}{
		{name: "each value", strength: 1, lengths: []int{3, 2, 3}, want: 3},
		{name: "each pair", strength: 2, lengths: []int{3, 3, 3}, want: 10},
		{name: "each pair, thorough", thorough: "1", strength: 2, lengths: []int{3, 3, 3}, want: 27},
		{name: "each pair of two lists", strength: 2, lengths: []int{3, 2}, want: 6},
		{name: "each value of one list", strength: 2, lengths: []int{4}, want: 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CONTEXTGRAPH_THOROUGH", tt.thorough)
			got := testsize.Combinations(t, tt.strength, tt.lengths...)
			if len(got) != tt.want {
				t.Errorf("%d combinations, want %d: %v", len(got), tt.want, got)
			}
			pairs := make(map[[4]int]bool)
			for _, c := range got {
				for i := range c {
					for j := range i {
						pairs[[4]int{i, c[i], j, c[j]}] = true
					}
				}
			}
			want := 0
			for i, n := range tt.lengths {
				for _, m := range tt.lengths[:i] {
					want += n * m
				}
			}
			if tt.strength == 2 && len(pairs) != want {
				t.Errorf("%d pairs of values meet, want %d: %v", len(pairs), want, got)
			}
		})
	}
}
