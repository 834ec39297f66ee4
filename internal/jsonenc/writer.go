// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonenc writes values straight to JSON bytes in one pass. In the same pass it redacts
// secrets, cuts long content, and repairs values that JSON cannot hold. The payloads of a run
// become columns of a row so: no value of a tool, a model or a user can make it fail, panic or grow
// without bound. Package redact decides which text is a secret.
package jsonenc

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// Marks that stand in the place of something that was left out. They are the
// ones the Python plugin writes, so that queries for them work on both.
const (
	MarkTruncated      = "...[TRUNCATED]"
	MarkRedacted       = redact.Mark
	MarkSensitive      = redact.MarkSensitive
	MarkBinary         = "[BINARY DATA]"
	MarkDepth          = "[MAX_DEPTH_EXCEEDED]"
	MarkBudget         = "[SANITIZE_BUDGET_EXCEEDED]"
	MarkUnserializable = "[UNSERIALIZABLE]"
)

// Marked reports whether s holds a mark. Two texts that do may be equal although what was
// left out of them is not.
func Marked(s string) bool {
	for _, mark := range [...]string{MarkTruncated, MarkRedacted, MarkSensitive, MarkBinary, MarkDepth, MarkBudget, MarkUnserializable} {
		if strings.Contains(s, mark) {
			return true
		}
	}
	return false
}

// Limits bound what one Writer writes. A zero field takes its default.
type Limits struct {
	// String is the longest string in bytes. Defaults to 512,000.
	String int
	// Total is the greatest number of bytes of one Writer, that is of one row, apart from the marks
	// in the place of cut parts. Defaults to 1,000,000, a tenth of the limit of one request to
	// BigQuery.
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
	values stack[any]
	texts  stack[string]
	nodes  int
	depth  int
	// end is the length of buf at which the current document is full.
	end int
	// binary holds the base64 forms of the bytes of the foreign value that is being written.
	binary map[string]bool

	secrets   redact.Cleaner
	truncated bool
	repaired  int
	// odd says that a value was written that encoding/json may write otherwise.
	odd bool
	// spelled says that a number was written that is not in its normal form.
	spelled bool
	// normal is where a digest is made of what numbers must be changed in.
	normal []byte
	// key is that of digests, hash and hashed are where they are made.
	key    []byte
	hash   hash.Hash
	hashed [sha256.Size]byte
}

// NewWriter returns a Writer with the given limits that redacts by rules; nil are the
// built-in ones.
func NewWriter(l Limits, rules *redact.Rules) *Writer {
	return &Writer{limits: l.withDefaults(), secrets: redact.Cleaner{Rules: rules}}
}

// Reset forgets everything written and counted.
func (w *Writer) Reset() {
	w.buf = w.buf[:0]
	w.values.reset() // they hold on to the payload
	w.texts.reset()
	w.nodes, w.depth, w.end, w.binary = 0, 0, 0, nil
	w.secrets.Reset()
	w.truncated, w.repaired, w.odd, w.spelled = false, 0, false, false
}

// Bytes returns what was written. It is valid until the next call.
func (w *Writer) Bytes() []byte { return w.buf }

// Len returns the number of bytes written.
func (w *Writer) Len() int { return len(w.buf) }

// Truncated reports whether anything was cut or left out for its size.
func (w *Writer) Truncated() bool { return w.truncated }

// Redacted returns the number of replaced secrets: values with the key of a secret, and places in
// strings.
func (w *Writer) Redacted() int { return w.secrets.Redacted }

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
	if w.enough() {
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
		w.odd = true
		w.mark(MarkBinary)
	case json.Number:
		w.number(v)
	case time.Time:
		w.odd = true
		w.buf = append(w.buf, '"')
		w.buf = v.UTC().AppendFormat(w.buf, time.RFC3339Nano)
		w.buf = append(w.buf, '"')
	case map[string]any:
		object(w, &w.values, v, (*Writer).value)
	case map[string]string:
		object(w, &w.texts, v, (*Writer).leaf)
	case []any:
		array(w, v, (*Writer).value)
	case []string:
		array(w, v, (*Writer).leaf)
	case []map[string]any:
		array(w, v, (*Writer).node)
	case error:
		w.error(v)
	default:
		w.foreign(v)
	}
}

// leaf and node write a value whose type is known.
func (w *Writer) leaf(s string) {
	if w.enough() {
		w.spent()
		return
	}
	w.string(s)
}

func (w *Writer) node(m map[string]any) {
	if w.enough() {
		w.spent()
		return
	}
	object(w, &w.values, m, (*Writer).value)
}

// enough counts a value and reports whether there is no room for it.
func (w *Writer) enough() bool {
	w.nodes++
	return w.nodes > w.limits.Nodes || w.over()
}

// error writes the text of an error. Error of a nil pointer panics, mostly.
func (w *Writer) error(v error) {
	w.odd = true
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
	if bits == 64 && w.decimal(f) {
		return
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1<<53) { // from there on it stands for its neighbours too
		format, w.spelled = 'e', true
	}
	w.spelled = w.spelled || f == 0 // the negative zero
	w.buf = strconv.AppendFloat(w.buf, f, format, -1, bits)
}

// decimal writes a number with up to four decimals, as prices and ratios are, and
// reports whether f is one. A number of at most 15 digits is the shortest form of
// the one it is closest to.
func (w *Writer) decimal(f float64) bool {
	const scale = 10_000
	abs := math.Abs(f)
	if !(abs < 1e10) {
		return false
	}
	n := int64(abs*scale + 0.5)
	if float64(n)/scale != abs || n == 0 {
		return false
	}
	if f < 0 {
		w.buf = append(w.buf, '-')
	}
	w.buf = strconv.AppendInt(w.buf, n/scale, 10)
	w.buf = append(w.buf, '.')
	for n %= scale; n > 0; n = n * 10 % scale {
		w.buf = append(w.buf, '0'+byte(n*10/scale))
	}
	return true
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
	if _, normal := numberEnd(n, 0); !normal {
		w.spelled = true
	}
	w.buf = append(w.buf, n...)
}
