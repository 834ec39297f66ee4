// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// answered does what follows from an answer of the stream.
func (o *owner) answered(now time.Time, a answer) {
	l := o.link
	if a.batch == nil {
		o.disconnect()
		o.failed(now, a.err)
		return
	}
	b := a.batch
	l.inflight = slices.Delete(l.inflight, 0, 1)
	l.lastAnswer = now
	b.sent = false
	b.buf.exposed = b.buf.exposed || a.refused
	switch c := ClassOf(a.err); {
	case a.err == nil:
		o.acknowledged(b)
	case c == ClassRows:
		o.refused(now, b, a.err)
	default:
		if c == ClassTooLarge {
			o.tooLarge(now, b, a.err)
		}
		if l.failed == nil {
			l.failed, l.failedAt = a.err, now
		}
	}
	if o.link == l && l.failed != nil && len(l.inflight) == 0 {
		o.disconnect()
		// What was too large is split: the next attempt is another one.
		if ClassOf(l.failed) != ClassTooLarge {
			o.failed(now, l.failed)
		}
	}
}

// acknowledged settles the rows of b. The table takes rows, so every failure is over.
func (o *owner) acknowledged(b *batch) {
	rows, bytes := uint64(len(b.msgs)), uint64(b.bytes())
	o.r.change(func(s *Status) {
		s.Acknowledged += rows
		s.Bytes += bytes
	})
	o.out.release(b)
	if o.stopped != nil {
		o.r.log.Info("contextgraph: warehouse: streaming goes on")
	}
	o.backoff, o.stopped, o.targetErr = backoff{}, nil, nil
	o.doubt = doubt{}
}

// failed makes the next attempt wait after an error for which a stream was given up.
func (o *owner) failed(now time.Time, err error) {
	c := ClassOf(err)
	o.upgrade = c == ClassSchema
	switch {
	case c == ClassPermanent:
		o.stop(now, err)
	case (c == ClassNotFound || c == ClassSchema) && o.backoff.impatient(now):
		o.stop(now, fmt.Errorf("%w (for %v)", err, patience))
	default:
		o.targetFailed(err)
		o.retryAt = now.Add(o.backoff.failed(c))
	}
}

// stop makes the next attempt wait for somebody to remove the reason. What was read is
// forgotten until then.
func (o *owner) stop(now time.Time, err error) {
	o.stopped = fmt.Errorf("%w, and is tried again every %v: %w", ErrStopped, o.r.cfg.Recheck, err)
	o.r.log.Error("contextgraph: warehouse: streaming has stopped", "error", err)
	o.restart()
	pause := o.r.cfg.Recheck
	o.retryAt = now.Add(pause + rand.N(pause/10+1))
}

// tooLarge halves a request that the server takes for too large.
func (o *owner) tooLarge(now time.Time, b *batch, err error) {
	if len(b.msgs) > 1 {
		o.out.split(b, len(b.msgs)/2)
		return
	}
	b.dead = append(b.dead, b.take(Named(err, 1), now)...)
	o.out.release(b)
}

const (
	// maxRefusals bounds how many requests in succession may be refused for their rows.
	maxRefusals = 64
	// firstAlone and maxAlone bound how many rows may be refused, until one is taken, in requests without any
	// other row: that many become dead letters if the table is at fault. The bound doubles each time that streaming
	// stops for it.
	firstAlone, maxAlone = 8, 128
)

// doubt finds out whether rows are at fault or the table. The package comment has the rules. Its zero value is that after
// a row was taken.
type doubt struct {
	refusals int // requests refused for their rows
	alone    int // rows refused in requests without any other row
	stops    int
}

// refused buries the rows that the server names, and sends those of a request in which it names none one by one.
func (o *owner) refused(now time.Time, b *batch, err error) {
	words := Named(err, len(b.msgs))
	d := &o.doubt
	d.refusals++
	if len(words) == len(b.msgs) {
		d.alone += len(words)
	}
	if d.refusals > maxRefusals || d.alone > min(firstAlone<<d.stops, maxAlone) {
		n := d.refusals
		d.refusals = 0
		d.stops++
		o.stop(now, blame(fmt.Errorf("the table refused %d requests in succession for what their rows hold and took none", n), err))
		return
	}
	if len(words) == 0 {
		o.out.apart(b)
		return
	}
	b.dead = append(b.dead, b.take(words, now)...)
	if len(b.msgs) == 0 {
		o.out.release(b)
	}
}

// blame makes a permanent error of refusals that are more than bad rows.
func blame(what, last error) error {
	return &Error{
		Class:  ClassPermanent,
		Remedy: `compare the columns of the table with those that "contextgraph init --dry-run" prints`,
		Err:    fmt.Errorf("%w; the last words of the server: %w", what, last),
	}
}
