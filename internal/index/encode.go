// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// head begins the file. The number is that of the format and of what the entries say: an index of
// another one is made anew.
const head = "contextgraph index 1\n"

// encode returns the content of the file: the head, the id of the journal and the fields in their
// order, as numbers of variable length and texts behind their lengths. A checksum ends it.
func encode(x Index, id string) []byte {
	w := writer(head)
	w.text(id)
	w.numbers(x.Step, int64(len(x.Entries)))
	for i := range x.Entries {
		e := &x.Entries[i]
		w.numbers(e.LastSeq, e.LastTime, e.Events, e.Lost, e.Until)
		w.text(e.Session.App, e.Session.User, e.Session.ID, e.Status, string(e.Words))
		w.numbers(e.Start, e.End, e.Errors, e.Turns, e.Prompt, e.Completion, e.Total)
		w.text(e.Detail)
	}
	return binary.LittleEndian.AppendUint32(w, crc32.ChecksumIEEE(w))
}

// decode reads what encode made. ok is false for anything else, and for the index of a journal with
// another id.
func decode(data, id string) (x Index, ok bool) {
	const sum = 4
	if !strings.HasPrefix(data, head) || len(data) < len(head)+sum {
		return Index{}, false
	}
	body := data[:len(data)-sum]
	if crc32.ChecksumIEEE([]byte(body)) != binary.LittleEndian.Uint32([]byte(data[len(body):])) {
		return Index{}, false
	}
	r := reader{rest: body[len(head):]}
	of, n := "", int64(0)
	r.text(&of)
	r.numbers(&x.Step, &n)
	if of != id {
		return Index{}, false
	}
	const least = 17 + wordBytes // bytes of an entry
	x.Entries = make([]Entry, 0, max(0, min(n, int64(len(r.rest)/least))))
	for ; n > 0 && !r.failed; n-- {
		var e Entry
		words := ""
		r.numbers(&e.LastSeq, &e.LastTime, &e.Events, &e.Lost, &e.Until)
		r.text(&e.Session.App, &e.Session.User, &e.Session.ID, &e.Status, &words)
		r.numbers(&e.Start, &e.End, &e.Errors, &e.Turns, &e.Prompt, &e.Completion, &e.Total)
		r.text(&e.Detail)
		e.Words = Words(words)
		x.Entries = append(x.Entries, e)
	}
	return x, !r.failed && r.rest == ""
}

type writer []byte

func (w *writer) numbers(numbers ...int64) {
	for _, n := range numbers {
		*w = binary.AppendVarint(*w, n)
	}
}

func (w *writer) text(texts ...string) {
	for _, t := range texts {
		*w = append(binary.AppendUvarint(*w, uint64(len(t))), t...)
	}
}

// reader takes fields off rest until it fails.
type reader struct {
	rest   string
	failed bool
}

func (r *reader) numbers(to ...*int64) {
	for _, n := range to {
		*n = r.number()
	}
}

func (r *reader) text(to ...*string) {
	for _, t := range to {
		n := r.unsigned()
		if n > uint64(len(r.rest)) {
			r.failed = true
			n = 0
		}
		*t, r.rest = r.rest[:n], r.rest[n:]
	}
}

// number undoes the zigzag of [binary.AppendVarint].
func (r *reader) number() int64 {
	u := r.unsigned()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader) unsigned() (u uint64) {
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		b := r.rest[i]
		u |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return u
		}
	}
	r.failed, r.rest = true, ""
	return 0
}
