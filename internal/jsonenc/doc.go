// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import "strconv"

// Doc is one JSON document inside a Writer: a column of the row.
type Doc struct {
	w   *Writer
	off int
}

// Doc starts a new document behind what is written. It may take the given share
// of the total, in percent, so that a large document leaves room for those after
// it.
func (w *Writer) Doc(percent int) Doc {
	if w.limits.String == 0 {
		w.limits = w.limits.withDefaults()
	}
	w.end = len(w.buf) + w.limits.Total/100*percent
	return Doc{w: w, off: len(w.buf)}
}

// Range returns the offsets of the document in the Writer's buffer.
func (d Doc) Range() (start, end int) { return d.off, len(d.w.buf) }

// Full reports whether the document has used its share, and if so marks the row
// as truncated: a caller that writes the elements of a list one by one asks before
// each one and stops when it is told so.
func (d Doc) Full() bool {
	if !d.w.over() {
		return false
	}
	d.w.truncated = true
	return true
}

// Open writes the start of an object ('{') or of an array ('[').
func (d Doc) Open(c byte) {
	d.w.sep(d.off)
	d.w.buf = append(d.w.buf, c)
}

// Close writes the end of an object ('}') or of an array (']').
func (d Doc) Close(c byte) { d.w.buf = append(d.w.buf, c) }

// Key writes the key of the next value. The key is trusted: it is one of ours.
func (d Doc) Key(k string) {
	d.w.sep(d.off)
	d.w.buf = append(d.w.buf, '"')
	d.w.buf = append(d.w.buf, k...)
	d.w.buf = append(d.w.buf, '"', ':')
}

// Str writes a key and a string.
func (d Doc) Str(k, v string) {
	d.Key(k)
	d.w.string(v)
}

// OptStr writes a key and a string unless the string is empty.
func (d Doc) OptStr(k, v string) {
	if v != "" {
		d.Str(k, v)
	}
}

// ID writes a key and an id, which is trusted to need no escapes.
func (d Doc) ID(k string, id []byte) {
	d.Key(k)
	d.w.buf = append(d.w.buf, '"')
	d.w.buf = append(d.w.buf, id...)
	d.w.buf = append(d.w.buf, '"')
}

// Int writes a key and an integer.
func (d Doc) Int(k string, v int64) {
	d.Key(k)
	d.w.buf = strconv.AppendInt(d.w.buf, v, 10)
}

// Bool writes a key and a boolean.
func (d Doc) Bool(k string, v bool) {
	d.Key(k)
	d.w.buf = strconv.AppendBool(d.w.buf, v)
}

// Any writes a key and a value of any type.
func (d Doc) Any(k string, v any) {
	d.Key(k)
	d.w.value(v)
}

// Elem writes a string as the document, the value of the key before it or the
// next element of an array.
func (d Doc) Elem(v string) {
	d.w.sep(d.off)
	d.w.string(v)
}

// Value writes a value of any type as the document or the next element.
func (d Doc) Value(v any) {
	d.w.sep(d.off)
	d.w.value(v)
}

// Raw writes JSON that is known to be valid.
func (d Doc) Raw(b []byte) {
	d.w.sep(d.off)
	d.w.buf = append(d.w.buf, b...)
}
