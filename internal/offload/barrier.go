// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrUnwritten is in the error of [Uploader.Close] when parts were given up.
var ErrUnwritten = errors.New("parts were not stored when the time of Close was up")

// closeGrace is how long Close waits for the store once its context has ended.
const closeGrace = 500 * time.Millisecond

// failures are parts that were lost, with the error of the last one.
type failures struct {
	n    int
	last error
}

func (f *failures) add(g failures) {
	f.n += g.n
	if g.last != nil {
		f.last = g.last
	}
}

// flush is a call of Flush that waits.
type flush struct {
	upTo   uint64 // the last part it waits for
	left   int    // how many of them are not settled
	failed failures
	done   chan struct{}
}

// Flush waits until every part that was accepted before the call is stored or lost.
// Its error says how many were lost since the last Flush that said so. When ctx ends
// first, Flush returns its cause and the parts are still being stored.
func (u *Uploader) Flush(ctx context.Context) error {
	f := u.startFlush()
	select {
	case <-f.done:
	case <-ctx.Done():
		if left, gone := u.leaveFlush(f); gone {
			return fmt.Errorf("offload: flush: %d parts still wait: %w", left, context.Cause(ctx))
		}
	}
	if f.failed.n > 0 {
		return fmt.Errorf("offload: flush: %d parts were lost, the last because: %w", f.failed.n, f.failed.last)
	}
	return nil
}

func (u *Uploader) startFlush() *flush {
	u.mu.Lock()
	defer u.mu.Unlock()
	f := &flush{upTo: u.seq, left: u.stats.Queued, failed: u.untold, done: make(chan struct{})}
	u.untold = failures{}
	if f.left == 0 {
		close(f.done)
	} else {
		u.flushes = append(u.flushes, f)
	}
	return f
}

// leaveFlush gives up f, unless it is done. The next Flush returns what f was told.
func (u *Uploader) leaveFlush(f *flush) (left int, gone bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.Index(u.flushes, f)
	if i < 0 {
		return 0, false
	}
	u.flushes = slices.Delete(u.flushes, i, i+1)
	u.untold.add(f.failed)
	return f.left, true
}

// tell notes for those who wait that part seq is settled. The caller holds mu.
func (u *Uploader) tell(seq uint64, failed bool, err error) {
	var failure failures
	if failed {
		failure = failures{1, err}
	}
	told := false
	u.flushes = slices.DeleteFunc(u.flushes, func(f *flush) bool {
		if seq > f.upTo {
			return false
		}
		told = true
		f.failed.add(failure)
		if f.left--; f.left > 0 {
			return false
		}
		close(f.done)
		return true
	})
	if !told {
		u.untold.add(failure)
	}
}

// Close refuses further parts, stores what waits and closes the store. When ctx ends
// first, what waits is given up and what is being stored is interrupted, both count
// as lost for ReasonUnwritten, and the error is an [ErrUnwritten]. Close returns at
// the latest half a second after ctx has ended, also when the store hangs; what hangs
// then ends with the store. Only the first call closes; all calls wait for it and
// return its result.
func (u *Uploader) Close(ctx context.Context) error {
	u.mu.Lock()
	u.closed = true
	u.wake.Broadcast()
	u.mu.Unlock()
	if ended(u.done, ctx.Done()) {
		return u.closeErr
	}
	u.hurry(context.Cause(ctx))
	if ended(u.done, time.After(closeGrace)) {
		return u.closeErr
	}
	return u.giveUp()
}

// hurry gives up what waits and interrupts what is being stored.
func (u *Uploader) hurry(cause error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hurried {
		return
	}
	u.hurried = true
	u.cancel(cause)
	for u.waiting.len() > 0 {
		p := u.waiting.pop()
		u.settle(&p, ReasonUnwritten, ErrUnwritten)
	}
}

// giveUp counts as lost what a store that does not answer still holds.
func (u *Uploader) giveUp() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.gaveUp {
		u.gaveUp = true
		u.stats.Lost[ReasonUnwritten] += uint64(u.stats.Queued)
		u.stats.QueuedBytes -= u.storing
		u.stats.Queued, u.storing = 0, 0
		for _, f := range u.flushes {
			f.failed.add(failures{f.left, ErrUnwritten})
			close(f.done)
		}
		u.flushes = nil
	}
	err := u.unwritten()
	if err == nil {
		err = context.Cause(u.ctx)
	}
	return fmt.Errorf("offload: close: the store does not answer: %w", err)
}

// unwritten returns the error for parts that Close gave up, if any. The caller holds
// mu.
func (u *Uploader) unwritten() error {
	n := u.stats.Lost[ReasonUnwritten]
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d %w: %w", n, ErrUnwritten, context.Cause(u.ctx))
}

// ended waits for done or limit and reports whether done is closed.
func ended[T any](done <-chan struct{}, limit <-chan T) bool {
	select {
	case <-done:
		return true
	case <-limit:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
