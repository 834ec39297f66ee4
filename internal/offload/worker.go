// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
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

// work is the goroutine of a worker.
func (u *Uploader) work() {
	defer u.leave()
	for u.await() {
		u.reportRefusals()
		if p, ok := u.take(); ok {
			lost, err := u.store(&p)
			u.finish(&p, lost, err)
			u.reportLoss(&p, lost, err)
		}
	}
}

// await waits until there is something to do. It reports false when there will be
// nothing any more.
func (u *Uploader) await() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.waiting.len() == 0 && !u.refusals {
		if u.closed {
			return false
		}
		u.wake.Wait()
	}
	return true
}

// take takes the next part. It reports false when another worker was faster.
func (u *Uploader) take() (part, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.waiting.len() == 0 {
		return part{}, false
	}
	p := u.waiting.pop()
	u.storing += p.size
	return p, true
}

// store stores p, with as many attempts as its time allows. lost is empty when p is
// stored.
func (u *Uploader) store(p *part) (lost Reason, err error) {
	ctx, cancel := context.WithTimeoutCause(u.ctx, u.cfg.Timeout, errTimeout)
	defer cancel()
	var last error // of the attempt before
	for pause := u.cfg.Backoff; ; pause = min(2*pause, maxBackoff) {
		err := u.create(ctx, p)
		switch {
		case err == nil:
			return "", nil
		case errors.Is(err, ErrExists) && last != nil && !isPermanent(err):
			// The attempt before was no failure: only its answer was lost.
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

// outOfTime returns why a part is lost whose context has ended: the Uploader's own
// end, or r.
func (u *Uploader) outOfTime(r Reason) Reason {
	if u.ctx.Err() != nil {
		return ReasonUnwritten
	}
	return r
}

// create is one attempt.
func (u *Uploader) create(ctx context.Context, p *part) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return u.cfg.Store.Create(ctx, p.name, p.contentType, p.data)
}

// finish counts what became of p.
func (u *Uploader) finish(p *part, lost Reason, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.gaveUp {
		return // counted as lost already
	}
	u.storing -= p.size
	u.settle(p, lost, err)
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
	}
	u.tell(p.seq, lost != "", err)
}

// leave ends a worker. The last one closes the store.
func (u *Uploader) leave() {
	u.mu.Lock()
	u.workers--
	last := u.workers == 0
	unwritten := u.unwritten()
	u.mu.Unlock()
	if !last {
		return
	}
	if err := errors.Join(unwritten, u.closeStore()); err != nil {
		u.closeErr = fmt.Errorf("offload: close: %w", err)
	}
	u.cancel(nil)
	close(u.done)
}

func (u *Uploader) closeStore() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return u.cfg.Store.Close()
}

func (u *Uploader) reportLoss(p *part, lost Reason, err error) {
	if lost != "" {
		u.log.Error("contextgraph: offload: a part is lost; its row names it nevertheless",
			"name", p.name, "bytes", len(p.data), "reason", string(lost), "error", err)
	}
}

func (u *Uploader) reportRefusals() {
	u.mu.Lock()
	news := u.refusals
	u.refusals = false
	var refused map[Reason]uint64
	if news {
		refused = maps.Clone(u.stats.Refused)
	}
	u.mu.Unlock()
	if news {
		u.log.Warn("contextgraph: offload: parts were refused; their bytes are not kept", "refused", refused)
	}
}
