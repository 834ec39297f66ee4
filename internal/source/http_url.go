// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
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

// parseURL checks a template.
func parseURL(text string) (urlTemplate, error) {
	plain := placeholder.ReplaceAllString(text, "x")
	u, err := url.Parse(plain)
	switch {
	case err != nil:
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the text around it has the whole URL, which may hold a password
		}
		return "", fmt.Errorf("URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("URL %q: start with http:// or https:// and a host", text)
	case u.User != nil:
		return "", fmt.Errorf("URL %q: pass credentials in Headers", u.Redacted())
	case strings.Contains(plain, "#"):
		return "", fmt.Errorf("URL %q: a fragment is never sent", text)
	case strings.ContainsAny(plain, "{}"):
		return "", fmt.Errorf("URL %q: the braces do not match", text)
	case hasDotSegment(plain):
		return "", fmt.Errorf("URL %q: write the path without . and .. segments", text)
	}
	host := text[strings.Index(text, "//")+2:]
	if end := strings.IndexAny(host, "/?"); end >= 0 {
		host = host[:end]
	}
	if placeholder.MatchString(host) {
		return "", fmt.Errorf("URL %q: the host must not depend on the entity", text)
	}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		attribute, ok := strings.CutPrefix(m[1], "attributes.")
		if m[1] != "value" && m[1] != "type" && !(ok && entity.IsAttributeName(attribute)) {
			return "", fmt.Errorf("URL %q: {%s} is not known: use {value}, {type} or {attributes.NAME}", text, m[1])
		}
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
