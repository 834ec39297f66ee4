// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"time"
)

// errTimeout ends the attempts for one part.
var errTimeout = errors.New("the time for one part is up")

// panicError is a panic of the store.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("the store panicked: %v\n%s", e.value, e.stack)
}

// work is the worker's goroutine. It closes the store at its end.
func (u *Uploader) work() {
	for p := u.next(); p != nil; p = u.next() {
		lost, err := u.store(p)
		u.finish(p, lost, err)
		if lost != "" {
			u.log.Error("contextgraph: offload: a part is lost; its row names it nevertheless",
				"name", p.name, "bytes", len(p.data), "reason", string(lost), "error", err)
		}
	}
	u.mu.Lock()
	unwritten := u.unwritten()
	u.mu.Unlock()
	if err := errors.Join(unwritten, guard(u.cfg.Store.Close)); err != nil {
		u.closeErr = fmt.Errorf("offload: close: %w", err)
	}
	u.cancel(nil)
	close(u.done)
}

// next waits for a part to store, and logs refusals in the meantime. It returns nil when there
// will be none any more.
func (u *Uploader) next() *part {
	u.mu.Lock()
	defer u.mu.Unlock()
	for {
		switch {
		case u.refusals:
			u.refusals = false
			refused := maps.Clone(u.stats.Refused)
			u.mu.Unlock()
			u.log.Warn("contextgraph: offload: parts were refused; their bytes are not kept", "refused", refused)
			u.mu.Lock()
		case len(u.waiting) > 0:
			p := u.waiting[0]
			u.waiting[0] = part{} // lets go of the bytes
			u.waiting = u.waiting[1:]
			u.storing = &p
			return u.storing
		case u.closed:
			return nil
		default:
			u.wake.Wait()
		}
	}
}

// store stores p, with as many attempts as its time allows. lost is empty when p is
// stored.
func (u *Uploader) store(p *part) (lost Reason, err error) {
	if u.ctx.Err() != nil {
		return ReasonUnwritten, ErrUnwritten
	}
	ctx, cancel := context.WithTimeoutCause(u.ctx, u.cfg.Timeout, errTimeout)
	defer cancel()
	var last error // of the attempt before
	for pause := minBackoff; ; pause = min(2*pause, maxBackoff) {
		err := u.create(ctx, p)
		switch {
		case err == nil:
			return "", nil
		case errors.Is(err, ErrExists) && (last != nil || p.named()) && !isPermanent(err):
			// The attempt before was no failure: only its answer was lost. Or the part was put before.
			return "", nil
		case errors.Is(err, ErrExists):
			return ReasonExists, err
		case errors.As(err, new(*panicError)):
			return ReasonPanic, err
		case isPermanent(err):
			return ReasonFailed, err
		case ctx.Err() != nil:
			return u.outOfTime(ReasonTimeout), err
		}
		last = err
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return u.outOfTime(ReasonFailed), fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}

// named reports whether the name has the digest of the part: what stands under it is the part.
func (p *part) named() bool {
	return strings.Contains(p.name, fmt.Sprintf("%x", sha256.Sum256(p.data)))
}

// outOfTime returns the reason for the loss of a part after its context has ended: the end of the
// Uploader, or r.
func (u *Uploader) outOfTime(r Reason) Reason {
	if u.ctx.Err() != nil {
		return ReasonUnwritten
	}
	return r
}

// create is one attempt.
func (u *Uploader) create(ctx context.Context, p *part) error {
	return guard(func() error { return u.cfg.Store.Create(ctx, p.name, p.contentType, p.data) })
}

// guard calls a method of the store and makes an error of a panic.
func guard(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return call()
}

// finish counts what became of the part that was being stored.
func (u *Uploader) finish(p *part, lost Reason, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.storing == p { // else it counts as lost already
		u.storing = nil
		u.settle(p, lost, err)
	}
}

// settle counts what became of p. The caller holds mu.
func (u *Uploader) settle(p *part, lost Reason, err error) {
	u.stats.Queued--
	u.stats.QueuedBytes -= p.size
	if lost == "" {
		u.stats.Stored++
		u.stats.StoredBytes += uint64(len(p.data))
	} else {
		u.stats.Lost[lost]++
		u.lost.n++
		u.lost.last = err
	}
	if u.settled != nil {
		close(u.settled)
		u.settled = nil
	}
}
