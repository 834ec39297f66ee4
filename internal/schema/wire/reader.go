// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reader reads a JSON text in one pass. Its methods report false where the text is not
// JSON; then bad is set.
type reader struct {
	s     string
	i     int
	depth int // of open objects and lists
	bad   bool
}

// maxDepth bounds how deep values may be nested, as encoding/json does.
const maxDepth = 10000

func (r *reader) fail() bool {
	r.bad = true
	return false
}

// newReader returns a reader of s, at its first byte that is no space.
func newReader(s string) reader {
	r := reader{s: s}
	r.space()
	return r
}

// end fails unless nothing but space follows. It reports false in either case.
func (r *reader) end() bool {
	if r.space(); r.i < len(r.s) {
		r.fail()
	}
	return false
}

func (r *reader) space() {
	for r.i < len(r.s) {
		switch r.s[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

func (r *reader) at(c byte) bool { return r.i < len(r.s) && r.s[r.i] == c }

func (r *reader) take(c byte) bool {
	if !r.at(c) {
		return false
	}
	r.i++
	return true
}

func (r *reader) literal(s string) bool {
	if !strings.HasPrefix(r.s[r.i:], s) {
		return false
	}
	r.i += len(s)
	return true
}

// open reads the beginning of an object or a list.
func (r *reader) open(c byte) bool {
	if r.depth == maxDepth || !r.take(c) {
		return r.fail()
	}
	r.depth++
	r.space()
	return true
}

// close reads the end of one, if it stands there.
func (r *reader) close(c byte) bool {
	if !r.take(c) {
		return false
	}
	r.depth--
	return true
}

// members reads an object. It calls value with each key, to read what stands there.
func (r *reader) members(value func(key string) bool) bool {
	if !r.open('{') {
		return false
	}
	if r.close('}') {
		return true
	}
	for {
		key, ok := r.str()
		if !ok {
			return false
		}
		if r.space(); !r.take(':') {
			return r.fail()
		}
		r.space()
		name := key.raw
		if key.form != plain {
			name = string(appendUnquoted(nil, key.raw))
		}
		if !value(name) {
			return false
		}
		if r.space(); r.close('}') {
			return true
		}
		if !r.take(',') {
			return r.fail()
		}
		r.space()
	}
}

// skip reads past a value.
func (r *reader) skip() bool {
	if r.i >= len(r.s) {
		return r.fail()
	}
	switch r.s[r.i] {
	case '"':
		_, ok := r.str()
		return ok
	case '{':
		return r.members(func(string) bool { return r.skip() })
	case '[':
		return r.elements()
	case 't', 'f', 'n':
		return r.literal("true") || r.literal("false") || r.literal("null") || r.fail()
	}
	return r.number()
}

// elements reads past a list.
func (r *reader) elements() bool {
	if !r.open('[') {
		return false
	}
	if r.close(']') {
		return true
	}
	for {
		if !r.skip() {
			return false
		}
		if r.space(); r.close(']') {
			return true
		}
		if !r.take(',') {
			return r.fail()
		}
		r.space()
	}
}

func (r *reader) number() bool {
	r.take('-')
	if !r.take('0') && !r.digits() {
		return r.fail()
	}
	if r.take('.') && !r.digits() {
		return r.fail()
	}
	if r.take('e') || r.take('E') {
		if !r.take('+') {
			r.take('-')
		}
		if !r.digits() {
			return r.fail()
		}
	}
	return true
}

// digits reports whether there was one.
func (r *reader) digits() bool {
	start := r.i
	for r.i < len(r.s) && '0' <= r.s[r.i] && r.s[r.i] <= '9' {
		r.i++
	}
	return r.i > start
}

// str reads a string. Its length is told by the same pass, so that it can stand before
// the bytes in a message.
func (r *reader) str() (value, bool) {
	if !r.take('"') {
		return value{}, r.fail()
	}
	v, start := value{form: plain}, r.i
	for {
		r.i += simple(r.s[r.i:])
		if r.i >= len(r.s) || r.s[r.i] < ' ' {
			return value{}, r.fail()
		}
		switch r.s[r.i] {
		case '"':
			v.raw = r.s[start:r.i]
			v.length += len(v.raw)
			r.i++
			return v, true
		case '\\':
			char, n := unescape(r.s[r.i:])
			if n == 0 {
				return value{}, r.fail()
			}
			v.form = quoted
			v.length += utf8.RuneLen(char) - n
			r.i += n
		default:
			char, n := utf8.DecodeRuneInString(r.s[r.i:])
			if n == 1 {
				v.form = quoted
				v.length += utf8.RuneLen(char) - n
			}
			r.i += n
		}
	}
}

// simple returns how many bytes at the beginning of s are ASCII characters that stand
// for themselves in a string.
func simple(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(s)
}

// appendUnquoted appends what a string that was read by str stands for.
func appendUnquoted(dst []byte, raw string) []byte {
	for i := 0; i < len(raw); {
		char, n := rune(raw[i]), 1
		switch {
		case char == '\\':
			char, n = unescape(raw[i:])
		case char >= utf8.RuneSelf:
			char, n = utf8.DecodeRuneInString(raw[i:])
		}
		dst = utf8.AppendRune(dst, char)
		i += n
	}
	return dst
}

// unescape returns the character that s begins with an escape of, and the length of
// the escape; 0 where it is none. Half of a surrogate pair is U+FFFD.
func unescape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch c := s[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	char, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(char) {
		return char, 6
	}
	if low, ok := unit(s[6:]); ok {
		if pair := utf16.DecodeRune(char, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// unit returns the UTF-16 code unit that s begins with an escape of.
func unit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var u rune
	for i := 2; i < 6; i++ {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		u = u<<4 | rune(c)
	}
	return u, true
}
