// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"path"
	"unicode/utf8"
)

// CheckPattern returns [path.ErrBadPattern] for a pattern of names that is malformed.
func CheckPattern(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}

// MatchName reports whether the pattern, in the syntax of [path.Match], stands for the name of a tool or
// a node. A name is not a path, so * and ? stand for a slash too. A malformed pattern stands for none.
func MatchName(pattern, name string) bool {
	return CheckPattern(pattern) == nil && match(pattern, name)
}

// match reports whether a pattern that is well formed stands for the name. It is not
// path.Match, because there no * goes over a slash, and replacing the slashes first would
// take them from the ranges.
func match(pattern, name string) bool {
	// Where to go on if what follows the last * does not fit: one rune further on.
	star, next := -1, 0
	p, n := 0, 0
	for {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, next = p, n
			p++
			continue
		case p == len(pattern) && n == len(name):
			return true
		case p < len(pattern) && n < len(name):
			r, size := utf8.DecodeRuneInString(name[n:])
			if ok, width := matchRune(pattern[p:], r); ok {
				p, n = p+width, n+size
				continue
			}
		}
		if star < 0 || next == len(name) {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[next:])
		next += size
		p, n = star+1, next
	}
}

// matchRune reports whether the first term of the pattern, which is not *, stands for r,
// and the length of that term.
func matchRune(pattern string, r rune) (ok bool, width int) {
	switch pattern[0] {
	case '?':
		return true, 1
	case '[':
		return matchRange(pattern, r)
	}
	c, width := literal(pattern)
	return c == r, width
}

// matchRange is matchRune for a class of characters.
func matchRange(pattern string, r rune) (ok bool, width int) {
	i := 1
	negated := pattern[i] == '^'
	if negated {
		i++
	}
	for pattern[i] != ']' {
		lo, size := literal(pattern[i:])
		i += size
		hi := lo
		if pattern[i] == '-' {
			hi, size = literal(pattern[i+1:])
			i += 1 + size
		}
		ok = ok || lo <= r && r <= hi
	}
	return ok != negated, i + 1
}

// literal returns the first character of the pattern, which a backslash may precede, and
// the length of both.
func literal(pattern string) (c rune, width int) {
	escape := 0
	if pattern[0] == '\\' {
		escape = 1
	}
	c, width = utf8.DecodeRuneInString(pattern[escape:])
	return c, escape + width
}
