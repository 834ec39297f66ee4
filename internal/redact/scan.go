// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"unicode/utf8"
)

// The classes of bytes, or of pairs of bytes, at which a scan stops.
const (
	escape    uint8 = 1 << iota // a byte that JSON must escape
	separator                   // the byte after a key, or a byte that may encode a separator
	space                       // behind the name of an authorization scheme
	second                      // the second byte of a flag, a PEM block or a character reference
	prefix                      // in the beginning of a name or of a token of a known form
	prefix1
	prefix2
	prefix3

	everything = 0xff
	signals    = everything &^ escape
)

// before and at hold, for each byte, the classes of which it may be the first and the last byte. A
// pair of no class may be taken for one; a look at the text decides then.
var before, at = func() (before, at [256]uint8) {
	pairs := func(class uint8, first, last string) {
		for _, c := range []byte(first) {
			before[c] |= class
		}
		for _, c := range []byte(last) {
			at[c] |= class
		}
	}
	for c := range before {
		before[c] = escape | separator
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			at[c] = escape
		}
	}
	pairs(separator, "", `:=>%\`)
	pairs(space, "rRcC", " ")
	pairs(second, "-&", "-pPtTsSau#q")
	pairs(prefix, "xX", "-_") // X-Amz- X-Goog-
	for _, prefixes := range tokenPrefixes {
		for _, p := range prefixes {
			// Signals that have much before them in common share a class.
			class := prefix1
			switch p.signal {
			case 'I', '1', '2', '8':
				class = prefix2
			case '_', '-':
				class = prefix3
			case '/':
				class = prefix
			}
			pairs(class, p.text[p.at-1:p.at], p.text[p.at:p.at+1])
		}
	}
	return before, at
}()

// scan returns the first place in s, not before i, of one of the classes, or
// len(s).
func scan(s string, i int, classes uint8) int {
	p := byte(0)
	if i > 0 && i <= len(s) {
		p = s[i-1]
	}
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		m := before[p]&at[b[0]] | before[b[0]]&at[b[1]] | before[b[1]]&at[b[2]] | before[b[2]]&at[b[3]] |
			before[b[3]]&at[b[4]] | before[b[4]]&at[b[5]] | before[b[5]]&at[b[6]] | before[b[6]]&at[b[7]]
		if m&classes != 0 {
			break
		}
		p = b[7]
	}
	for ; i < len(s); i++ {
		c := s[i]
		if before[p]&at[c]&classes != 0 {
			return i
		}
		p = c
	}
	return len(s)
}

// Plain reports whether c stands in a JSON string as it is: ASCII that needs no
// escape.
func Plain(c byte) bool { return at[c]&escape == 0 }

// signal returns the first place in s, not before i, where a secret may show.
func signal(s string, i int) int { return scan(s, i, signals) }

// A scheme is an authorization scheme with credentials that are looked for outside of headers too.
type scheme int

const (
	noScheme scheme = iota
	bearer
	basic
)

// schemeBefore returns the scheme with a name that ends before i.
func schemeBefore(s string, i int) scheme {
	switch {
	case i >= 6 && s[i-1]|0x20 == 'r' && strings.EqualFold(s[i-6:i], "bearer"):
		return bearer
	case i >= 5 && s[i-1]|0x20 == 'c' && strings.EqualFold(s[i-5:i], "basic"):
		return basic
	}
	return noScheme
}

// isWord reports whether c may be a part of a key that is not quoted.
func isWord(c byte) bool { return words[c] }

var words = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = isLetter(b) || isDigit(b) || b == '_' || b == '-' || b == '.' || b == '$'
	}
	return t
}()

const pemBegin = "-----BEGIN"
