// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// credential looks at the word behind the name of an authorization scheme that
// ends before i.
func (f *finder) credential(i int) int {
	s := f.s
	scheme := schemeBefore(s, i)
	if scheme == noScheme {
		return i + 1
	}
	j := i
	for j < len(s) && s[j] == ' ' {
		j++
	}
	end := j
	for end < len(s) && isToken(s[end]) {
		end++
	}
	word := s[j:end]
	if scheme == bearer && isOpaque(word, 8) ||
		scheme == basic && (isUserAndPassword(word) || isOpaque(word, 16)) {
		f.replace(j, end, -1)
		return end
	}
	return i + 1
}

// isToken reports whether c may be a part of the credentials of a header.
func isToken(c byte) bool {
	return isWord(c) || c == '~' || c == '+' || c == '/' || c == '=' || c == '%'
}

// isOpaque reports whether a word looks like credentials and not like a word of
// a sentence: "the bearer of", "Bearer authentication", "basic auth".
func isOpaque(w string, least int) bool {
	if len(w) >= 24 {
		return true
	}
	if len(w) < least {
		// A short one is told by its digits.
		least = 4
		if len(w) < least {
			return false
		}
		for i := range len(w) {
			if isDigit(w[i]) {
				return true
			}
		}
		return false
	}
	for i := range len(w) {
		c := w[i]
		switch {
		case isDigit(c), i > 0 && c >= 'A' && c <= 'Z' && w[i-1] >= 'a':
			return true
		case isLetter(c):
		case i+1 < len(w):
			// A dot at the end ends a sentence.
			return true
		}
	}
	return false
}

// isUserAndPassword reports whether w is the base64 form of a name, a colon and a
// password.
func isUserAndPassword(w string) bool {
	const most = 1024
	if len(w) < 4 {
		return false
	}
	// Without its padding it is the same in all variants but for two letters.
	w = standardBase64.Replace(w[:min(len(w), most)])
	if len(w)%4 == 1 {
		w = w[:len(w)-1] // no length that base64 has; the rest may still decode
	}
	text, err := base64.RawStdEncoding.DecodeString(w)
	return err == nil && bytes.IndexByte(text, ':') >= 0
}

var standardBase64 = strings.NewReplacer("-", "+", "_", "/", "=", "")

// maxAuthority is how far the user and password of a URI are looked for, in
// bytes.
const maxAuthority = 512

// authority looks at "://" and the text up to the host: a user and a password, or a token alone.
func (f *finder) authority(i int) int {
	const none = -1
	s, level, from := f.s, f.view.at(i), i+len("://")
	at, colon, path := none, none, none
	k := from
	for ; k < len(s) && k-from < maxAuthority; k++ {
		c := s[k]
		if f.view.at(k) > level {
			continue
		}
		if ends[c] == 1 && c != '&' || isQuote(c) {
			break
		}
		switch c {
		case '/', '?', '#':
			if path == none {
				path = k
				if at != none || colon == none || isPort(s[colon+1:k]) {
					// The authority ends here.
					return f.userinfo(from, at)
				}
				// The supposed port is none: the password holds the slash.
			}
		case ':':
			if colon == none && s[from] != '[' {
				colon = k
			}
		case '@':
			at = k
		}
	}
	if at == none && k-from == maxAuthority && colon != none {
		at = f.bare(k, level)
	}
	return f.userinfo(from, at)
}

func (f *finder) userinfo(from, at int) int {
	if at < 0 {
		return from
	}
	if f.s[from:at] != "git" {
		f.replace(from, at, -1)
	}
	return at
}

func isPort(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// dsn returns the end of the password that begins behind the colon at i in the
// name of a data source, "user:password@tcp(host)/db", or 0.
func dsn(s string, i int) int {
	if i == 0 || i+1 == len(s) || s[i] != ':' || s[i+1] == ' ' || isQuote(s[i+1]) || !isWord(s[i-1]) {
		return 0
	}
	const most = 128
	end := min(len(s), i+most)
	if strings.IndexByte(s[i:end], '@') < 0 {
		return 0
	}
	for k := i + 1; k < end; k++ {
		switch c := s[k]; {
		case c == '@' && (strings.HasPrefix(s[k:], "@tcp(") || strings.HasPrefix(s[k:], "@unix(")):
			return k
		case ends[c] == 1, isQuote(c):
			return 0
		}
	}
	return 0
}

// isParameter reports whether a parameter of a URI is a secret that is none
// elsewhere. A code is one when it is long: a short one is given to people.
func isParameter(name, value string) bool {
	if strings.EqualFold(name, "code") {
		const least = 16
		n := 0
		for n < len(value) && n < least && (isToken(value[n])) {
			n++
		}
		return n == least
	}
	return strings.EqualFold(name, "key") || strings.EqualFold(name, "auth")
}
