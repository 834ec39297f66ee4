// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// sourceTime bounds one call of the source.
const sourceTime = 10 * time.Second

// owner is the state of the goroutine that owns the stream, the lease and the cursor.
// Nothing in it is shared.
type owner struct {
	r    *Replicator
	out  outgoing
	link *link // nil when no stream is open

	// The lease.
	active     bool
	standby    bool // another one has it
	leaseUntil time.Time
	leaseAt    time.Time // when to ask for it or to renew it

	// The cursor.
	stored        int64 // the cursor in the source
	acked         int64 // every row up to here is settled
	dead          []store.DeadLetter
	advanceAt     time.Time
	advanceFailed bool

	// Reading.
	more   bool      // there may be rows that were not read
	readAt time.Time // nothing is read before, after an error
	pollAt time.Time

	// Failures.
	backoff   backoff
	retryAt   time.Time // nothing is sent before
	upgrade   bool      // the table is upgraded before the next stream is opened
	doubt     doubt
	stopped   error
	targetErr error
	readErr   error // of the source
	writeErr  error // of the source: the lease and the cursor

	// People who wait.
	flushes      []*flush  // those of the latest rows last
	flushAt      time.Time // when to look at the cursor of another process
	closing      bool
	closeThrough int64
}

func newOwner(r *Replicator) *owner {
	return &owner{
		r:    r,
		out:  outgoing{batchBytes: r.cfg.BatchBytes, tooLarge: r.cfg.TooLarge, maxHeld: r.cfg.InFlight * r.cfg.BatchBytes},
		more: true,
	}
}

// run is the goroutine. It does what can be done, then waits until something happens.
func (o *owner) run() {
	defer close(o.r.done)
	changed := make(chan struct{}, 1)
	stop := o.r.cfg.Source.Changed(changed)
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for end := false; !end; {
		o.guard(func() {
			if end = o.step(time.Now()); !end {
				timer.Reset(time.Until(o.wake(time.Now())))
				o.wait(changed, timer.C)
			}
		})
	}
	o.r.closeErr = errors.New("replicate: close: what is left is not known")
	o.guard(o.end)
}

// wait returns when something has happened, and notes it.
func (o *owner) wait(changed <-chan struct{}, due <-chan time.Time) {
	var answers <-chan answer
	if o.link != nil {
		answers = o.link.answers
	}
	closing := o.r.closing
	if o.closing {
		closing = nil
	}
	select {
	case <-changed:
		o.more = true
	case a := <-answers:
		o.answered(time.Now(), a)
	case <-o.r.asked:
		o.gather()
	case <-closing:
		o.beginClose()
	case <-o.r.returned:
	case <-due:
	case <-o.r.ctx.Done():
	}
}

// guard keeps a panic, of the source or of this package, from ending the program. What is
// not stored as settled is forgotten and read again, after a pause.
func (o *owner) guard(f func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		o.r.log.Error("contextgraph: warehouse: panic in the replicator", "panic", p, "stack", string(debug.Stack()))
		fresh := newOwner(o.r)
		fresh.active, fresh.standby, fresh.leaseUntil, fresh.leaseAt = o.active, o.standby, o.leaseUntil, o.leaseAt
		fresh.stored, fresh.acked, fresh.out.read = o.stored, o.stored, o.stored
		fresh.out.partsLost, fresh.out.encoded = o.out.partsLost, o.out.encoded
		fresh.flushes, fresh.closing, fresh.closeThrough = o.flushes, o.closing, o.closeThrough
		fresh.backoff, fresh.stopped, fresh.upgrade = o.backoff, o.stopped, o.upgrade
		fresh.targetErr = fmt.Errorf("panic: %v", p)
		fresh.retryAt = time.Now().Add(o.r.cfg.Poll)
		l := o.link
		*o = *fresh
		if l != nil {
			l.inflight = nil // of batches that nobody knows any more
			l.drop()
		}
		pause := time.NewTimer(o.r.cfg.Poll)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-o.r.ctx.Done():
		}
	}()
	f()
}

// step does what can be done without waiting for the target. It returns true when the
// goroutine is to end.
func (o *owner) step(now time.Time) (end bool) {
	if o.r.ctx.Err() != nil {
		return true
	}
	o.lease(now)
	if o.active {
		o.watch(now)
		if !now.Before(o.retryAt) {
			o.fill(now)
			o.send(now)
		}
		o.settle()
		o.advance(now)
	}
	o.publish(now)
	o.answerFlushes(now)
	return o.closing && (!o.active || o.stopped != nil || o.reached(o.closeThrough) || o.sourceClosed())
}

// wake returns when the next step is due if nothing happens before.
func (o *owner) wake(now time.Time) time.Time {
	at := o.leaseAt
	sooner := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	if !o.active {
		if len(o.flushes) > 0 {
			sooner(o.flushAt)
		}
		return at
	}
	if now.Before(o.retryAt) {
		sooner(o.retryAt)
	} else {
		if len(o.out.chunk) == 0 {
			sooner(o.nextRead())
		}
		if o.out.open != nil && o.roomToSend(now) {
			sooner(o.out.open.since.Add(o.r.cfg.BatchAge))
		}
	}
	if o.link != nil {
		if t, ok := o.link.deadline(o.r.cfg.AckTimeout); ok {
			sooner(t)
		}
	}
	if o.acked > o.stored {
		sooner(o.advanceAt)
	}
	return at
}

// nextRead returns when rows are to be read.
func (o *owner) nextRead() time.Time {
	if o.more {
		return o.readAt
	}
	return o.pollAt
}

// fill reads and encodes rows as far as memory allows.
func (o *owner) fill(now time.Time) {
	lost := o.out.partsLost
	for len(o.out.chunk) > 0 || o.read(now) {
		if !o.out.add(now) {
			break
		}
	}
	if o.out.partsLost > lost {
		o.r.log.Warn("contextgraph: warehouse: rows were sent without their content_parts, which are not as the schema says", "rows", o.out.partsLost)
	}
}

// read reads more rows, and reports whether there are any.
func (o *owner) read(now time.Time) bool {
	if now.Before(o.nextRead()) {
		return false
	}
	ctx, cancel := context.WithTimeout(o.r.ctx, sourceTime)
	defer cancel()
	rows, err := o.r.cfg.Source.Rows(ctx, o.out.read, maxChunkRows, int64(o.r.cfg.BatchBytes))
	o.pollAt = now.Add(o.r.cfg.Poll)
	if err == nil {
		err = ascending(o.out.read, rows)
	}
	if err != nil {
		o.more, o.readAt = true, o.pollAt
		o.readErr = err
		o.r.log.Warn("contextgraph: warehouse: rows cannot be read from the journal", "error", err)
		return false
	}
	o.readErr = nil
	if o.more = len(rows) > 0; !o.more {
		return false
	}
	o.out.chunk, o.out.read = rows, rows[len(rows)-1].Seq
	return true
}

// ascending returns an error unless the numbers of rows ascend from after on. Without
// that the same rows would be read for ever, and the cursor pass others.
func ascending(after int64, rows []record.Event) error {
	for i := range rows {
		if rows[i].Seq <= after {
			return fmt.Errorf("the source returned row %d after row %d: rows have to ascend", rows[i].Seq, after)
		}
		after = rows[i].Seq
	}
	return nil
}

// sourceClosed reports whether nothing can be read or stored any more.
func (o *owner) sourceClosed() bool {
	return errors.Is(o.readErr, store.ErrClosed) || errors.Is(o.writeErr, store.ErrClosed)
}

// roomToSend reports whether one more request could be sent.
func (o *owner) roomToSend(now time.Time) bool {
	switch {
	case now.Before(o.retryAt):
		return false
	case o.link == nil:
		return o.r.openStreams() < maxStreams
	}
	return o.link.failed == nil && len(o.link.inflight) < o.r.cfg.InFlight
}

// send sends what is ready, in the order of the rows.
func (o *owner) send(now time.Time) {
	for o.roomToSend(now) {
		b := o.out.next()
		if b == nil {
			if !o.ripe(now) {
				return
			}
			o.out.seal()
			continue
		}
		if o.link == nil {
			o.connect(now)
		}
		b.sent, b.sentAt = true, now
		if b.tries++; b.tries > 1 {
			o.r.change(func(s *Status) { s.Retries++ })
		}
		o.link.inflight = append(o.link.inflight, b)
		o.link.work <- request{b, b.msgs}
	}
	if o.link == nil && !now.Before(o.retryAt) && o.out.next() != nil && o.r.openStreams() >= maxStreams {
		o.targetFailed(fmt.Errorf("%d streams were dropped and have not returned; no other is opened until one does", maxStreams))
	}
}

// ripe reports whether the open batch need not wait for more rows.
func (o *owner) ripe(now time.Time) bool {
	b := o.out.open
	if b == nil {
		return false
	}
	return o.closing || !now.Before(b.since.Add(o.r.cfg.BatchAge)) ||
		len(o.flushes) > 0 && o.flushes[len(o.flushes)-1].through >= b.first
}

// connect opens a stream.
func (o *owner) connect(now time.Time) {
	o.r.streamOpened()
	o.link = newLink(o.r.cfg.Target, o.upgrade, o.r.cfg.InFlight, now, o.r.log, o.r.streamEnded)
	o.upgrade = false
}

// disconnect drops the stream.
func (o *owner) disconnect() {
	if o.link != nil {
		o.link.drop()
		o.link = nil
	}
}

// watch drops a stream that has been silent for too long.
func (o *owner) watch(now time.Time) {
	l := o.link
	if l == nil {
		return
	}
	at, ok := l.deadline(o.r.cfg.AckTimeout)
	// An answer that came while the source kept this goroutine is an answer.
	if !ok || now.Before(at) || len(l.answers) > 0 {
		return
	}
	silent := error(&Error{Class: ClassAmbiguous, Err: fmt.Errorf("the stream has answered nothing for %v", o.r.cfg.AckTimeout)})
	o.disconnect()
	o.failed(now, cmp.Or(l.failed, silent))
}

// publish makes what goes wrong visible in Status.
func (o *owner) publish(now time.Time) {
	err := o.trouble()
	o.r.change(func(s *Status) {
		s.Active, s.Standby, s.Stopped = o.active, o.standby, o.stopped != nil
		s.LastError, s.HeldBytes, s.PartsLost = err, o.out.held, o.out.partsLost
		switch {
		case err == nil:
			s.FailingSince = time.Time{}
		case s.FailingSince.IsZero():
			s.FailingSince = now
		}
	})
}

// trouble returns what goes wrong now, the worst first; nil when nothing does.
func (o *owner) trouble() error {
	return cmp.Or(o.stopped, o.writeErr, o.readErr, o.targetErr)
}

// writeFailed notes that the lease or the cursor cannot be stored.
func (o *owner) writeFailed(err error) {
	o.writeErr = err
	o.r.log.Warn("contextgraph: warehouse: the cursor of the stream cannot be stored in the journal", "error", err)
}

// targetFailed notes that rows are not acknowledged.
func (o *owner) targetFailed(err error) {
	o.targetErr = err
	o.r.log.Warn("contextgraph: warehouse: rows are not acknowledged; they are sent again", "error", err)
}
