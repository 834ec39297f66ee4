// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// urlTemplate is a URL with placeholders for parts of an entity. The values come
// from models and tools: they fill one path segment or one query value and reach
// nothing else.
type urlTemplate string

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// parseURL returns the template of a URL that [config.HTTP.Check] accepts. Dot segments in its path
// are refused: those of an entity could not be told from them.
func parseURL(text string) (urlTemplate, error) {
	if hasDotSegment(placeholder.ReplaceAllString(text, "x")) {
		return "", fmt.Errorf("URL %q: write the path without . and .. segments", text)
	}
	return urlTemplate(text), nil
}

// expand puts the parts of e in their places.
func (t urlTemplate) expand(e entity.Canonical) (string, error) {
	text := string(t)
	query := strings.IndexByte(text, '?')
	var b strings.Builder
	end := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		value := e.Value
		if name == "type" {
			value = e.Type
		} else if attribute, ok := strings.CutPrefix(name, "attributes."); ok {
			value = e.Attributes[attribute].String()
		}
		if value == "" {
			return "", fmt.Errorf("the entity has nothing to put in the place of {%s} in the URL", name)
		}
		escape := url.PathEscape
		if query >= 0 && m[0] > query {
			escape = url.QueryEscape
		}
		b.WriteString(text[end:m[0]])
		b.WriteString(escape(value))
		end = m[1]
	}
	b.WriteString(text[end:])
	if hasDotSegment(b.String()) {
		return "", fmt.Errorf("%s %q would leave its place in the path of the URL", e.Type, e.Value)
	}
	return b.String(), nil
}

// maxDecoded is how often servers one behind the other may decode a path.
const maxDecoded = 5

// hasDotSegment reports whether the path has a segment that a server would resolve: as it is
// written, or decoded once or several times. Some servers take a backslash for a slash, and leave out
// what follows a semicolon.
func hasDotSegment(address string) bool {
	path, _, _ := strings.Cut(address, "?")
	for range maxDecoded {
		for s := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if s, _, _ = strings.Cut(s, ";"); s == "." || s == ".." {
				return true
			}
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			return false
		}
		path = decoded
	}
	return true // nothing has a reason to be encoded so often
}
