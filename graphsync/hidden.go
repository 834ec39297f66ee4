// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// hidden reports whether p would look into a place at which the record has a mark for removed
// content, or into a list or an object of which the rest was cut.
func hidden(p *jsonpath.Path, node any) bool {
	segments := p.Query().Segments()
	for i, segment := range segments {
		for _, into := range jsonpath.New(spec.Query(true, segments[:i]...)).Select(node) {
			switch v := into.(type) {
			case string:
				if jsonenc.Marked(v) {
					return true
				}
			case []any:
				if len(v) > 0 && isCut(v[len(v)-1]) {
					return true
				}
			case map[string]any:
				name, one := segment.Selectors()[0].(spec.Name)
				if _, has := v[string(name)]; isCut(v[jsonenc.MarkTruncated]) && !(one && has) {
					return true
				}
			}
		}
	}
	return false
}

// isCut reports whether a value is a text that was cut, or a mark in the place of what was left out.
func isCut(v any) bool {
	s, _ := v.(string)
	return strings.HasSuffix(s, jsonenc.MarkTruncated) || s == jsonenc.MarkBudget || s == jsonenc.MarkDepth || s == jsonenc.MarkBinary
}
