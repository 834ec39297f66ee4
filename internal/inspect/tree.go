// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"math"
	"slices"
)

// Tree is the spans of a session as they lie in one another. It names a span by its place in Spans.
type Tree struct {
	Spans []Span
	// Children are the spans that lie in each span, Roots those that lie in none, turn by turn.
	Children [][]int
	Roots    []int
	parents  []int
}

// NewTree makes the tree of spans. A parent comes before its children.
func NewTree(spans []Span) *Tree {
	t := &Tree{Spans: spans, Children: make([][]int, len(spans)), parents: make([]int, len(spans))}
	at := make(map[string]int, len(spans))
	for i, s := range spans {
		t.parents[i] = -1
		if p, ok := at[s.Parent]; ok && s.Parent != "" {
			t.parents[i] = p
			t.Children[p] = append(t.Children[p], i)
		} else {
			t.Roots = append(t.Roots, i)
		}
		at[s.Key] = i
	}
	// A trace without its root is a root beside the next turn; spans outside of any turn are last.
	slices.SortStableFunc(t.Roots, func(a, b int) int {
		return cmp.Compare(cmp.Or(spans[a].Turn, math.MaxInt), cmp.Or(spans[b].Turn, math.MaxInt))
	})
	return t
}

// Around reports of each span whether it is wanted, or a span that is lies in it.
func (t *Tree) Around(wanted func(*Span) bool) []bool {
	around := make([]bool, len(t.Spans))
	for i := range t.Spans {
		if !wanted(&t.Spans[i]) {
			continue
		}
		for p := i; p >= 0 && !around[p]; p = t.parents[p] {
			around[p] = true
		}
	}
	return around
}

// Below counts the spans in a span.
func (t *Tree) Below(i int) int {
	n := len(t.Children[i])
	for _, c := range t.Children[i] {
		n += t.Below(c)
	}
	return n
}
