// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import "unicode/utf8"

// plain holds the bytes that stand in a JSON string as they are: ASCII that
// needs no escape.
var plain = func() (t [256]bool) {
	for b := 0x20; b < utf8.RuneSelf; b++ {
		t[b] = b != '"' && b != '\\'
	}
	return t
}()

// escapes holds what stands for each ASCII byte that is not plain.
var escapes = func() (t [utf8.RuneSelf]string) {
	const hexDigits = "0123456789abcdef"
	for b := range t {
		t[b] = `\u00` + hexDigits[b>>4:b>>4+1] + hexDigits[b&0xf:b&0xf+1]
	}
	t['"'], t['\\'], t['\n'], t['\r'], t['\t'] = `\"`, `\\`, `\n`, `\r`, `\t`
	return t
}()

// string writes s quoted. Bytes that are not UTF-8 become U+FFFD. The limits
// hold for what is written, which is longer than s where it is escaped.
func (w *Writer) string(s string) {
	limit := max(min(w.limits.String, w.end-len(w.buf)), 0)
	i := 0
	if len(s) <= limit {
		for i < len(s) && plain[s[i]] {
			i++
		}
		if i == len(s) {
			w.buf = append(w.buf, '"')
			w.buf = append(w.buf, s...)
			w.buf = append(w.buf, '"')
			return
		}
	}
	w.escaped(s, i, limit)
}

// escaped writes a string that does not fit within the limit or needs escapes,
// the first of them not before i.
func (w *Writer) escaped(s string, i, limit int) {
	cut := len(s) > limit
	if cut {
		s = s[:boundary(s, limit)]
	}
	// room is how many bytes escapes may still add.
	room := limit - len(s)
	w.buf = append(w.buf, '"')
	start := 0
	for i < len(s) {
		b := s[i]
		if plain[b] {
			i++
			continue
		}
		var esc string
		if b < utf8.RuneSelf {
			esc = escapes[b]
		} else {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size != 1 {
				i += size
				continue
			}
			esc = "\ufffd"
		}
		if room -= len(esc) - 1; room < 0 {
			// The escape pushes the end of s over the limit.
			cut = true
			n := len(s) + room
			if n <= i {
				s = s[:i]
				break
			}
			m := max(boundary(s, n), i+1)
			s, room = s[:m], n-m
		}
		if b >= utf8.RuneSelf {
			w.repaired++
		}
		w.buf = append(w.buf, s[start:i]...)
		w.buf = append(w.buf, esc...)
		i++
		start = i
	}
	w.buf = append(w.buf, s[start:]...)
	if cut {
		w.truncated = true
		w.buf = append(w.buf, MarkTruncated...)
	}
	w.buf = append(w.buf, '"')
}

// boundary returns the last place in s, not after n, that does not stand inside
// a rune; n must be less than len(s). Where s is not UTF-8 any place will do.
func boundary(s string, n int) int {
	for m := n; m > 0 && m > n-utf8.UTFMax; m-- {
		if utf8.RuneStart(s[m]) {
			return m
		}
	}
	return n
}
