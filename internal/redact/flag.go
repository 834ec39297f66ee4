// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// flag returns where the value begins behind a flag of a command that names a
// secret, or -1. The second byte of the flag is at i: "--password x", "-token x",
// as text or as a list of strings, and "-p x" of the commands that take a password
// so.
func (r *Rules) flag(s string, i int) int {
	from := i
	switch {
	case i > 1 && s[i-2] == '-':
		return -1
	case s[i] == '-':
		from++
	case i > 1 && isWord(s[i-2]) && (i < 3 || s[i-3] != '\\'):
		return -1 // a word with a dash
	}
	end := from
	for end < len(s) && end-from < maxKey && (isLetter(s[end]) || isDigit(s[end]) || s[end] == '-' || s[end] == '_') {
		end++
	}
	if end == from || !r.Secret(s[from:end]) {
		switch {
		case s[i] != 'p' || !takesPassword(s, i):
			return -1
		case end > i+1:
			return i + 1
		}
	}
	j := end
	if j+1 < len(s) && isQuote(s[j]) && s[j+1] == ',' {
		j += 2 // the next element of a list
	}
	k := j
	for k < len(s) && (s[k] == ' ' || s[k] == '\t' || j > end && (s[k] == '\n' || s[k] == '\r')) {
		k++
	}
	if k == len(s) || k == end || s[k] == '-' || j == end && isProse(s[k:]) {
		return -1
	}
	return k
}

// takesPassword reports whether the flag -p at i follows a command that takes a password by it.
func takesPassword(s string, i int) bool {
	const most = 256
	line := s[max(0, i-most):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	return strings.Contains(line, "mysql") || strings.Contains(line, "mariadb") || strings.Contains(line, "sshpass") ||
		strings.Contains(line, " login ")
}

// prose are the words that follow the name of a flag in a sentence or in the help
// of a command.
var prose = map[string]bool{
	"is": true, "are": true, "was": true, "to": true, "or": true, "and": true, "for": true, "with": true, "from": true,
	"in": true, "on": true, "as": true, "if": true, "by": true, "not": true, "must": true, "can": true, "cannot": true,
	"may": true, "should": true, "has": true, "have": true, "will": true, "flag": true, "flags": true, "option": true,
	"options": true, "argument": true, "parameter": true, "string": true, "the": true, "a": true, "instead": true,
}

// isProse reports whether s begins with one of these words.
func isProse(s string) bool {
	n := 0
	for n < len(s) && isLetter(s[n]) {
		n++
	}
	return prose[s[:n]] && (n == len(s) || !isWord(s[n]) || s[n] == '.')
}

// isFlag reports whether s is a flag of a command that names a secret, and the
// argument behind it its value.
func (r *Rules) isFlag(s string) bool {
	if len(s) < 4 || s[0] != '-' {
		return false
	}
	name := strings.TrimLeft(s, "-")
	for i := range len(name) {
		if !isWord(name[i]) {
			return false
		}
	}
	return r.Secret(name)
}

// List tells which elements of a list are secrets: the one behind a flag of a command that
// names one and, in a pair, the second.
type List struct {
	Rules *Rules
	Pair  bool // the list is one of a list of pairs
	next  bool // the next element is a secret
}

// Hides reports whether the next element is a secret. text is its content, "" if it is no text.
func (l *List) Hides(text string) bool {
	secret := l.next && (l.Pair || !strings.HasPrefix(text, "-"))
	l.next = l.Rules.isFlag(text) || l.Pair && l.Rules.Secret(text)
	return secret
}

// takesUser reports whether the flag with its second byte at i takes a user and a password, as
// curl's does.
func takesUser(s string, i int) bool {
	return strings.HasPrefix(s[i:], "u ") || strings.HasPrefix(s[i:], "-user ")
}

// isUserFlag reports whether the word that begins at b is the value of a flag such as "curl -u": a
// user and a password.
func isUserFlag(s string, b int) bool {
	if b > 0 && isQuote(s[b-1]) {
		b--
	}
	if b < 3 || s[b-1] != ' ' || s[b-2] != 'u' && s[b-2] != 'r' {
		return false
	}
	return strings.HasSuffix(s[:b], " -u ") || strings.HasSuffix(s[:b], "--user ")
}
