// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ignorable reports whether a character shows nothing by itself, as a zero-width space or a mark that
// reverses text: Default_Ignorable_Code_Point of Unicode.
func Ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.Prepended_Concatenation_Mark)
}

// Visible returns s in one line that is read in the order of its characters. Errors and values
// may hold line breaks, which would forge a line of a summary, and marks that reverse text.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// EscapeJSON returns a JSON text with escapes in the place of the characters that a terminal obeys or that
// reverse text, which JSON allows in its strings as they are. The text may be data itself.
func EscapeJSON(data []byte) []byte {
	if bytes.IndexFunc(data, obeyed) < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+16)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if obeyed(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, data[:n]...)
		}
		data = data[n:]
	}
	return out
}

// obeyed reports whether a character behind ASCII controls a terminal or the direction of text.
func obeyed(r rune) bool {
	return r == 0x7f || 0x80 <= r && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r)
}

// JSONWriter writes JSON texts to w, each as [EscapeJSON] returns it. A call of Write gets whole characters,
// as from a [json.Encoder].
type JSONWriter struct{ W io.Writer }

// Write implements [io.Writer].
func (j JSONWriter) Write(data []byte) (int, error) {
	if _, err := j.W.Write(EscapeJSON(data)); err != nil {
		return 0, err
	}
	return len(data), nil
}
