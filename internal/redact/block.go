// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// indented returns the end of the value that begins at j if it is a block of YAML:
// the lines below the key at the separator at i that are indented deeper than it.
// Without one it is j.
func (f *finder) indented(i, j int) int {
	s := f.s
	if j == len(s) || s[i] != ':' {
		return j
	}
	body := j
	if s[body] == '|' || s[body] == '>' {
		for body++; body < len(s) && strings.IndexByte("+-0123456789", s[body]) >= 0; {
			body++
		}
	}
	if body < len(s) && s[body] == '\r' {
		body++
	}
	if body == len(s) || s[body] != '\n' {
		return j
	}
	from := max(0, i-maxKey)
	n := strings.LastIndexByte(s[from:i], '\n')
	if n < 0 && from > 0 {
		return j
	}
	first := from + n + 1
	key := indent(s, first)
	if strings.HasPrefix(s[key:], "- ") {
		key = indent(s, key+2) // an item of a list
	}
	level := key - first
	for key < i && isWord(s[key]) {
		key++
	}
	if key != i {
		return j // a sentence that ends in a colon
	}
	end := body
	for {
		line := end + 1
		text := indent(s, line)
		switch {
		case text >= len(s):
			return end
		case s[text] == '\n' && end > body:
			// An empty line.
		case text-line <= level:
			if end == body {
				return j
			}
			return end
		}
		if end = strings.IndexByte(s[text:], '\n') + text; end < text {
			return len(s)
		}
	}
}

// indent returns where the text of the line at i begins.
func indent(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}
