// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// plain holds the bytes that stand in a JSON string as they are: ASCII that
// needs no escape.
var plain = func() (t [256]bool) {
	for b := 0x20; b < utf8.RuneSelf; b++ {
		t[b] = b != '"' && b != '\\'
	}
	return t
}()

// string writes s quoted. Bytes that are not UTF-8 become U+FFFD.
func (w *Writer) string(s string) {
	limit := w.limits.String
	if rest := w.end - len(w.buf); rest < limit {
		limit = max(rest, 0)
	}
	cut := false
	if len(s) > limit {
		cut = true
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	w.buf = append(w.buf, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if plain[b] {
			i++
			continue
		}
		if b < utf8.RuneSelf {
			w.buf = append(w.buf, s[start:i]...)
			switch b {
			case '"', '\\':
				w.buf = append(w.buf, '\\', b)
			case '\n':
				w.buf = append(w.buf, '\\', 'n')
			case '\r':
				w.buf = append(w.buf, '\\', 'r')
			case '\t':
				w.buf = append(w.buf, '\\', 't')
			default:
				w.buf = append(w.buf, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			w.buf = append(w.buf, s[start:i]...)
			w.buf = append(w.buf, "\ufffd"...)
			w.repaired++
			i++
			start = i
			continue
		}
		i += size
	}
	w.buf = append(w.buf, s[start:]...)
	if cut {
		w.truncated = true
		w.buf = append(w.buf, MarkTruncated...)
	}
	w.buf = append(w.buf, '"')
}
