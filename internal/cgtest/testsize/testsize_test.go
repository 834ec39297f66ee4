// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package testsize_test

import (
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

func TestSeeds(t *testing.T) {
	for _, tt := range []struct {
		name, thorough, seed string
		want                 []uint64 // nil: three, from anywhere
	}{
		{name: "quick", want: []uint64{1, 2}},
		{name: "said to be quick", thorough: "0", want: []uint64{1, 2}},
		{name: "thorough", thorough: "1"},
		{name: "one seed", seed: "7", want: []uint64{7}},
		{name: "one seed, thorough", thorough: "1", seed: "7", want: []uint64{7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testsize.Race && tt.want == nil {
				tt.want = []uint64{1, 2}
			}
			t.Setenv("CONTEXTGRAPH_THOROUGH", tt.thorough)
			t.Setenv("CONTEXTGRAPH_SEED", tt.seed)
			got := slices.Collect(testsize.Seeds(t, 2, 3))
			want := tt.want
			if want == nil {
				want = []uint64{got[0], got[0] + 1, got[0] + 2}
			}
			if !slices.Equal(got, want) {
				t.Errorf("seeds %v, want %v", got, want)
			}
		})
	}
}
