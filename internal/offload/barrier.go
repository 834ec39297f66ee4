// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUnwritten is in the error of [Uploader.Close] when parts were given up.
var ErrUnwritten = errors.New("parts were not stored when the time of Close was up")

// closeGrace is how long Close waits for the store once its context has ended.
const closeGrace = 500 * time.Millisecond

// failures counts the parts that were lost, with the error of the last one. told is how many of
// them a Flush has returned.
type failures struct {
	n, told int
	last    error
}

// Flush waits until every part that was accepted before the call is stored or lost.
// Its error says how many were lost since the last Flush before the call that said so. When ctx ends
// first, Flush returns its cause and the parts are still being stored.
func (u *Uploader) Flush(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	// Parts are settled in the order in which they were accepted.
	told := u.lost.told
	settled := func() uint64 { return u.stats.Accepted - uint64(u.stats.Queued) }
	for upTo := u.stats.Accepted; settled() < upTo; {
		if u.settled == nil {
			u.settled = make(chan struct{})
		}
		next := u.settled
		u.mu.Unlock()
		done := ended(next, ctx.Done())
		u.mu.Lock()
		if !done {
			return fmt.Errorf("offload: flush: %d parts still wait: %w", upTo-settled(), context.Cause(ctx))
		}
	}
	// Another Flush may have said so since, to somebody else.
	if n := u.lost.n - told; n > 0 {
		u.lost.told = u.lost.n
		return fmt.Errorf("offload: flush: %d parts were lost, the last because: %w", n, u.lost.last)
	}
	return nil
}

// Close refuses further parts, stores the waiting ones and closes the store. If ctx ends first,
// waiting parts are given up and the part in work is interrupted. They count as lost for
// ReasonUnwritten, and the error is an [ErrUnwritten]. Close returns at the latest half a second
// after ctx has ended, also if the store hangs; a hanging call then ends with the store. Only the
// first call closes; all calls wait for it and return its result.
func (u *Uploader) Close(ctx context.Context) error {
	u.mu.Lock()
	u.closed = true
	u.wake.Signal()
	u.mu.Unlock()
	if ended(u.done, ctx.Done()) {
		return u.closeErr
	}
	u.cancel(context.Cause(ctx)) // the worker gives up what waits
	if ended(u.done, time.After(closeGrace)) {
		return u.closeErr
	}
	return u.giveUp()
}

// giveUp counts as lost what a store that does not answer still holds.
func (u *Uploader) giveUp() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.storing != nil {
		u.settle(u.storing, ReasonUnwritten, ErrUnwritten)
		u.storing = nil
	}
	for i := range u.waiting {
		u.settle(&u.waiting[i], ReasonUnwritten, ErrUnwritten)
	}
	u.waiting = nil
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
