// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// hidden reports whether p would look into a place at which the record has a mark for removed
// content. p selects nothing there, which is otherwise no error.
func hidden(p *jsonpath.Path, node any) bool {
	segments := p.Query().Segments()
	for i := range segments {
		for _, into := range jsonpath.New(spec.Query(true, segments[:i]...)).Select(node) {
			if text, ok := into.(string); ok && jsonenc.Marked(text) {
				return true
			}
		}
	}
	return false
}
