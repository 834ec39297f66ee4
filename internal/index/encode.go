// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"
)

// head begins the file. The number is that of the format and of what the entries say: an index of
// another one is made anew.
const head = "contextgraph index 1\n"

// least is the length of the shortest entry in bytes: it bounds what a damaged number of entries
// makes room for.
const least = 17

// encode returns the content of the file: the head, the id of the journal and the fields in their
// order, as numbers of variable length and texts behind their lengths. A checksum ends it.
func encode(x Index, id string) []byte {
	w := writer(head)
	w.texts(id)
	w.numbers(x.Step, int64(len(x.Entries)))
	for _, e := range x.Entries {
		w.numbers(e.LastSeq, e.LastTime, e.Events, e.Lost, e.Until, e.Start, e.End, e.Errors, e.Turns, e.Prompt, e.Completion, e.Total)
		w.texts(e.Status, string(e.Words))
		w.numbers(int64(len(e.Requests)))
		for _, q := range e.Requests {
			waits := int64(0)
			if q.Waits {
				waits = 1
			}
			w.texts(q.Status)
			w.numbers(q.At.Unix(), int64(q.At.Nanosecond()), q.WaitedMS, waits)
		}
		for _, list := range [][]string{e.Verdicts, e.Gaps} {
			w.numbers(int64(len(list)))
			w.texts(list...)
		}
	}
	return binary.LittleEndian.AppendUint32(w, crc32.ChecksumIEEE(w))
}

// decode reads what encode made. ok is false for anything else, and for the index of a journal with
// another id.
func decode(data, id string) (x Index, ok bool) {
	const length = 4 // of the checksum
	if !strings.HasPrefix(data, head) || len(data) < len(head)+length {
		return Index{}, false
	}
	body := data[:len(data)-length]
	if checksum(body) != binary.LittleEndian.Uint32([]byte(data[len(body):])) {
		return Index{}, false
	}
	r := &reader{rest: body[len(head):]}
	if r.text() != id {
		return Index{}, false
	}
	x.Step = r.number()
	entries := make([]Entry, r.count(least))
	x.Entries = make([]*Entry, len(entries))
	for i := range entries {
		e := &entries[i]
		x.Entries[i] = e
		for _, n := range []*int64{&e.LastSeq, &e.LastTime, &e.Events, &e.Lost, &e.Until, &e.Start, &e.End, &e.Errors, &e.Turns, &e.Prompt, &e.Completion, &e.Total} {
			*n = r.number()
		}
		e.Status, e.Words = r.text(), Words(r.text())
		if n := r.count(1); n > 0 {
			e.Requests = make([]Request, n)
		}
		for k := range e.Requests {
			e.Requests[k] = Request{Status: r.text(), At: time.Unix(r.number(), r.number()).UTC(), WaitedMS: r.number(), Waits: r.number() != 0}
		}
		e.Verdicts, e.Gaps = r.list(), r.list()
	}
	return x, !r.failed && r.rest == ""
}

// checksum is [crc32.ChecksumIEEE] of a text, which it does not copy as a whole.
func checksum(text string) (sum uint32) {
	var some [4096]byte
	for len(text) > 0 {
		n := copy(some[:], text)
		sum, text = crc32.Update(sum, crc32.IEEETable, some[:n]), text[n:]
	}
	return sum
}

type writer []byte

func (w *writer) numbers(numbers ...int64) {
	for _, n := range numbers {
		*w = binary.AppendVarint(*w, n)
	}
}

func (w *writer) texts(texts ...string) {
	for _, t := range texts {
		*w = append(binary.AppendVarint(*w, int64(len(t))), t...)
	}
}

// reader takes fields off rest until it fails.
type reader struct {
	rest   string
	failed bool
}

// number undoes [binary.AppendVarint], which puts the sign into the lowest bit.
func (r *reader) number() int64 {
	u := uint64(0)
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		b := r.rest[i]
		u |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	r.failed, r.rest = true, ""
	return 0
}

// count reads a number of things with at least so many bytes each.
func (r *reader) count(bytes int) int {
	n := r.number()
	if n < 0 || n > int64(len(r.rest)/bytes) {
		r.failed, r.rest = true, ""
		return 0
	}
	return int(n)
}

func (r *reader) text() (t string) {
	n := r.count(1)
	t, r.rest = r.rest[:n], r.rest[n:]
	return t
}

func (r *reader) list() (list []string) {
	if n := r.count(1); n > 0 {
		list = make([]string, n)
	}
	for i := range list {
		list[i] = r.text()
	}
	return list
}
