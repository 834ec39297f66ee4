// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// member is a key of a map and its value.
type member[V any] struct {
	key   string
	value V
}

// stack holds the members of the large maps that are being written. Each level uses the part after
// its parent's. The members of small maps are elsewhere, where the collector need
// not know them.
type stack[V any] struct {
	members []member[V]
	used    int // how many held something since the last reset
}

// push appends the members of m and returns them.
func (s *stack[V]) push(m map[string]V) []member[V] {
	from := len(s.members)
	for k, v := range m {
		s.members = append(s.members, member[V]{k, v})
	}
	s.used = max(s.used, len(s.members))
	return s.members[from:]
}

// maxScratch is how many members a Writer has room for from one row to the next.
const maxScratch = 1024

// reset drops the references of the stack.
func (s *stack[V]) reset() {
	if cap(s.members) > maxScratch {
		s.members = nil
	} else {
		clear(s.members[:s.used])
	}
	s.members, s.used = s.members[:0], 0
}

// few is the size of small maps. Their order is found without moving their members.
const few = 16

// order holds the first bytes of each key, and which member it is of.
type order struct {
	head [few]uint64
	at   [few]uint8
}

// sort puts up to few members in order.
func sort[V any](o *order, members []member[V]) {
	for i := range members {
		k := members[i].key
		head, n := headOf(k), i
		for ; n > 0 && (o.head[n-1] > head || o.head[n-1] == head && members[o.at[n-1]].key > k); n-- {
			o.head[n], o.at[n] = o.head[n-1], o.at[n-1]
		}
		o.head[n], o.at[n] = head, uint8(i)
	}
}

// headOf returns the first eight bytes of k as a number that orders as they do.
func headOf(k string) (head uint64) {
	if len(k) >= 8 {
		k = k[:8]
		return uint64(k[7]) | uint64(k[6])<<8 | uint64(k[5])<<16 | uint64(k[4])<<24 |
			uint64(k[3])<<32 | uint64(k[2])<<40 | uint64(k[1])<<48 | uint64(k[0])<<56
	}
	for i := range len(k) {
		head |= uint64(k[i]) << (56 - 8*i)
	}
	return head
}

// object writes a map. write writes one of its values.
func object[V any](w *Writer, s *stack[V], m map[string]V, write func(*Writer, V)) {
	if m == nil {
		w.null()
		return
	}
	if !w.enter() {
		return
	}
	var (
		o     order
		local [few]member[V]
	)
	if len(m) <= few {
		members := local[:0]
		for k, v := range m {
			members = append(members, member[V]{k, v})
		}
		sort(&o, members)
		writeMembers(w, members, &o, m, write)
	} else {
		from := len(s.members)
		members := s.push(m)
		slices.SortFunc(members, func(a, b member[V]) int { return strings.Compare(a.key, b.key) })
		writeMembers(w, members, nil, m, write)
		s.members = s.members[:from]
	}
	w.depth--
}

// writeMembers writes the members of m, in the order of their keys so that equal payloads give
// equal bytes: o is that order, and nil where the members are in it.
func writeMembers[V any](w *Writer, members []member[V], o *order, m map[string]V, write func(*Writer, V)) {
	w.buf = append(w.buf, '{')
	var taken map[string]int
	for i := range members {
		if !w.next(i, false) {
			break
		}
		at := i
		if o != nil {
			at = int(o.at[i])
		}
		k := members[at].key
		if name, changed := w.name(k); changed {
			if taken == nil {
				taken = make(map[string]int)
			}
			renamed(w, name, taken, m)
		}
		w.buf = append(w.buf, ':')
		if w.secrets.Secret(k) || redact.RoleOf(k) == redact.Valued && nameSecret(w.secrets.Rules, members) {
			w.redact()
		} else {
			write(w, members[at].value)
		}
	}
	w.buf = append(w.buf, '}')
}

// next makes place for element or member i of a list or an object, and reports whether
// there is room for it. The first one is always tried. Where there is none, a mark stands in the place of the rest.
func (w *Writer) next(i int, list bool) bool {
	if i == 0 {
		return true
	}
	w.buf = append(w.buf, ',')
	if !w.over() {
		return true
	}
	if !list {
		w.mark(MarkTruncated)
		w.buf = append(w.buf, ':')
	}
	w.mark(MarkTruncated)
	return false
}

// nameSecret reports whether one of the members names a secret that another one is the
// value of.
func nameSecret[V any](rules *redact.Rules, members []member[V]) bool {
	return slices.ContainsFunc(members, func(m member[V]) bool {
		if redact.RoleOf(m.key) != redact.Naming {
			return false
		}
		text, ok := any(m.value).(string)
		return ok && rules.Secret(text)
	})
}

// name writes the key of a member, if it may be written as it is. Else it returns
// what remains of it when it is cleaned, cut and repaired.
func (w *Writer) name(k string) (string, bool) {
	limit := w.room()
	dirty, escaped := w.secrets.Inspect(k, limit)
	if dirty {
		if c := w.clean(k); c != k {
			return c, true
		}
		escaped = 0
	}
	if len(k) > limit || escaped < len(k) && !utf8.ValidString(k) {
		return k, true
	}
	w.quote(k, escaped, limit)
	return "", false
}

// renamed writes a key that had to change, and keeps it different from every other key, of m and in
// taken.
func renamed[V any](w *Writer, k string, taken map[string]int, m map[string]V) {
	from := len(w.buf)
	w.quote(k, 0, w.room())
	written := string(w.buf[from+1 : len(w.buf)-1])
	n := taken[written]
	if _, has := m[unquoted(written)]; n == 0 && !has {
		taken[written] = 1
		return
	}
	n = max(n, 1)
	taken[written] = n + 1
	w.buf = append(w.buf[:from], `"[KEY_COLLISION_`...)
	w.buf = strconv.AppendInt(w.buf, int64(n), 10)
	w.buf = append(w.buf, ']')
	w.buf = append(w.buf, written...)
	w.buf = append(w.buf, '"')
}

// unquoted returns the text that stands for written in quotes.
func unquoted(written string) (text string) {
	_ = json.Unmarshal([]byte(`"`+written+`"`), &text)
	return text
}

func (w *Writer) redact() {
	w.secrets.Redacted++
	w.buf = append(w.buf, `"`+MarkRedacted+`"`...)
}

// array writes a slice. write writes one of its elements.
func array[V any](w *Writer, a []V, write func(*Writer, V)) {
	if a == nil {
		w.null()
		return
	}
	q := redact.List{Rules: w.secrets.Rules, Pair: len(a) == 2 && w.inList()}
	if !w.enter() {
		return
	}
	w.buf = append(w.buf, '[')
	for i, v := range a {
		if !w.next(i, true) {
			break
		}
		if text, _ := any(v).(string); q.Hides(text) {
			w.redact()
		} else {
			write(w, v)
		}
	}
	w.buf = append(w.buf, ']')
	w.depth--
}

// inList reports whether what is written next is an element of a list of lists.
func (w *Writer) inList() bool {
	n := len(w.buf)
	return n > 0 && w.buf[n-1] == '[' || n > 1 && w.buf[n-1] == ',' && w.buf[n-2] == ']'
}

// enter counts a level of nesting; false, with the mark written, means it is one
// too many.
func (w *Writer) enter() bool {
	if w.depth >= w.limits.Depth {
		w.mark(MarkDepth)
		return false
	}
	w.depth++
	return true
}
