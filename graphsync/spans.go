// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"slices"
)

// union returns the numbers of both, in order and apart. It may change neither.
func union(a, b []Span) []Span {
	if len(a) == 0 || len(b) == 0 {
		return slices.Concat(a, b)
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y Span) int { return cmp.Compare(x.First, y.First) })
	out := all[:1]
	for _, s := range all[1:] {
		if last := &out[len(out)-1]; s.First <= last.Last+1 {
			last.Last = max(last.Last, s.Last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// holds reports whether a number is in one of the spans.
func holds(spans []Span, n int64) bool {
	_, found := slices.BinarySearchFunc(spans, n, func(s Span, n int64) int {
		switch {
		case s.Last < n:
			return -1
		case s.First > n:
			return 1
		}
		return 0
	})
	return found
}
