// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// advanceEvery is how often the cursor is stored while rows keep coming. After a crash
// the rows of about that time are sent again.
const advanceEvery = 500 * time.Millisecond

// lease asks for the lease, or renews it, when that is due.
func (o *owner) lease(now time.Time) {
	if o.active && !now.Before(o.leaseUntil) && now.Before(o.leaseAt) {
		o.lose(now, errors.New("it expired and could not be renewed"))
	}
	if now.Before(o.leaseAt) {
		return
	}
	ttl := o.r.cfg.LeaseTTL
	ctx, cancel := context.WithTimeout(o.r.ctx, min(sourceTime, ttl/3))
	defer cancel()
	at, err := o.r.cfg.Source.Acquire(ctx, o.r.owner, ttl)
	o.leaseAt = now.Add(ttl / 3)
	switch {
	case errors.Is(err, store.ErrLeased):
		o.writeErr, o.standby = nil, true
		if o.active {
			o.lose(now, err)
		}
	case err != nil:
		o.leaseAt = now.Add(min(ttl/6, o.r.cfg.Poll))
		o.writeFailed(err)
		if o.active && !now.Before(o.leaseUntil) {
			o.lose(now, err)
		}
	default:
		o.leaseUntil = now.Add(ttl)
		if !o.advanceFailed {
			o.writeErr = nil
		}
		o.have(at)
	}
}

// have begins to send after a position, or goes on when it is the one of this owner.
func (o *owner) have(at int64) {
	if o.active && o.stored <= at && at <= o.acked {
		// An Advance that seemed to fail may have been late: it is stored now.
		if at == o.acked {
			o.dead = nil
		}
		if at > o.stored {
			o.stored = at
		}
		return
	}
	if o.active {
		o.r.log.Warn("contextgraph: warehouse: the cursor was moved by another process; streaming begins there", "seq", at)
	} else {
		o.r.log.Info("contextgraph: warehouse: streaming begins", "after", at)
	}
	o.restart()
	o.active, o.standby, o.stored, o.acked, o.dead = true, false, at, at, nil
	o.out.discard(at)
}

// lose makes the replicator stand by.
func (o *owner) lose(now time.Time, why error) {
	o.r.log.Warn("contextgraph: warehouse: the lease of the stream is lost; standing by", "error", why)
	o.restart()
	o.active, o.dead, o.stopped, o.targetErr = false, nil, nil, nil
	o.flushAt = now
}

// restart drops the stream and forgets what was read and is not settled; it is read
// again after the last settled row.
func (o *owner) restart() {
	o.disconnect()
	o.out.discard(o.acked)
	o.more, o.readAt, o.advanceFailed = true, time.Time{}, false
}

// settle moves the cursor over the rows at the front that are settled.
func (o *owner) settle() {
	acked, dead := o.out.settle(o.acked)
	o.acked, o.dead = acked, append(o.dead, dead...)
	for _, l := range dead {
		o.r.log.Warn("contextgraph: warehouse: a row was refused and is a dead letter now", "seq", l.Seq, "bytes", l.Bytes, "code", l.Code, "reason", l.Reason)
	}
}

// advance stores the cursor when that is due: at once when nothing is under way or
// somebody waits for it, else not too often.
func (o *owner) advance(now time.Time) {
	if o.acked <= o.stored {
		return
	}
	waiting := len(o.out.queue) == 0 || o.closing ||
		slices.ContainsFunc(o.flushes, func(f *flush) bool { return f.through <= o.acked })
	if now.Before(o.advanceAt) && (o.advanceFailed || !waiting) {
		return
	}
	ctx, cancel := context.WithTimeout(o.r.ctx, sourceTime)
	defer cancel()
	err := o.store(ctx)
	o.advanceAt, o.advanceFailed = now.Add(advanceEvery), err != nil
	switch {
	case errors.Is(err, store.ErrLeaseLost):
		o.lose(now, err)
	case err != nil:
		o.writeFailed(err)
	default:
		o.writeErr = nil
	}
}

// store stores the cursor and the dead letters before it.
func (o *owner) store(ctx context.Context) error {
	if err := o.r.cfg.Source.Advance(ctx, o.r.owner, o.acked, o.dead); err != nil {
		return err
	}
	o.stored, o.dead = o.acked, nil
	return nil
}

// reached reports whether every row up to seq is settled, and that is stored. Rows that
// somebody removed meanwhile are.
func (o *owner) reached(seq int64) bool {
	return o.stored >= seq || o.drained()
}

// drained reports whether the end of the source was reached and every row up to it is
// settled, and that is stored.
func (o *owner) drained() bool {
	return !o.more && o.acked == o.stored && len(o.out.queue) == 0 && o.out.open == nil && len(o.out.chunk) == 0
}

// beginClose makes the goroutine end when every row that is committed now is settled.
func (o *owner) beginClose() {
	o.closing, o.more = true, true
	o.closeThrough = o.last(o.r.ctx)
}

// last returns the last committed row. When that is not to be found out it is beyond all:
// then only the end of the source tells that nothing is left.
func (o *owner) last(ctx context.Context) int64 {
	last, err := asked(ctx, o.r.cfg.Source.LastSeq)
	if err != nil {
		o.readErr = err
		return math.MaxInt64
	}
	return last
}

// endTime bounds how long the end may take: Close does not wait much longer.
const endTime = closeGrace * 9 / 10

// end stores what is settled and ends the lease. It does not wait for streams that hang.
func (o *owner) end() {
	deadline := time.Now().Add(endTime)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(o.r.ctx), deadline)
	defer cancel()
	o.disconnect()
	o.settle()
	if !o.closing {
		// There was no time to send what is left.
		o.more, o.closeThrough = true, o.last(ctx)
	}
	if o.active {
		if o.acked > o.stored {
			o.writeErr = o.store(ctx)
		}
		// A lease that is not released expires.
		_ = o.r.cfg.Source.Release(ctx, o.r.owner)
	}
	l, err := o.r.cfg.Source.Backlog(ctx)
	if err == nil {
		o.r.mu.Lock()
		o.r.backlog, o.r.final = l, true
		o.r.mu.Unlock()
	}
	o.r.closeErr = o.left(err == nil && l.Rows == 0)
	o.active = false
	o.publish(time.Now())
	for _, f := range o.flushes {
		f.answer(ErrClosed)
	}
	for o.r.openStreams() > 0 {
		select {
		case <-o.r.returned:
		case <-ctx.Done():
			return
		}
	}
}

// left says that rows are left, and why; nil when none are, or another process has them.
// none is whether the source says so.
func (o *owner) left(none bool) error {
	err := o.trouble()
	switch {
	case !o.active && err == nil && (o.standby || none), o.active && o.writeErr == nil && o.reached(o.closeThrough):
		return nil
	case err == nil:
		err = errors.New("there was no time to send them")
	}
	return fmt.Errorf("replicate: close: rows after %d are not acknowledged and stay in the journal: %w", o.stored, err)
}
