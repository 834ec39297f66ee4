// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// Inspect looks at a string before it is written as JSON. It reports whether the string
// may hold a secret, and where the first byte stands that needs an escape; both
// are told by one pass over most strings. head is how much of s will be written: a
// secret has its signal before it, so one that begins there shows there; only in JSON
// the name of a variable may stand behind its value.
func (c *Cleaner) Inspect(s string, head int) (dirty bool, escaped int) {
	if c.Rules != nil && len(c.Rules.patterns) > 0 {
		return true, 0
	}
	classes, escaped := uint8(everything), len(s)
	shown := s
	if head < len(s) && !startsJSON(s) {
		shown = s[:max(head, 0)]
	}
	for i := scan(shown, 0, classes); i < len(shown); i = scan(shown, i+1, classes) {
		if !Plain(s[i]) && escaped == len(s) {
			escaped, classes = i, signals
		}
		if c.Rules.promising(s, i) {
			return true, escaped
		}
	}
	return false, escaped
}

// suspicious reports whether s may hold a secret. Most strings do not.
func (c *Cleaner) suspicious(s string) bool {
	for i := signal(s, 0); i < len(s); i = signal(s, i+1) {
		if c.Rules.promising(s, i) {
			return true
		}
	}
	return false
}

// promising reports whether a secret may show at the signal at i, or an encoding
// that hides one. It says so of all that are found by reading s as a text and as
// JSON, and of few others.
func (r *Rules) promising(s string, i int) bool {
	switch s[i] {
	case ':':
		if strings.HasPrefix(s[i+1:], "//") {
			return hasUser(s, i+len("://"))
		}
		start, _ := botToken(s, i)
		return start >= 0 || r.keyed(s, i)
	case '=':
		return r.keyed(s, i)
	case '>':
		return i > 0 && isWord(s[i-1]) && r.mayEnd(s, i)
	case '%':
		if i+2 >= len(s) {
			return false
		}
		c, ok := hexByte(s[i+1], s[i+2])
		return ok && c < 0x80
	case '\\':
		return i+1 < len(s) && strings.IndexByte("\"'`\\/bfnrtux", s[i+1]) >= 0
	case ' ':
		return schemeBefore(s, i) != noScheme
	case '#', 'q', 'a':
		if i > 0 && s[i-1] == '&' {
			return isReference(s[i-1:])
		}
	}
	if i == 0 {
		return false
	}
	switch s[i-1] {
	case '-':
		if strings.HasPrefix(s[i-1:], pemBegin) || r.flag(s, i) >= 0 || takesUser(s, i) {
			return true
		}
	case 'x', 'X':
		if vendorKey(s[i-1:]) {
			return true
		}
	}
	start, _ := token(s, i)
	return start >= 0
}

// isReference reports whether s begins with a character reference of HTML that
// may hide a separator or a quote.
func isReference(s string) bool {
	return strings.HasPrefix(s, "&#") || strings.HasPrefix(s, "&quot;") || strings.HasPrefix(s, "&apos;")
}

// hasUser reports whether the authority of a URI, at i, may begin with a user.
func hasUser(s string, i int) bool {
	colon := false
	for k := i; k < len(s) && k-i < maxAuthority; k++ {
		switch c := s[k]; c {
		case '@', '%', '\\':
			return true
		case ':':
			colon = true
		case '/', '?', '#':
			if !colon {
				return false
			}
		default:
			if ends[c] == 1 && c != '&' || isQuote(c) {
				return false
			}
		}
	}
	return len(s)-i >= maxAuthority
}

// keyed reports whether what stands before the separator at i may be the key of
// a secret, in a text or in JSON.
func (r *Rules) keyed(s string, i int) bool {
	if dsn(s, i) > 0 || i >= 4 && s[i-4:i] == "temp" {
		return true
	}
	j := i
	for j > 0 && i-j < maxSpaces && (s[j-1] == ' ' || s[j-1] == '\t') {
		j--
	}
	if j == 0 {
		return false
	}
	switch c := s[j-1]; c {
	case ' ', '\t', '\n', '\r':
		// JSON may have more space there than a text.
		return true
	case '"':
		from := max(0, j-1-maxKey)
		n := strings.LastIndexByte(s[from:j-1], '"')
		if n < 0 && from > 0 || n >= 0 && RoleOf(s[from+n+1:j-1]) == Naming && r.beginsWithName(s[i+1:]) {
			return true
		}
	case '\'', '`':
		// Where the name begins depends on what is taken for the text.
		return r.mayEnd(s, j-1) || r.keyBefore(s, i).kind != noSecret
	case ']', ')':
	default:
		if !isWord(c) {
			return false
		}
		if !r.mayEnd(s, j) {
			return false
		}
	}
	return r.keyBefore(s, i).kind != noSecret
}

// beginsWithName reports whether s begins with a string of JSON that names a secret.
func (r *Rules) beginsWithName(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" || s[0] != '"' {
		return false
	}
	name, _, _ := strings.Cut(s[1:min(len(s), maxKey)], `"`)
	return r.Secret(name)
}

// mayEnd reports whether the word that ends before j may be the name of a secret
// by its last letters.
func (r *Rules) mayEnd(s string, j int) bool {
	if r != nil && len(r.keys) > 0 {
		return true
	}
	if j >= 3 && isLetter(s[j-3]) && isLetter(s[j-2]) && isLetter(s[j-1]) {
		return mayEndSecret(s[j-3 : j])
	}
	b := j
	for b > 0 && j-b < maxKey && isWord(s[b-1]) {
		b--
	}
	return mayEndSecret(s[b:j])
}
