// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"strings"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// string writes s quoted and without the secrets in it. Bytes that are not UTF-8 become U+FFFD. The
// limits hold for the written text, which is longer than s if it is escaped. A string is cleaned
// before it is cut, so that a cut never parts a secret from its sign.
func (w *Writer) string(s string) {
	limit := w.room()
	dirty, escaped := w.secrets.Inspect(s, limit)
	if dirty {
		s, escaped = w.clean(s), 0
	}
	w.quote(s, escaped, limit)
}

// room is how many bytes a string may take.
func (w *Writer) room() int {
	return max(min(w.limits.String, w.end-len(w.buf)), 0)
}

// clean returns s without the secrets in it. A text that is replaced as a whole counts
// as truncation: more is gone than the secret.
func (w *Writer) clean(s string) string {
	if len(s) > redact.MaxText {
		s = s[:boundary(s, redact.MaxText)]
		w.truncated = true
	}
	lost := w.secrets.Lost
	s = w.secrets.Clean(s)
	if w.secrets.Lost > lost {
		w.truncated = true
	}
	return s
}

// Clean returns a text, such as that of an error, without the secrets in it, cut to limit bytes at
// a rune boundary, and repaired if it is not UTF-8. The Writer counts redactions and cuts as if it
// had written the text.
func (w *Writer) Clean(s string, limit int) string {
	if dirty, _ := w.secrets.Inspect(s, limit); dirty {
		s = w.clean(s)
	}
	if len(s) > limit {
		s = s[:boundary(s, limit)] + MarkTruncated
		w.truncated = true
	}
	if !utf8.ValidString(s) {
		w.repaired++
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return s
}

// quote writes s quoted, within the limit. No byte before i needs an escape.
func (w *Writer) quote(s string, i, limit int) {
	if i < len(s) || len(s) > limit {
		w.escaped(s, min(i, limit), limit)
		return
	}
	b := append(w.buf, '"')
	b = append(b, s...)
	w.buf = append(b, '"')
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
		if redact.Plain(b) {
			i++
			continue
		}
		var esc string
		if b < utf8.RuneSelf {
			esc = redact.Escapes[b]
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
