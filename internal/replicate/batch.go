// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"fmt"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// buffer holds the messages of a batch, and of the batches it was split into.
type buffer struct {
	data []byte
	ends []int // of the messages in data
	msgs [][]byte
	seqs []int64
	// users counts the batches with messages in it.
	users int
	// exposed is true when a stream may still read it: one that refused what is in it, or
	// that was dropped before it answered.
	exposed bool
}

// minBuffer is the size of a buffer for a few rows.
const minBuffer = 16 << 10

// room makes data have room for n more bytes. It grows up to limit as if by append, and
// beyond it to what is needed exactly.
func (b *buffer) room(n, limit int) {
	need := len(b.data) + n
	if need <= cap(b.data) {
		return
	}
	grown := make([]byte, len(b.data), max(need, min(max(2*cap(b.data), minBuffer), limit)))
	copy(grown, b.data)
	b.data = grown
}

// batch is a run of rows that are sent in one request. Rows leave it when they are
// acknowledged or refused; it is finished when none is left that is not settled.
type batch struct {
	buf *buffer // nil when no message is left
	// msgs and seqs are the rows that are not settled.
	msgs [][]byte
	seqs []int64
	// dead are the rows that are dead letters.
	dead []store.DeadLetter
	// through is the last row that the batch accounts for.
	through int64
	first   int64
	since   time.Time // when the first row was read
	sent    bool      // it is in flight
	sentAt  time.Time
	tries   int
}

// finished reports whether every row is acknowledged or dead.
func (b *batch) finished() bool { return len(b.msgs) == 0 }

// waiting reports whether the batch has rows to send.
func (b *batch) waiting() bool { return len(b.msgs) > 0 && !b.sent }

// bytes returns the size of the rows that are not settled.
func (b *batch) bytes() (n int) {
	for _, m := range b.msgs {
		n += len(m)
	}
	return n
}

// take removes the rows that have words and returns the letters that say them. The slices that a
// stream was given stay as they are.
func (b *batch) take(words map[int]RowError, at time.Time) []store.DeadLetter {
	var letters []store.DeadLetter
	msgs, seqs := make([][]byte, 0, len(b.msgs)-len(words)), make([]int64, 0, len(b.seqs)-len(words))
	for i, m := range b.msgs {
		if row, ok := words[i]; ok {
			letters = append(letters, row.Letter(b.seqs[i], len(m), at))
			continue
		}
		msgs, seqs = append(msgs, m), append(seqs, b.seqs[i])
	}
	b.msgs, b.seqs = msgs, seqs
	return letters
}

// split makes b the first n of its rows and returns the others.
func (b *batch) split(n int) *batch {
	rest := &batch{
		buf: b.buf, msgs: b.msgs[n:], seqs: b.seqs[n:], through: b.through, first: b.seqs[n],
		since: b.since, tries: b.tries,
	}
	rest.buf.users++
	b.msgs, b.seqs, b.through = b.msgs[:n:n], b.seqs[:n:n], rest.first-1
	b.dead, rest.dead = cut(b.dead, b.through)
	return rest
}

// cut returns the letters for rows up to through and those for rows after it.
func cut(letters []store.DeadLetter, through int64) (before, after []store.DeadLetter) {
	for _, l := range letters {
		if l.Seq <= through {
			before = append(before, l)
		} else {
			after = append(after, l)
		}
	}
	return before, after
}

// maxChunkRows bounds one read from the source, beside the bytes of a batch.
const maxChunkRows = 2048

// outgoing is what was read from the source and is not settled: rows in no batch yet, the
// batch that is being filled, and those that are sent. It knows how many bytes it holds.
type outgoing struct {
	batchBytes int
	tooLarge   string // see [Config]
	maxHeld    int    // no batch is begun with more

	read  int64 // the last row read
	chunk []record.Event
	open  *batch // being filled; not in queue
	queue []*batch
	held  int // bytes of messages in buffers that are in use
	// partsLost counts rows that were encoded without their content parts, each once:
	// encoded is the last row that was counted.
	partsLost uint64
	encoded   int64
	free      []*buffer
}

// add encodes the first row of the chunk into the open batch. It returns false when there
// is no memory for another batch.
func (o *outgoing) add(now time.Time) bool {
	e := &o.chunk[0]
	row, size, err := message(e)
	oversize := size > MaxRowBytes
	if o.open != nil && !oversize && len(o.open.buf.ends) > 0 && len(o.open.buf.data)+size > o.batchBytes {
		o.seal()
	}
	if o.open == nil {
		if o.held >= o.maxHeld {
			return false
		}
		o.open = &batch{buf: o.buffer(), first: e.Seq, since: now}
	}
	b := o.open
	b.through = e.Seq
	switch {
	case oversize:
		b.dead = append(b.dead, TooLarge(size, o.tooLarge).Letter(e.Seq, size, now))
	case err == nil:
		err = o.encode(b.buf, row, size)
	}
	if err != nil {
		b.dead = append(b.dead, RowError{Message: err.Error()}.Letter(e.Seq, size, now))
	}
	*e = record.Event{}
	o.chunk = o.chunk[1:]
	if len(b.buf.data) >= o.batchBytes {
		o.seal()
	}
	return true
}

// TooLarge says of a row why it was not sent, with what would have helped.
func TooLarge(size int, advice string) RowError {
	words := fmt.Sprintf("the row has %d bytes and was not sent: a request may hold at most %d", size, MaxRequestBytes)
	if advice != "" {
		words += "; " + advice
	}
	return RowError{Code: ClassTooLarge.String(), Message: words}
}

// Encode returns the message of e. What the encoder panics at must not end the rows beside it.
func Encode(e *record.Event) (b []byte, err error) {
	defer unencodable(&err)
	row := wire.RowOf(e)
	return row.Append(make([]byte, 0, row.Size())), nil
}

// message returns the message of e and its size. A row that the encoder panics at must
// not end the program, nor hold up the rows behind it.
func message(e *record.Event) (row wire.Row, size int, err error) {
	defer unencodable(&err)
	row = wire.RowOf(e)
	return row, row.Size(), nil
}

// unencodable makes an error of a panic of the encoder.
func unencodable(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the row cannot be encoded and was not sent: %v", p)
	}
}

// encode appends the message of e to buf.
func (o *outgoing) encode(buf *buffer, e wire.Row, size int) (err error) {
	before := len(buf.data)
	defer func() {
		if err != nil {
			buf.data = buf.data[:before]
		}
		o.held += len(buf.data) - before
	}()
	defer unencodable(&err)
	buf.room(size, o.batchBytes)
	buf.data = e.Append(buf.data)
	if e.Seq > o.encoded {
		o.encoded = e.Seq
		if e.PartsLost {
			o.partsLost++
		}
	}
	buf.ends = append(buf.ends, len(buf.data))
	buf.seqs = append(buf.seqs, e.Seq)
	return nil
}

// seal puts the open batch in the queue.
func (o *outgoing) seal() {
	b := o.open
	o.open = nil
	begin := 0
	for _, end := range b.buf.ends {
		b.buf.msgs = append(b.buf.msgs, b.buf.data[begin:end:end])
		begin = end
	}
	b.msgs, b.seqs = b.buf.msgs, b.buf.seqs
	o.queue = append(o.queue, b)
}

// buffer returns an empty buffer with one user.
func (o *outgoing) buffer() *buffer {
	if n := len(o.free); n > 0 {
		b := o.free[n-1]
		o.free = o.free[:n-1]
		b.users = 1
		return b
	}
	return &buffer{users: 1}
}

// release gives back the buffer of a batch that has no messages any more.
func (o *outgoing) release(b *batch) {
	buf := b.buf
	if buf == nil {
		return
	}
	b.buf, b.msgs, b.seqs = nil, nil, nil
	if buf.users--; buf.users > 0 {
		return
	}
	o.held -= len(buf.data)
	if buf.exposed || cap(buf.data) > o.batchBytes || len(o.free)*o.batchBytes > o.maxHeld {
		return
	}
	clear(buf.msgs)
	buf.data, buf.ends, buf.msgs, buf.seqs = buf.data[:0], buf.ends[:0], buf.msgs[:0], buf.seqs[:0]
	o.free = append(o.free, buf)
}

// next returns the first batch that waits, nil when none does.
func (o *outgoing) next() *batch {
	if i := slices.IndexFunc(o.queue, (*batch).waiting); i >= 0 {
		return o.queue[i]
	}
	return nil
}

// split splits b where it stands, behind its first n rows, and returns the rest.
func (o *outgoing) split(b *batch, n int) *batch {
	rest := b.split(n)
	o.queue = slices.Insert(o.queue, slices.Index(o.queue, b)+1, rest)
	return rest
}

// apart makes a batch of each row of b.
func (o *outgoing) apart(b *batch) {
	for len(b.msgs) > 1 {
		b = o.split(b, 1)
	}
}

// settle removes finished batches from the front of the queue and returns the last row
// that they account for, or acked when there are none, and their dead letters.
func (o *outgoing) settle(acked int64) (int64, []store.DeadLetter) {
	var dead []store.DeadLetter
	n := 0
	for _, b := range o.queue {
		if !b.finished() {
			break
		}
		acked, dead = b.through, append(dead, b.dead...)
		o.release(b)
		n++
	}
	o.queue = slices.Delete(o.queue, 0, n)
	return acked, dead
}

// discard forgets everything after row acked, which will be read again.
func (o *outgoing) discard(acked int64) {
	for _, b := range o.queue {
		o.release(b)
	}
	if o.open != nil {
		o.release(o.open)
	}
	o.queue, o.open, o.chunk, o.read = nil, nil, nil, acked
}
