// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonenc writes values straight to JSON bytes in one pass, and in the
// same pass redacts secrets, cuts what is too long, and repairs what JSON cannot
// hold. It is how payloads of a run become columns of a row: nothing that a
// tool, a model or a user hands over can make it fail, panic or grow without
// bound.
package jsonenc

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Marks that stand in the place of something that was left out. They are the
// ones the Python plugin writes, so that queries for them work on both.
const (
	MarkTruncated      = "...[TRUNCATED]"
	MarkRedacted       = "[REDACTED]"
	MarkBinary         = "[BINARY DATA]"
	MarkDepth          = "[MAX_DEPTH_EXCEEDED]"
	MarkBudget         = "[SANITIZE_BUDGET_EXCEEDED]"
	MarkUnserializable = "[UNSERIALIZABLE]"
)

// Limits bound what one Writer writes. A zero field takes its default.
type Limits struct {
	// String is the longest string in bytes. Defaults to 512,000.
	String int
	// Total is the most bytes of one Writer, that is of one row, give or take the
	// marks that stand for what was cut. Defaults to 1,000,000, a tenth of what
	// BigQuery takes in one request.
	Total int
	// Depth is how deep objects and arrays nest. Defaults to 50.
	Depth int
	// Nodes is how many values are visited. Defaults to 100,000.
	Nodes int
}

func (l Limits) withDefaults() Limits {
	if l.String <= 0 {
		l.String = 512_000
	}
	if l.Total <= 0 {
		l.Total = 1_000_000
	}
	if l.Depth <= 0 {
		l.Depth = 50
	}
	if l.Nodes <= 0 {
		l.Nodes = 100_000
	}
	return l
}

// Writer appends JSON to a buffer. Commas are placed by it. The zero value is
// ready with the default limits. A Writer is for one goroutine at a time; Reset
// makes it ready for the next row and keeps its memory.
type Writer struct {
	buf    []byte
	limits Limits
	keys   []string
	nodes  int
	depth  int
	// end is the length of buf at which the current document is full.
	end int
	// types is what reflection found out about foreign types; Reset keeps it.
	types map[reflect.Type]*typeInfo
	// binary holds the base64 forms of bytes that a foreign value being written
	// may have put into its own JSON.
	binary map[string]bool

	truncated bool
	redacted  int
	repaired  int
}

// NewWriter returns a Writer with the given limits.
func NewWriter(l Limits) *Writer {
	return &Writer{limits: l.withDefaults()}
}

// Reset forgets everything written and counted.
func (w *Writer) Reset() {
	w.buf = w.buf[:0]
	clear(w.keys)
	w.keys = w.keys[:0]
	w.nodes, w.depth, w.end, w.binary = 0, 0, 0, nil
	w.truncated, w.redacted, w.repaired = false, 0, 0
}

// Bytes returns what was written. It is valid until the next call.
func (w *Writer) Bytes() []byte { return w.buf }

// Len returns the number of bytes written.
func (w *Writer) Len() int { return len(w.buf) }

// Truncated reports whether anything was cut or left out for its size.
func (w *Writer) Truncated() bool { return w.truncated }

// Redacted returns how many values were replaced because their key names a secret.
func (w *Writer) Redacted() int { return w.redacted }

// Repaired returns how many values JSON cannot hold (invalid UTF-8, NaN, an
// infinite number) were replaced.
func (w *Writer) Repaired() int { return w.repaired }

func (w *Writer) comma() {
	if n := len(w.buf); n > 0 {
		switch w.buf[n-1] {
		case '{', '[', ':', ',':
		default:
			w.buf = append(w.buf, ',')
		}
	}
}

// sep places the comma before a value of the document that starts at off.
func (w *Writer) sep(off int) {
	if len(w.buf) > off {
		w.comma()
	}
}

func (w *Writer) over() bool { return len(w.buf) >= w.end }

func (w *Writer) value(v any) {
	if w.nodes++; w.nodes > w.limits.Nodes || w.over() {
		w.spent()
		return
	}
	switch v := v.(type) {
	case nil:
		w.null()
	case string:
		if w.binary != nil && w.binary[v] {
			w.mark(MarkBinary)
			return
		}
		w.string(v)
	case bool:
		w.buf = strconv.AppendBool(w.buf, v)
	case float64:
		w.float(v, 64)
	case float32:
		w.float(float64(v), 32)
	case int:
		w.buf = strconv.AppendInt(w.buf, int64(v), 10)
	case int64:
		w.buf = strconv.AppendInt(w.buf, v, 10)
	case int32:
		w.buf = strconv.AppendInt(w.buf, int64(v), 10)
	case uint64:
		w.buf = strconv.AppendUint(w.buf, v, 10)
	case []byte:
		w.mark(MarkBinary)
	case json.Number:
		w.number(v)
	case time.Time:
		w.string(v.UTC().Format(time.RFC3339Nano))
	case map[string]any:
		object(w, v)
	case map[string]string:
		object(w, v)
	case []any:
		array(w, v)
	case []string:
		array(w, v)
	case []map[string]any:
		array(w, v)
	case error:
		w.error(v)
	default:
		w.foreign(v)
	}
}

// error writes the text of an error. Error of a nil pointer panics, mostly.
func (w *Writer) error(v error) {
	text, err := contain(func() (string, error) { return v.Error(), nil })
	if err != nil {
		w.unserializable()
		return
	}
	w.string(text)
}

func (w *Writer) null() { w.buf = append(w.buf, "null"...) }

// spent writes the mark of the limit that leaves no room for a further value.
func (w *Writer) spent() {
	if w.nodes > w.limits.Nodes {
		w.mark(MarkBudget)
	} else {
		w.mark(MarkTruncated)
	}
}

func (w *Writer) unserializable() {
	w.repaired++
	w.mark(MarkUnserializable)
}

// mark writes a mark for something that was left out because of a limit. Binary
// data is left out always, so it does not count as truncation.
func (w *Writer) mark(m string) {
	if m != MarkBinary {
		w.truncated = true
	}
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, m...)
	w.buf = append(w.buf, '"')
}

func object[V any](w *Writer, m map[string]V) {
	if m == nil {
		w.null()
		return
	}
	if w.depth >= w.limits.Depth {
		w.mark(MarkDepth)
		return
	}
	w.depth++
	w.buf = append(w.buf, '{')
	// Keys are sorted so that equal payloads give equal bytes. The scratch slice
	// is shared by all levels: each uses the part behind its parent's.
	from := len(w.keys)
	for k := range m {
		w.keys = append(w.keys, k)
	}
	slices.Sort(w.keys[from:])
	to := len(w.keys)
	for i := from; i < to; i++ {
		if i > from {
			w.buf = append(w.buf, ',')
		}
		k := w.keys[i]
		w.member(k, m[k])
		if w.over() && i+1 < to {
			w.truncated = true
			break
		}
	}
	w.keys = w.keys[:from]
	w.buf = append(w.buf, '}')
	w.depth--
}

func (w *Writer) member(k string, v any) {
	w.string(k)
	w.buf = append(w.buf, ':')
	if secretKey(k) {
		w.redact()
		return
	}
	w.value(v)
}

func (w *Writer) redact() {
	w.redacted++
	w.buf = append(w.buf, `"`+MarkRedacted+`"`...)
}

func array[V any](w *Writer, a []V) {
	if a == nil {
		w.null()
		return
	}
	if w.depth >= w.limits.Depth {
		w.mark(MarkDepth)
		return
	}
	w.depth++
	w.buf = append(w.buf, '[')
	for i, v := range a {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.value(v)
		if w.over() && i+1 < len(a) {
			w.truncated = true
			break
		}
	}
	w.buf = append(w.buf, ']')
	w.depth--
}

func (w *Writer) float(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.repaired++
		w.string(strconv.FormatFloat(f, 'g', -1, 64))
		return
	}
	if i := int64(f); bits == 64 && float64(i) == f && i > -1<<53 && i < 1<<53 && (i != 0 || !math.Signbit(f)) {
		// Most numbers of a payload are whole; they print alike and much faster.
		w.buf = strconv.AppendInt(w.buf, i, 10)
		return
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.buf = strconv.AppendFloat(w.buf, f, format, -1, bits)
}

// maxNumber is the length of a number, in bytes, that is written without looking
// at the room that is left.
const maxNumber = 32

func (w *Writer) number(n json.Number) {
	if f, err := n.Float64(); err != nil || !json.Valid([]byte(n)) || math.IsInf(f, 0) {
		w.repaired++
		w.string(string(n))
		return
	}
	if len(n) > maxNumber && len(w.buf)+len(n) > w.end {
		w.mark(MarkTruncated)
		return
	}
	w.buf = append(w.buf, n...)
}
