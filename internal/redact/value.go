// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// value returns the beginning and the end of the value after the separator at i, and whether the
// mark in its place needs quotes, as a number in JSON does.
//
// Text that is encoded deeper than the separator, or than the quote that opens the value, is a part
// of the value and does not end it.
func (f *finder) value(i int, k key) (start, end int, wrap bool) {
	s := f.s
	j := i + 1
	for j < len(s) && (s[j] == ' ' || s[j] == '\t') {
		j++
	}
	if end = f.indented(i, j); end > j {
		return j, end, false
	}
	for j < len(s) && (s[j] == ' ' || s[j] == '\t' || s[j] == ':' || s[j] == '=' || s[j] == '>' ||
		k.quote >= 0 && (s[j] == '\n' || s[j] == '\r')) {
		j++
	}
	if j == len(s) || marked(s[j:]) {
		return j, j, false
	}
	if j+1 < len(s) && strings.IndexByte("bBuUrRfF", s[j]) >= 0 && isQuote(s[j+1]) {
		j++ // a string literal of Python
	}
	switch c := s[j]; {
	case isQuote(c):
		start, end = f.quoted(j)
		return start, end, false
	case c == '{' || c == '[':
		if end = f.balanced(j); end < len(s) && isWord(s[end]) {
			end = f.bare(end, f.at(i))
		}
		return j, end, k.quote >= 0
	case k.kind == oneLine:
		return j, f.header(j, f.at(i)), k.quote >= 0
	case c == '<' || c == '(':
		return j, f.bare(j+1, f.at(i)), k.quote >= 0
	}
	return j, f.bare(j, f.at(i)), k.quote >= 0
}

// marked reports whether the value at the start of s was replaced already.
func marked(s string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(s, "\\\"'`"), Mark)
	return ok && (rest == "" || !isWord(rest[0]))
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// quoted returns what stands in the quotes that open at j. Without an end it is
// the rest of the text.
func (f *finder) quoted(j int) (start, end int) {
	s, q, level := f.s, f.s[j], f.at(j)
	start = j
	for start < len(s) && s[start] == q && f.at(start) == level {
		start++
	}
	n := start - j
	if n == 2 && (start == len(s) || !isWord(s[start])) {
		return start, start // nothing in between
	}
	for end = start; end < len(s); end++ {
		if s[end] != q || f.at(end) > level {
			continue
		}
		switch {
		case n >= 3:
			if strings.HasPrefix(s[end:], s[j:j+3]) {
				return start, end
			}
		case n == 1 && end+1 < len(s) && s[end+1] == q && f.at(end+1) <= level:
			end++ // a quote inside, written twice
		default:
			return start, end
		}
	}
	return start, len(s)
}

// balanced returns the end of the object or array that opens at j. Without an end
// it is the rest of the text.
func (f *finder) balanced(j int) int {
	s, level := f.s, f.at(j)
	depth := 0
	// The quote of the present string in it, and the depth of its encoding, which shows with the
	// first one.
	var inside byte
	quote, known := uint8(0), false
	for ; j < len(s); j++ {
		switch c := s[j]; c {
		case '"', '\'':
			if inside == 0 && c == '\'' && strings.IndexByte("{[,: ", s[j-1]) < 0 {
				continue // an apostrophe
			}
			if !known {
				quote, known = max(f.at(j), level), true
			}
			switch {
			case f.at(j) > quote:
			case inside == 0:
				inside = c
			case inside == c:
				inside = 0
			}
		case '{', '[':
			if inside == 0 {
				depth++
			}
		case '}', ']':
			if inside == 0 {
				if depth--; depth == 0 {
					return j + 1
				}
			}
		}
	}
	return len(s)
}

// header returns the end of the value of a header. It is the end of the line, or
// of the string that the header stands in. Of a scheme that has one word of
// credentials it is the end of that.
func (f *finder) header(j int, level uint8) int {
	s := f.s
	w := j
	for w < len(s) && (isLetter(s[w]) || s[w] == '-') {
		w++
	}
	switch name := s[j:w]; {
	case strings.EqualFold(name, "bearer"), strings.EqualFold(name, "basic"), strings.EqualFold(name, "token"),
		strings.EqualFold(name, "negotiate"), strings.EqualFold(name, "apikey"):
		b := w
		for b < len(s) && (s[b] == ' ' || s[b] == '\t') {
			b++
		}
		if b > w {
			return f.bare(b, level)
		}
	}
	for k := j; k < len(s); k++ {
		if f.at(k) > level {
			continue
		}
		switch c := s[k]; {
		case c == '\n' || c == '\r':
			return k
		case isQuote(c) && s[k-1] != '=':
			return k
		case isQuote(c):
			// The parameter of a scheme.
			if _, k = f.quoted(k); k == len(s) {
				return k
			}
		}
	}
	return len(s)
}

// ends classifies the end of a value without quotes: 1 for a certain end, 2 for an end unless more
// of the value follows.
var ends = func() (t [256]uint8) {
	for _, c := range []byte(" \t\n\r\v\f&<>") {
		t[c] = 1
	}
	for _, c := range []byte("\"'`,;|)]}") {
		t[c] = 2
	}
	return t
}()

// bare returns the end of the value without quotes that begins at j.
func (f *finder) bare(j int, level uint8) int {
	s := f.s
	for j < len(s) {
		e := ends[s[j]]
		if e == 0 || f.at(j) > level {
			j++
			continue
		}
		if e == 1 {
			return j
		}
		// A run of punctuation ends the value, unless what follows looks like more of
		// it and not like the next key.
		k := j
		for k < len(s) && ends[s[k]] == 2 && f.at(k) <= level {
			k++
		}
		if k == len(s) || ends[s[k]] == 1 || s[k] == ':' && (k+1 == len(s) || ends[s[k+1]] == 1) || s[k] == '{' || s[k] == '[' || s[k] == '\\' || s[k] == '.' || f.keyAt(k) {
			return j
		}
		j = k
	}
	return j
}

// keyAt reports whether a word and a separator stand at j.
func (f *finder) keyAt(j int) bool {
	s := f.s
	from := j
	for j < len(s) && isWord(s[j]) {
		j++
	}
	if j == from {
		return false
	}
	for n := 0; j < len(s) && n < 3 && (isQuote(s[j]) || s[j] == ' '); n++ {
		j++
	}
	return j < len(s) && (s[j] == ':' || s[j] == '=')
}
