// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// pattern is the name of a tool or of a node, or a pattern of names in the syntax of [path.Match].
// Its * and ? also match a slash, because a name is not a path.
type pattern string

// isName reports whether the pattern stands for one name, spelled as it is.
func (p pattern) isName() bool { return !strings.ContainsAny(string(p), metaCharacters) }

// metaCharacters turn a name into a pattern.
const metaCharacters = `*?[\`

// validate returns an error for a pattern that is malformed: it would match nothing,
// and so guard nothing.
func (p pattern) validate() error {
	if err := text.CheckPattern(string(p)); err != nil {
		return fmt.Errorf("contextgraph: %q is not a pattern of tool names: %w", string(p), err)
	}
	return nil
}

// match reports whether the pattern stands for the name.
func (p pattern) match(name string) bool {
	if p.isName() {
		return string(p) == name
	}
	return text.MatchName(string(p), name)
}

// toolNames is a set of names and patterns. It does not change.
type toolNames struct {
	names    map[string]bool
	patterns []pattern
}

func newToolNames(entries iter.Seq[string]) (toolNames, error) {
	s := toolNames{names: make(map[string]bool)}
	for _, entry := range slices.Sorted(entries) {
		p := pattern(entry)
		if err := p.validate(); err != nil {
			return toolNames{}, err
		}
		if p.isName() {
			s.names[entry] = true
		} else {
			s.patterns = append(s.patterns, p)
		}
	}
	return s, nil
}

// all returns the entries, names first, in order.
func (s *toolNames) all() (out []pattern) {
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		out = append(out, pattern(name))
	}
	return append(out, s.patterns...)
}

// empty reports whether the set has no entry.
func (s *toolNames) empty() bool { return len(s.names) == 0 && len(s.patterns) == 0 }

func (s *toolNames) match(name string) bool {
	if s.names[name] {
		return true
	}
	for _, p := range s.patterns {
		if p.match(name) {
			return true
		}
	}
	return false
}
