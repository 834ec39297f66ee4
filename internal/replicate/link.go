// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// link is a stream with the goroutines that call its methods: one that opens it and
// appends, one that waits for answers, and one that closes it. So whatever hangs, the
// owner does not.
//
// The fields of the first group belong to the owner.
type link struct {
	inflight   []*batch  // in the order of their answers
	lastAnswer time.Time // or when it may be expected to begin to answer
	// failed is the first error after which the stream is given up. The answers to what
	// is in flight are still taken until failedAt and drainTime.
	failed   error
	failedAt time.Time

	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	// work has room for all batches that the owner has in flight, and answers for all
	// answers to them and one to the opening.
	work    chan request
	sent    chan sent
	answers chan answer
	// ended is called by the last goroutine.
	ended func()

	mu      sync.Mutex
	stream  Stream
	dropped bool
	running int
}

// request is what the sending goroutine sees of a batch, which is the owner's.
type request struct {
	batch *batch
	msgs  [][]byte
}

// sent is a request that was handed to the stream, or could not be.
type sent struct {
	batch   *batch
	pending Pending
	err     error
}

// answer is the answer to a batch, or to the opening when batch is nil.
type answer struct {
	batch *batch
	err   error
	// refused is true when Append did not take the rows: it may still read them.
	refused bool
}

// drainTime is how long the answers of a stream with an error are waited for.
const drainTime = 5 * time.Second

// upgradeTime is how long an upgrade of the table may take.
const upgradeTime = time.Minute

// newLink opens a stream, after an upgrade of the table if need be, without waiting.
func newLink(target Target, upgrade bool, inFlight int, now time.Time, log *slog.Logger, ended func()) *link {
	l := &link{
		lastAnswer: now, log: log,
		work: make(chan request, inFlight), sent: make(chan sent, inFlight), answers: make(chan answer, inFlight+1),
		running: 2, ended: ended,
	}
	if upgrade {
		l.lastAnswer = now.Add(upgradeTime)
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go l.send(target, upgrade)
	go l.receive()
	return l
}

// send opens the stream and appends what comes, until work is closed.
func (l *link) send(target Target, upgrade bool) {
	defer l.leave()
	defer close(l.sent)
	stream, err := l.open(target, upgrade)
	if err != nil {
		l.answers <- answer{err: err}
		return
	}
	var broken error
	for req := range l.work {
		if broken == nil {
			broken = l.ctx.Err()
		}
		if broken != nil {
			l.sent <- sent{batch: req.batch, err: &Error{Class: ClassTransient, Err: fmt.Errorf("not sent, because the stream had failed: %w", broken)}}
			continue
		}
		var pending Pending
		err := l.guard("Append", func() (err error) {
			pending, err = stream.Append(l.ctx, req.msgs)
			return err
		})
		// Rows behind some that did not go out wait, so that they do not overtake them.
		if err != nil && ClassOf(err) != ClassRows {
			broken = err
		}
		l.sent <- sent{req.batch, pending, err}
	}
}

// open opens the stream.
func (l *link) open(target Target, upgrade bool) (Stream, error) {
	if upgrade {
		if err := l.guard("Upgrade", func() error { return target.Upgrade(l.ctx) }); err != nil {
			return nil, fmt.Errorf("upgrade the table: %w", err)
		}
	}
	var stream Stream
	err := l.guard("Open", func() (err error) {
		stream, err = target.Open(l.ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the stream: %w", err)
	}
	l.change(func() { l.stream = stream })
	return stream, nil
}

// receive waits for the answers.
func (l *link) receive() {
	defer l.leave()
	for s := range l.sent {
		err := s.err
		if err == nil {
			err = l.guard("Wait", func() error { return s.pending.Wait(l.ctx) })
		}
		l.answers <- answer{batch: s.batch, err: err, refused: s.err != nil}
	}
}

// drop ends the link without waiting for anything. What is in flight stays unanswered.
func (l *link) drop() {
	for _, b := range l.inflight {
		b.sent = false
		b.buf.exposed = true
	}
	l.inflight = nil
	l.change(func() { l.dropped = true })
	l.cancel()
	close(l.work)
}

// change changes the link with the lock. A stream that is open and dropped is closed.
func (l *link) change(f func()) {
	l.mu.Lock()
	f()
	over := l.stream != nil && l.dropped
	if over {
		// Before the others can end: the last one to do so tells that all have.
		l.running++
	}
	l.mu.Unlock()
	if over {
		go l.close()
	}
}

// close closes the stream, which may hang.
func (l *link) close() {
	defer l.leave()
	if err := l.guard("Close", l.stream.Close); err != nil {
		l.log.Debug("contextgraph: warehouse: a stream did not close well", "error", err)
	}
}

// leave is called by each goroutine at its end.
func (l *link) leave() {
	l.mu.Lock()
	l.running--
	last := l.running == 0
	l.mu.Unlock()
	if last {
		l.ended()
	}
}

// guard calls a method of the adapter and makes an error of a panic.
func (l *link) guard(method string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("contextgraph: warehouse: the client of the stream panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
			err = &Error{Class: ClassAmbiguous, Err: fmt.Errorf("panic in %s: %v", method, p)}
		}
	}()
	return call()
}

// deadline is when the stream has been silent for too long.
func (l *link) deadline(ackTimeout time.Duration) (time.Time, bool) {
	switch {
	case l.failed != nil:
		return l.failedAt.Add(min(drainTime, ackTimeout)), true
	case len(l.inflight) == 0:
		return time.Time{}, false
	}
	last := l.lastAnswer
	if at := l.inflight[0].sentAt; at.After(last) {
		last = at
	}
	return last.Add(ackTimeout), true
}
