// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import "strings"

// token returns where a token of a well-known form begins and ends, which needs no
// name to be told: a JSON web token, or what a vendor gave a prefix that has the
// signal at i in it. start is -1 where there is none.
func token(s string, i int) (start, end int) {
	prefix, least := tokenPrefix(s, i)
	if prefix == "" {
		return -1, -1
	}
	start = i - strings.IndexByte(prefix, s[i])
	if start > 0 && isWord(s[start-1]) && (start < 2 || s[start-2] != '\\') {
		return -1, -1 // so that no byte is a part of more than one
	}
	end = start + len(prefix)
	for end < len(s) && isWord(s[end]) {
		end++
	}
	for s[end-1] == '.' {
		end-- // of a sentence
	}
	if !isTokenBody(prefix, s[min(start+len(prefix), end):end], least) {
		return -1, -1
	}
	return start, end
}

// tokenPrefix returns the prefix of a token that has the signal at i in it, and
// how many bytes follow it at least.
func tokenPrefix(s string, i int) (prefix string, least int) {
	is := func(prefix string) bool {
		n := i - strings.IndexByte(prefix, s[i])
		return n >= 0 && strings.HasPrefix(s[n:], prefix)
	}
	switch s[i] {
	case 'J':
		if is("eyJ") {
			return "eyJ", 20
		}
	case 'z':
		if is("AIza") {
			return "AIza", 30
		}
	case 'I':
		if is("AKIA") {
			return "AKIA", 16
		}
		if is("ASIA") {
			return "ASIA", 16
		}
	case '2':
		if is("ya29.") {
			return "ya29.", 20
		}
	case '_':
		switch s[i-1] {
		case 'p', 'o', 'u', 's', 'r':
			if i >= 3 && s[i-3] == 'g' && s[i-2] == 'h' {
				return s[i-3 : i+1], 20
			}
		case 'b':
			if is("github_pat_") {
				return "github_pat_", 20
			}
		case 'k':
			for _, p := range [...]string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"} {
				if is(p) {
					return p, 10
				}
			}
		case 'm':
			if is("npm_") {
				return "npm_", 30
			}
		}
	case '-':
		switch s[i-1] {
		case 'k':
			if is("sk-") {
				return "sk-", 20
			}
		case 't':
			if is("glpat-") {
				return "glpat-", 20
			}
		case 'b', 'p', 'a', 'r', 's', 'e', 'o':
			if i >= 4 && s[i-4:i-1] == "xox" {
				return s[i-4 : i+1], 10
			}
		}
	}
	return "", 0
}

// isTokenBody reports whether what follows a prefix looks like the rest of a token
// and not like words, a number or an identifier.
func isTokenBody(prefix, s string, least int) bool {
	if len(s) < least {
		return false
	}
	switch prefix {
	case "eyJ":
		// Of three parts the middle one is JSON too, unless it is encrypted.
		n := strings.IndexByte(s, '.')
		return n > 0 && (strings.HasPrefix(s[n+1:], "eyJ") || strings.Count(s, ".") >= 2)
	case "AKIA", "ASIA":
		for i := range len(s) {
			if !isUpper(s[i]) && !isDigit(s[i]) {
				return false
			}
		}
		return len(s) == least
	}
	if prefix[0] == 'x' {
		return strings.ContainsAny(s, "0123456789")
	}
	// A run of letters and digits, as long as no word and no part of a UUID.
	run, letters, digits := 0, 0, 0
	for i := 0; i < len(s) && run < least; i++ {
		switch c := s[i]; {
		case isDigit(c):
			run, digits = run+1, digits+1
		case isLetter(c):
			run, letters = run+1, letters+1
		case prefix == "sk-" || prefix == "glpat-":
			if run >= 16 && letters > 0 && digits > 0 {
				return true
			}
			run, letters, digits = 0, 0, 0
		default:
			run++
		}
	}
	return run >= min(least, 16) && letters > 0 && digits > 0
}
