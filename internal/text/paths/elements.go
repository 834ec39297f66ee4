// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"fmt"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// Elements returns what p selects in a decoded document. An empty list has no elements, and neither has null in its
// place: that is how some programs write one. found is false where the list itself is not there. An element without
// what p looks for in it is an error: the set would lack it.
func Elements(p *jsonpath.Path, doc any) (list []any, found bool, err error) {
	nodes, inside := []any{doc}, false // inside of an element
	for _, s := range p.Query().Segments() {
		one := spec.Query(true, s).Singular() != nil
		var next []any
		for _, n := range nodes {
			selected := s.Select(n, doc)
			_, isList := n.([]any)
			_, isObject := n.(map[string]any)
			switch {
			case one && len(selected) == 0 && !inside:
				return nil, false, nil
			case one && len(selected) == 0:
				return nil, true, fmt.Errorf("an element has no %s", s)
			case !one && n != nil && !isList && !isObject:
				return nil, true, fmt.Errorf("no list or object stands where %s looks into one", s)
			}
			next = append(next, selected...)
		}
		nodes, inside = next, inside || !one
	}
	return nodes, true, nil
}
