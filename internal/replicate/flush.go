// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// flush is what everybody waits for who called Flush between two looks of the owner:
// thousands of runs that end at a time cost it one.
type flush struct {
	through int64 // the owner's
	callers int   // that wait; guarded by Replicator.mu
	done    chan struct{}
	err     error // read when done is closed
}

func (f *flush) answer(err error) {
	f.err = err
	close(f.done)
}

// Flush returns nil when every row that was committed in the source before the call is
// acknowledged or a dead letter. It makes them go without waiting for others. In standby
// it waits until the process that sends has come so far; called before Start it waits for
// Start too. It returns early with the reason when streaming has stopped ([ErrStopped]), the Replicator
// is closed ([ErrClosed]) or ctx ends. Any number may wait at a time: the source is asked
// once for all of them.
func (r *Replicator) Flush(ctx context.Context) error {
	if ctx.Err() != nil {
		return r.unfinished(ctx)
	}
	f := r.join()
	defer r.quit(f)
	why := func() error { return fmt.Errorf("replicate: flush: %w", ErrClosed) }
	select {
	case <-f.done:
	case <-r.done:
	case <-ctx.Done():
		why = func() error { return r.unfinished(ctx) }
	}
	select {
	case <-f.done:
	default:
		return why()
	}
	if f.err != nil {
		return fmt.Errorf("replicate: flush: %w", f.err)
	}
	return nil
}

// join adds a caller to those whom the owner has not looked at yet.
func (r *Replicator) join() *flush {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gathering == nil {
		r.gathering = &flush{done: make(chan struct{})}
		select {
		case r.asked <- struct{}{}:
		default:
		}
	}
	r.gathering.callers++
	return r.gathering
}

// quit removes a caller.
func (r *Replicator) quit(f *flush) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.callers--
}

// unfinished says why a Flush whose context ended did not get its rows acknowledged.
func (r *Replicator) unfinished(ctx context.Context) error {
	r.mu.Lock()
	s := r.status
	r.mu.Unlock()
	switch {
	case s.LastError != nil:
		return fmt.Errorf("replicate: flush: %w; the last error: %w", context.Cause(ctx), s.LastError)
	case s.Standby:
		return fmt.Errorf("replicate: flush: %w, in standby: another process sends", context.Cause(ctx))
	}
	return fmt.Errorf("replicate: flush: %w", context.Cause(ctx))
}

// gather takes over those who called Flush.
func (o *owner) gather() {
	o.r.mu.Lock()
	f := o.r.gathering
	o.r.gathering = nil
	o.r.mu.Unlock()
	if f == nil {
		return
	}
	last, err := asked(o.r.ctx, o.r.cfg.Source.LastSeq)
	if err != nil || last == 0 {
		f.answer(err)
		return
	}
	f.through = last
	o.flushes = append(o.flushes, f)
	o.more = true
	o.flushAt = time.Time{}
}

// answerFlushes tells those who wait what there is to tell.
func (o *owner) answerFlushes(now time.Time) {
	if len(o.flushes) == 0 {
		return
	}
	through := o.settledThrough(now)
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.flushes = slices.DeleteFunc(o.flushes, func(f *flush) bool {
		switch {
		case f.callers == 0: // their contexts ended
		case f.through <= through:
			f.answer(nil)
		case o.stopped != nil:
			f.answer(o.stopped)
		default:
			return false
		}
		return true
	})
}

// settledThrough returns the row up to which every one is settled, whoever sends; 0 when
// that is not known. In standby it looks no more often than Config.Poll says.
func (o *owner) settledThrough(now time.Time) int64 {
	switch {
	case o.active && o.drained():
		return math.MaxInt64
	case o.active:
		return o.stored
	case now.Before(o.flushAt):
		return 0
	}
	o.flushAt = now.Add(o.r.cfg.Poll)
	l, err := asked(o.r.ctx, o.r.cfg.Source.Backlog)
	switch {
	case err != nil:
		return 0 // it is asked again
	case l.Rows == 0:
		return math.MaxInt64
	}
	return l.First - 1
}

// statusTime bounds how long Status waits for the source. Metrics are collected by it,
// and must not wait for a journal that is locked or busy.
const statusTime = 20 * time.Millisecond

// Status returns how far the Replicator is. It reads the source, but counts no rows.
// While the source does not answer within 20 ms, what it said last stands for LagRows and
// DeadLetters. After Close they are those of the end.
func (r *Replicator) Status() Status {
	r.mu.Lock()
	looking := r.looking
	if looking == nil && !r.final && r.ctx.Err() == nil {
		looking = make(chan struct{})
		r.looking = looking
		go r.look(looking)
	}
	r.mu.Unlock()
	if looking != nil {
		enough := time.NewTimer(statusTime)
		defer enough.Stop()
		select {
		case <-looking:
		case <-enough.C:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.LagRows, s.DeadLetters = r.backlog.Rows, r.backlog.DeadLetters
	if s.LagRows > 0 {
		// The clock that stamped the row may be ahead of this one.
		s.LagSeconds = max(0, time.Since(r.backlog.Oldest).Seconds())
	}
	return s
}

// look asks the source for the backlog. There is one look at a time, however many call
// Status and however long the source takes.
func (r *Replicator) look(looking chan struct{}) {
	defer close(looking)
	l, err := asked(r.ctx, r.cfg.Source.Backlog)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looking = nil
	if err == nil && !r.final {
		r.backlog = l
	}
}

// asked asks the source within sourceTime, and makes an error of a panic: somebody waits for the answer.
func asked[T any](ctx context.Context, question func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return question(ctx)
}
