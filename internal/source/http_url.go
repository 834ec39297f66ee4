// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
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

// hasDotSegment reports whether the path has a segment that a server would resolve.
func hasDotSegment(address string) bool {
	path, _, _ := strings.Cut(address, "?")
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}
