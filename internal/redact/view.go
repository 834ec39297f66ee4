// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
	"unsafe"
)

// view is a text with its encodings undone: percent-encoding and the escapes of string literals,
// however often they were applied. The search reads the view; replacements are made in the text
// itself.
type view struct {
	s string
	// level says for each byte of s how many encodings hid it, raw where it stands
	// in the text. Both are nil when the text is its own view.
	level []uint8
	raw   []int32
}

func (v *view) at(i int) uint8 {
	if v.level == nil {
		return 0
	}
	return v.level[i]
}

// offset returns the place in the text of byte i of s.
func (v *view) offset(i int) int {
	if v.raw == nil {
		return i
	}
	return int(v.raw[i])
}

// encoded reports whether s may hold an encoding that decoder undoes.
func encoded(s string) bool {
	return strings.IndexByte(s, '\\') >= 0 || strings.IndexByte(s, '%') >= 0
}

// decoder builds views. Its memory is used again by the next one.
type decoder struct {
	text  []byte
	level []uint8
	raw   []int32
}

// decode returns the view of s, which is valid until the next call. It takes one pass: it pushes
// each byte, and undoes the encoding at the end as often as it can.
func (d *decoder) decode(s string) view {
	d.text = slices.Grow(d.text[:0], len(s))
	d.level = slices.Grow(d.level[:0], len(s))
	d.raw = slices.Grow(d.raw[:0], len(s)+1)
	for i := range len(s) {
		d.text = append(d.text, s[i])
		d.level = append(d.level, 0)
		d.raw = append(d.raw, int32(i))
		for d.undo() {
		}
	}
	d.raw = append(d.raw, int32(len(s)))
	// The bytes are not touched while the view is in use, which ends before the
	// next call.
	return view{s: unsafe.String(unsafe.SliceData(d.text), len(d.text)), level: d.level, raw: d.raw}
}

// undo replaces the encoded byte at the end, if there is one, by its meaning.
func (d *decoder) undo() bool {
	t := d.text
	n := len(t)
	last := t[n-1]
	if n >= 3 && t[n-3] == '%' {
		if c, ok := hexByte(t[n-2], last); ok && c < 0x80 {
			d.put(n-3, c, max(d.level[n-3], d.level[n-2], d.level[n-1]))
			return true
		}
	}
	if n >= 2 && t[n-2] == '\\' {
		switch last {
		case '"', '\'', '`', '\\', '/':
			// Of two bytes that were not escaped alike the first was escaped itself.
			if d.level[n-2] == d.level[n-1] {
				d.put(n-2, last, d.level[n-1])
				return true
			}
		case 'n', 'r', 't':
			d.put(n-2, control(last), d.level[n-2])
			return true
		}
	}
	if n >= 4 && t[n-4] == '\\' && t[n-3] == 'x' {
		if c, ok := hexByte(t[n-2], last); ok && c < 0x80 {
			d.put(n-4, c, d.level[n-4])
			return true
		}
	}
	if n >= 6 && t[n-6] == '\\' && t[n-5] == 'u' && t[n-4] == '0' && t[n-3] == '0' {
		if c, ok := hexByte(t[n-2], last); ok && c < 0x80 {
			d.put(n-6, c, d.level[n-6])
			return true
		}
	}
	return false
}

// put ends the text at n with a byte that was encoded once more than level says.
func (d *decoder) put(n int, c byte, level uint8) {
	if level < 255 {
		level++
	}
	d.text, d.level, d.raw = d.text[:n+1], d.level[:n+1], d.raw[:n+1]
	d.text[n], d.level[n] = c, level
}

func control(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	}
	return '\t'
}

func hexByte(a, b byte) (byte, bool) {
	x, ok := hexDigit(a)
	y, also := hexDigit(b)
	return x<<4 | y, ok && also
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
