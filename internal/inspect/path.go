// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"time"
)

// criticalPath returns the spans that the duration of each tree comes from, by start:
// from the end of a span back to the child that ended last before it, and from that
// child's start to the one that ended last before that.
func criticalPath(spans []Span) []string {
	children := make(map[string][]int)
	for i := range spans {
		children[spans[i].Parent] = append(children[spans[i].Parent], i)
	}
	for _, list := range children {
		slices.SortStableFunc(list, func(a, b int) int { return endOf(&spans[b]).Compare(endOf(&spans[a])) })
	}
	on := make(map[int]bool)
	type visit struct {
		span  int
		until time.Time
	}
	var todo []visit
	for _, root := range children[""] {
		todo = append(todo, visit{root, endOf(&spans[root])})
	}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s, until := &spans[v.span], v.until
		for _, c := range children[s.Key] {
			child := &spans[c]
			end := endOf(child)
			if end.After(until) || child.Start.Before(s.Start) || !end.After(child.Start) {
				continue // beside the path, outlives its parent, or took no time
			}
			if until.After(end) {
				on[v.span] = true
			}
			todo = append(todo, visit{c, end})
			until = child.Start
		}
		if until.After(s.Start) {
			on[v.span] = true
		}
	}
	path := make([]int, 0, len(on))
	for i := range on {
		path = append(path, i)
	}
	slices.SortFunc(path, func(a, b int) int {
		return cmp.Or(spans[a].Start.Compare(spans[b].Start), cmp.Compare(a, b))
	})
	out := make([]string, len(path))
	for i, n := range path {
		out[i] = spans[n].Key
	}
	return out
}

// endOf returns the end of a span, never before its start.
func endOf(s *Span) time.Time {
	if s.End.Before(s.Start) {
		return s.Start
	}
	return s.End
}
