// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"html"
	"strings"
)

// Bounds of what is looked for in one string. They are the Python plugin's.
const (
	// maxInspect is how much of a string is looked at, in bytes. The rest is cut.
	maxInspect = 4_000_000
	// maxJSONDepth is how deep JSON in a string nests. Deeper, it is read as text.
	maxJSONDepth = 1000
	// maxLayers is how often JSON is a string in JSON. Deeper, the string is
	// replaced as a whole.
	maxLayers = 10
)

// cleaner replaces the secrets in strings.
type cleaner struct {
	rules   *Redactor
	decoder decoder
	// redacted counts what was replaced, lost the texts that were replaced as a whole.
	redacted, lost int
}

// clean returns s without the secrets in it. layer counts the strings around it.
func (c *cleaner) clean(s string, layer int) string {
	if c.suspicious(s) {
		if layer > maxLayers {
			return c.sensitive()
		}
		if cleaned, ok := c.json(s, layer); ok {
			s = cleaned
		} else {
			s = c.text(s)
		}
	}
	return c.patterns(s)
}

// sensitive stands for a text that cannot be cleaned.
func (c *cleaner) sensitive() string {
	c.redacted++
	c.lost++
	return MarkSensitive
}

// text cleans what is not JSON: first as it reads without its encodings, then as
// it stands, because what looks like an encoding may be none.
func (c *cleaner) text(s string) string {
	n := 0
	if encoded(s) {
		s, n = find(c.rules, s, c.decoder.decode(s))
	}
	s, more := find(c.rules, s, view{s: s})
	n += more
	c.redacted += n
	if strings.Contains(s, "&quot;") || strings.Contains(s, "&#") || strings.Contains(s, "&apos;") {
		// What hides behind character references cannot be told apart in the text.
		plain := html.UnescapeString(s)
		if _, n := find(c.rules, plain, view{s: plain}); n > 0 {
			return c.sensitive()
		}
	}
	return s
}

// patterns replaces what the configured patterns match.
func (c *cleaner) patterns(s string) string {
	if c.rules == nil {
		return s
	}
	for _, p := range c.rules.patterns {
		if !p.MatchString(s) {
			continue
		}
		var out []byte
		last := 0
		for _, m := range p.FindAllStringIndex(s, -1) {
			if m[0] == m[1] || s[m[0]:m[1]] == MarkRedacted {
				continue
			}
			out = append(append(out, s[last:m[0]]...), MarkRedacted...)
			last = m[1]
			c.redacted++
		}
		if last > 0 {
			s = string(append(out, s[last:]...))
		}
	}
	return s
}

// reset makes the cleaner ready for the next row. It keeps its memory, unless a
// rare long text made that large.
func (c *cleaner) reset() {
	c.redacted, c.lost = 0, 0
	if cap(c.decoder.text) > 1<<20 {
		c.decoder = decoder{}
	}
}
