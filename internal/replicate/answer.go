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

// acknowledged settles the rows of b. The table takes rows, so every failure is over,
// and the suspects are at fault.
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
	o.out.giveUpSuspects()
	o.suspicion.passed()
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
		o.out.splitInQueue(b)
		return
	}
	b.dead = append(b.dead, b.take(Named(err, 1), now)...)
	o.out.release(b)
}

const (
	// minRefused and maxRefused bound how many requests in succession are refused for their
	// rows until the table is at fault: one search finds a bad row in a large batch with
	// about two requests for each halving.
	minRefused, maxRefused = 64, 1024
	// maxSuspects bounds how many rows are under suspicion at a time.
	maxSuspects = 1 << 14
	// maxTrust is how many suspects become dead letters on the word of an acknowledgement that
	// came before their refusal.
	maxTrust = 8
)

// suspicion finds out whether rows are at fault or the table. The package comment has the
// rules.
type suspicion struct {
	limit     int   // how many fruitless requests there may be
	acks      int   // requests that were acknowledged
	fruitless int   // requests refused for their rows since the last one
	suspects  int   // rows under suspicion
	trust     int   // how many suspects may become dead letters without another row
	last      error // the last refusal
}

// passed notes that the table took a row.
func (t *suspicion) passed() { *t = suspicion{limit: minRefused, trust: maxTrust, acks: t.acks + 1} }

// forget notes that the suspects are not known any more.
func (t *suspicion) forget() { t.fruitless, t.suspects = 0, 0 }

// refused searches for the rows that are at fault.
func (o *owner) refused(now time.Time, b *batch, err error) {
	t := &o.suspicion
	t.last = err
	if b.doubted == 0 {
		b.doubted = t.acks + 1
	}
	// The table took other rows since it refused these for the first time.
	proven := t.acks >= b.doubted
	if !proven {
		t.fruitless++
	}
	if words := Named(err, len(b.msgs)); len(words) == 0 {
		o.out.splitInQueue(b)
	} else {
		letters := b.take(words, now)
		if proven {
			b.dead = append(b.dead, letters...)
		} else {
			b.refused = append(b.refused, letters...)
			t.suspects += len(letters)
		}
		if len(b.msgs) == 0 {
			o.out.release(b)
		}
	}
	if t.fruitless > t.limit || t.suspects > maxSuspects {
		n := t.fruitless
		t.limit = min(2*t.limit, maxRefused)
		o.stop(now, blame(fmt.Errorf("the table refused %d requests in succession for what their rows hold and took none", n), err))
	}
}

// settleSuspects settles the suspects when there is no other row that could.
func (o *owner) settleSuspects(now time.Time) {
	n := o.suspicion.suspects
	if n == 0 || o.more || !o.out.idle() {
		return
	}
	if n <= o.suspicion.trust {
		o.suspicion.trust -= n
		o.suspicion.suspects = 0
		o.out.giveUpSuspects()
		return
	}
	o.stop(now, blame(fmt.Errorf("the table refused all of the %d rows there are, and has taken too few others to say that they are at fault; the next row decides", n), o.suspicion.last))
}

// blame makes a permanent error of refusals that are more than bad rows.
func blame(what, last error) error {
	return &Error{
		Class:  ClassPermanent,
		Remedy: `compare the columns of the table with those that "contextgraph init --dry-run" prints`,
		Err:    fmt.Errorf("%w; the last words of the server: %w", what, last),
	}
}
