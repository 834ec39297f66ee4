// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"html"
	"strings"
)

// Bounds of the search in one text. They are the Python plugin's.
const (
	// MaxText is how long a text may be that a Cleaner is given, in bytes. A caller cuts a
	// longer one.
	MaxText = 4_000_000
	// maxJSONDepth is how deep JSON in a string nests. Deeper, it is read as text.
	maxJSONDepth = 1000
	// maxLayers is how often JSON is a string in JSON. Deeper, the string is
	// replaced as a whole.
	maxLayers = 10
)

// Cleaner replaces the secrets in texts. It is for one goroutine at a time.
type Cleaner struct {
	*Rules
	// Redacted counts what was replaced, Lost the texts that were replaced as a whole.
	Redacted, Lost int

	decoder decoder
}

// Clean returns s without the secrets in it.
func (c *Cleaner) Clean(s string) string { return c.clean(s, 0) }

// clean returns s without the secrets in it. layer counts the strings around it.
func (c *Cleaner) clean(s string, layer int) string {
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
	return c.matches(s)
}

// sensitive stands for a text that cannot be cleaned.
func (c *Cleaner) sensitive() string {
	c.Redacted++
	c.Lost++
	return MarkSensitive
}

// text cleans what is not JSON: first as it reads without its encodings, then as
// it stands, because what looks like an encoding may be none.
func (c *Cleaner) text(s string) string {
	n := 0
	if encoded(s) {
		s, n = find(c.Rules, s, c.decoder.decode(s))
	}
	s, more := find(c.Rules, s, view{s: s})
	n += more
	c.Redacted += n
	if strings.Contains(s, "&quot;") || strings.Contains(s, "&#") || strings.Contains(s, "&apos;") {
		// Text behind character references cannot be told apart.
		plain := html.UnescapeString(s)
		if _, n := find(c.Rules, plain, view{s: plain}); n > 0 {
			return c.sensitive()
		}
	}
	return s
}

// matches replaces what the configured patterns match.
func (c *Cleaner) matches(s string) string {
	if c.Rules == nil {
		return s
	}
	for _, p := range c.Rules.patterns {
		s = p.ReplaceAllStringFunc(s, func(match string) string {
			if match == "" || match == Mark {
				return match
			}
			c.Redacted++
			return Mark
		})
	}
	return s
}

// Reset sets the counts to zero. It keeps the memory, unless a rare long text made that
// large.
func (c *Cleaner) Reset() {
	c.Redacted, c.Lost = 0, 0
	if cap(c.decoder.text) > 1<<20 {
		c.decoder = decoder{}
	}
}
