// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// embedded cleans JSON that is the content of a string: it copies the text as it stands, except for
// secrets.
type embedded struct {
	*Cleaner
	s     string
	i     int
	depth int
	layer int
	muted int // above zero inside of a value that is replaced as a whole
	out   []byte
	last  int // end of the text that was copied to out

	// The object and the list that are read.
	object   variable
	elements List
}

// json cleans s if it is JSON: one value, or several with white space in between.
// Secrets inside of strings in it are found as in s itself.
func (c *Cleaner) json(s string, layer int) (string, bool) {
	if !startsJSON(s) {
		return s, false
	}
	trimmed := strings.TrimLeftFunc(s, isSpace)
	from := len(s) - len(trimmed)
	to := from + len(strings.TrimRightFunc(trimmed, isSpace))
	redacted, lost := c.Redacted, c.Lost
	e := embedded{Cleaner: c, s: s[:to], i: from, layer: layer}
	for e.i < to {
		if !e.value() {
			c.Redacted, c.Lost = redacted, lost
			return s, false
		}
		e.space()
	}
	if e.out == nil {
		return s, true
	}
	return string(append(e.out, s[e.last:]...)), true
}

// startsJSON reports whether s begins as an object, a list or a string of JSON does.
func startsJSON(s string) bool {
	s = strings.TrimLeftFunc(s, isSpace)
	return s != "" && (s[0] == '{' || s[0] == '[' || s[0] == '"')
}

// isSpace reports what may stand around JSON.
func isSpace(r rune) bool { return r == '\ufeff' || unicode.IsSpace(r) }

func (e *embedded) space() {
	for e.i < len(e.s) && (e.s[e.i] == ' ' || e.s[e.i] == '\n' || e.s[e.i] == '\t' || e.s[e.i] == '\r') {
		e.i++
	}
}

// peek returns the byte to come, or 0 at the end.
func (e *embedded) peek() byte {
	if e.i < len(e.s) {
		return e.s[e.i]
	}
	return 0
}

// replace puts text, quoted, in the place of the content between there and here.
func (e *embedded) replace(from int, text string) {
	e.out = append(e.out, e.s[e.last:from]...)
	e.out = appendQuoted(e.out, text)
	e.last = e.i
}

// value reads one value and reports whether it is one.
func (e *embedded) value() bool {
	e.space()
	switch c := e.peek(); c {
	case '{':
		outer := e.object
		e.object = variable{}
		ok := e.list('}', e.member)
		e.object = outer
		return ok
	case '[':
		outer := e.elements
		e.elements = List{Rules: e.Rules}
		ok := e.list(']', e.element)
		e.elements = outer
		return ok
	case '"':
		return e.str()
	default:
		return e.scalar()
	}
}

func (e *embedded) list(end byte, element func() bool) bool {
	if e.depth++; e.depth > maxJSONDepth {
		return false
	}
	e.i++
	if e.space(); e.peek() == end {
		e.i++
		e.depth--
		return true
	}
	for element() {
		e.space()
		c := e.peek()
		e.i++
		switch c {
		case ',':
		case end:
			e.depth--
			return true
		default:
			return false
		}
	}
	return false
}

func (e *embedded) member() bool {
	e.space()
	from := e.i
	name, escaped, ok := e.token()
	if !ok {
		return false
	}
	raw := name
	if escaped {
		name = unescape(name)
	}
	if e.muted == 0 {
		e.clean(from, name, raw)
	}
	e.space()
	if e.peek() != ':' {
		return false
	}
	e.i++
	if e.muted > 0 {
		return e.value()
	}
	e.space()
	switch RoleOf(name) {
	case Naming:
		e.named(from)
	case Valued:
		if !e.object.secret {
			return e.unnamed()
		}
		return e.hidden()
	}
	if e.Rules.Secret(name) {
		return e.hidden()
	}
	return e.value()
}

// hidden reads a value and puts the mark in its place.
func (e *embedded) hidden() bool {
	from := e.i
	e.muted++
	ok := e.value()
	e.muted--
	if ok && e.s[from:e.i] != `"`+Mark+`"` {
		e.Redacted++
		e.replace(from, Mark)
	}
	return ok
}

func (e *embedded) str() bool {
	from := e.i
	text, escaped, ok := e.token()
	if !ok || e.muted > 0 {
		return ok
	}
	raw := text
	if escaped {
		if !e.Rules.hides(text) && (e.Rules == nil || len(e.Rules.patterns) == 0) {
			return true
		}
		text = unescape(text)
	}
	e.clean(from, text, raw)
	return true
}

// clean replaces the string between there and here if it has a secret. raw is the text with its
// escapes: an apparent escape may be none if the whole is JSON by chance only, as "dir\token=x" is.
func (e *embedded) clean(from int, text, raw string) {
	cleaned := e.Cleaner.clean(text, e.layer+1)
	if len(raw) != len(text) {
		if cleaned != text {
			raw = string(appendQuoted(nil, cleaned))
		}
		redacted, lost := e.Redacted, e.Lost
		if e.depth == 0 {
			e.text(raw)
		} else {
			_, n := find(e.Rules, raw, view{s: raw})
			e.Redacted += n
		}
		if e.Redacted > redacted {
			e.Redacted, e.Lost = redacted, lost
			cleaned = e.sensitive()
		}
	}
	if cleaned != text {
		e.replace(from, cleaned)
	}
}

// token reads a string and returns what stands in its quotes.
func (e *embedded) token() (text string, escaped, ok bool) {
	if e.peek() != '"' {
		return "", false, false
	}
	s, from := e.s, e.i+1
	for i := from; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			e.i = i + 1
			return s[from:i], escaped, true
		case c < ' ':
			return "", false, false
		case c == '\\':
			escaped = true
			if i++; i == len(s) {
				return "", false, false
			}
			switch s[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := unit(s[i-1:]); !ok {
					return "", false, false
				}
				i += 4
			default:
				return "", false, false
			}
		}
	}
	return "", false, false
}

// scalar reads a number, true, false or null.
func (e *embedded) scalar() bool {
	from := e.i
	for e.i < len(e.s) && (isWord(e.s[e.i]) || e.s[e.i] == '+') {
		e.i++
	}
	word := e.s[from:e.i]
	if !json.Valid([]byte(word)) {
		return false
	}
	if e.muted == 0 && e.matches(word) != word {
		e.replace(from, Mark)
	}
	return true
}

// hides reports whether a string with escapes may hold a secret. Escapes alone are no sign of one,
// unless they stand for characters that need none.
func (r *Rules) hides(s string) bool {
	for i := signal(s, 0); i < len(s); i = signal(s, i) {
		switch s[i] {
		case '\\':
			if c, ok := unit(s[i:]); ok && c < utf8.RuneSelf {
				return true
			}
			i += 2
			continue
		case ':', '=':
			// The text before it may begin with an escape.
			if i > 0 && !isDigit(s[i-1]) {
				return true
			}
		}
		if r.promising(s, i) {
			return true
		}
		i++
	}
	return false
}

// unit returns the UTF-16 unit that an escape at the start of s (\u and four digits)
// stands for.
func unit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	hi, ok := hexByte(s[2], s[3])
	lo, also := hexByte(s[4], s[5])
	return rune(hi)<<8 | rune(lo), ok && also
}

// unescape returns the text that a valid JSON string stands for.
func unescape(s string) (text string) {
	_ = json.Unmarshal([]byte(`"`+s+`"`), &text)
	return text
}

// Escapes holds what stands in a JSON string for each ASCII byte that is not plain.
var Escapes = func() (t [utf8.RuneSelf]string) {
	for b := range t {
		t[b] = fmt.Sprintf(`\u%04x`, b)
	}
	t['"'], t['\\'], t['\n'], t['\r'], t['\t'] = `\"`, `\\`, `\n`, `\r`, `\t`
	return t
}()

// appendQuoted appends s as a JSON string.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if c := s[i]; Plain(c) || c >= utf8.RuneSelf {
			b = append(b, c)
		} else {
			b = append(b, Escapes[c]...)
		}
	}
	return append(b, '"')
}
