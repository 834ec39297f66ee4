// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
)

// DefaultTimeout is the default of [Config] Timeout.
const DefaultTimeout = 30 * time.Second

// The pause after the first attempt to store a part doubles up to maxBackoff.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// partOverhead is about what a queued part holds beside its strings and its bytes.
const partOverhead = 128

// Config sets the store and the bounds of an [Uploader]. Store and QueueBytes are required; the
// zero value of any other field means its default.
type Config struct {
	// Store gets the parts. New takes it over: Close of the Uploader closes it.
	Store Store
	// QueueBytes bounds the memory of the parts that wait or are being stored.
	QueueBytes int64
	// MaxBytes is the size of the largest part that is taken, at most QueueBytes, which is the default.
	MaxBytes int64
	// Timeout is how long storing one part may take, with all attempts. Until then
	// an attempt that failed is repeated, unless its error is [Permanent].
	Timeout time.Duration
	// Logger hears of failures, of each kind at most once a minute. The default is
	// slog.Default().
	Logger *slog.Logger
}

// ErrUnwritten is in the error of [Uploader.Close] when parts were given up.
var ErrUnwritten = errors.New("parts were not stored when the time of Close was up")

var (
	errTimeout = errors.New("the time for one part is up") // ends the attempts
	errPanic   = errors.New("the store panicked")
)

// closeGrace is how long Close waits for the store once its context has ended.
const closeGrace = 500 * time.Millisecond

// part is what Put accepted.
type part struct {
	name, contentType string
	data              []byte
	size              int64 // its size in the queue
}

// Uploader stores parts in the background, one after the other, in the order of Put. All
// methods may be called concurrently.
type Uploader struct {
	cfg Config
	log *slog.Logger
	// ctx ends when the time of Close is up.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// done is closed when the worker has ended and the store is closed; closeErr
	// is the result of Close, to be read after that.
	done     chan struct{}
	closeErr error

	mu       sync.Mutex
	changed  chan struct{} // closed when something below changes; nil while nobody waits for that
	queue    []part        // the first one is being stored
	closed   bool          // Put refuses
	refusals bool          // news for the log: Put itself must not wait for it
	stats    Stats         // Queued and QueuedBytes include the part that is being stored
	lost     int           // parts
	told     int           // how many of them a Flush has returned
	lastLoss error
}

// New starts an Uploader. [Uploader.Close] ends it.
func New(cfg Config) *Uploader {
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, cfg.QueueBytes)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	u := &Uploader{
		cfg:   cfg,
		log:   slog.New(ratelog.NewHandler(cfg.Logger.Handler(), 0, nil)),
		done:  make(chan struct{}),
		stats: Stats{Refused: make(map[Reason]uint64), Lost: make(map[Reason]uint64)},
	}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	go u.work()
	return u
}

// Put takes a copy of data to be stored under name and returns the URI that it will
// have. It does no I/O and does not wait for the store. When it returns false the
// part is refused, and counted with its reason in [Stats]: it is too large, the
// queue is full, the name is not usable or the Uploader is closed.
func (u *Uploader) Put(name, contentType string, data []byte) (uri string, ok bool) {
	p := part{name: name, contentType: contentType, size: int64(len(name)+len(contentType)+len(data)) + partOverhead}
	uri, refused := u.reserve(name, p.size, int64(len(data)))
	if refused == "" {
		p.data = bytes.Clone(data) // outside of the lock: large parts take milliseconds
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	defer u.wake()
	if refused == "" && u.closed {
		u.stats.QueuedBytes -= p.size
		refused = ReasonClosed
	}
	if refused != "" {
		u.stats.Refused[refused]++
		u.refusals = true
		return "", false
	}
	u.stats.Accepted++
	u.stats.Queued++
	u.queue = append(u.queue, p)
	return uri, true
}

// reserve makes room for a part with n bytes of data and returns its URI. A part that is alone always fits, so that
// the queue can hold the largest one.
func (u *Uploader) reserve(name string, size, n int64) (uri string, refused Reason) {
	if n > u.cfg.MaxBytes {
		return "", ReasonTooLarge
	}
	if CheckName(name) != nil {
		return "", ReasonInvalidName
	}
	defer func() {
		if recover() != nil {
			uri, refused = "", ReasonPanic
		}
	}()
	uri = u.cfg.Store.URI(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed && u.stats.QueuedBytes+n > u.cfg.QueueBytes {
		return "", ReasonQueueFull
	}
	u.stats.QueuedBytes += size // Put gives it back if the Uploader is closed
	return uri, ""
}

// wake tells all that wait of a change. The caller holds mu.
func (u *Uploader) wake() {
	if u.changed != nil {
		close(u.changed)
		u.changed = nil
	}
}

// wait waits for a change, without mu, which the caller holds. It reports false when stop was first.
func (u *Uploader) wait(stop <-chan struct{}) bool {
	if u.changed == nil {
		u.changed = make(chan struct{})
	}
	changed := u.changed
	u.mu.Unlock()
	defer u.mu.Lock()
	select {
	case <-changed:
		return true
	case <-stop:
		return false
	}
}

// Flush waits until every part that was accepted before the call is stored or lost.
// Its error says how many were lost since the last Flush before the call that said so. When ctx ends
// first, Flush returns its cause and the parts are still being stored.
func (u *Uploader) Flush(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	told, upTo := u.told, u.stats.Accepted
	// Parts are settled in the order in which they were accepted.
	waiting := func() int64 { return int64(upTo) - int64(u.stats.Accepted) + int64(u.stats.Queued) }
	for waiting() > 0 {
		if !u.wait(ctx.Done()) && waiting() > 0 {
			return fmt.Errorf("offload: flush: %d parts still wait: %w", waiting(), context.Cause(ctx))
		}
	}
	// Another Flush may have said so since, to somebody else.
	if n := u.lost - told; n > 0 {
		u.told = u.lost
		return fmt.Errorf("offload: flush: %d parts were lost, the last because: %w", n, u.lastLoss)
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
	u.wake()
	u.mu.Unlock()
	select {
	case <-u.done:
		return u.closeErr
	case <-ctx.Done():
		u.cancel(context.Cause(ctx)) // the worker gives up what waits
	}
	select {
	case <-u.done:
		return u.closeErr
	case <-time.After(closeGrace):
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range u.queue {
		u.settle(p, ReasonUnwritten, ErrUnwritten)
	}
	u.queue = nil
	return fmt.Errorf("offload: close: the store does not answer: %w", cmp.Or(u.unwritten(), context.Cause(u.ctx)))
}

// unwritten returns the error for parts that Close gave up, if any. The caller holds mu.
func (u *Uploader) unwritten() error {
	if n := u.stats.Lost[ReasonUnwritten]; n > 0 {
		return fmt.Errorf("%d %w: %w", n, ErrUnwritten, context.Cause(u.ctx))
	}
	return nil
}

// Stats returns the counters. It may be called at any time, also after Close.
func (u *Uploader) Stats() Stats {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.stats
	s.Refused, s.Lost = maps.Clone(s.Refused), maps.Clone(s.Lost)
	return s
}

// work is the worker's goroutine. It closes the store at its end.
func (u *Uploader) work() {
	u.mu.Lock()
	for u.refusals || len(u.queue) > 0 || !u.closed {
		switch {
		case u.refusals:
			u.refusals = false
			refused := maps.Clone(u.stats.Refused)
			u.mu.Unlock()
			u.log.Warn("contextgraph: offload: parts were refused; their bytes are not kept", "refused", refused)
			u.mu.Lock()
		case len(u.queue) > 0:
			p := u.queue[0]
			u.mu.Unlock()
			lost, err := u.store(p)
			u.mu.Lock()
			if len(u.queue) > 0 { // else it counts as lost already
				u.queue[0] = part{} // lets go of the bytes
				u.queue = u.queue[1:]
				u.settle(p, lost, err)
			}
		default:
			u.wait(nil)
		}
	}
	err := u.unwritten()
	u.mu.Unlock()
	if err := errors.Join(err, guard(u.cfg.Store.Close)); err != nil {
		u.closeErr = fmt.Errorf("offload: close: %w", err)
	}
	u.cancel(nil)
	close(u.done)
}

// settle counts what became of p. The caller holds mu.
func (u *Uploader) settle(p part, lost Reason, err error) {
	u.stats.Queued--
	u.stats.QueuedBytes -= p.size
	if lost == "" {
		u.stats.Stored++
		u.stats.StoredBytes += uint64(len(p.data))
	} else {
		u.stats.Lost[lost]++
		u.lost++
		u.lastLoss = err
	}
	u.wake()
}

// store stores p, with as many attempts as its time allows. lost is empty when p is stored.
func (u *Uploader) store(p part) (lost Reason, err error) {
	lost, err = u.attempts(p)
	if lost != "" {
		if u.ctx.Err() != nil {
			lost = ReasonUnwritten
		}
		u.log.Error("contextgraph: offload: a part is lost; its row names it nevertheless",
			"name", p.name, "bytes", len(p.data), "reason", string(lost), "error", err)
	}
	return lost, err
}

func (u *Uploader) attempts(p part) (lost Reason, err error) {
	if u.ctx.Err() != nil {
		return ReasonUnwritten, ErrUnwritten
	}
	ctx, cancel := context.WithTimeoutCause(u.ctx, u.cfg.Timeout, errTimeout)
	defer cancel()
	// What stands under a name with the digest of the part is the part. After an attempt that failed it is too: only
	// the answer was lost.
	mayExist := strings.Contains(p.name, fmt.Sprintf("%x", sha256.Sum256(p.data)))
	for pause := minBackoff; ; pause = min(2*pause, maxBackoff) {
		err := guard(func() error { return u.cfg.Store.Create(ctx, p.name, p.contentType, p.data) })
		switch {
		case err == nil, errors.Is(err, ErrExists) && mayExist && !isPermanent(err):
			return "", nil
		case errors.Is(err, ErrExists):
			return ReasonExists, err
		case errors.Is(err, errPanic):
			return ReasonPanic, err
		case isPermanent(err):
			return ReasonFailed, err
		case ctx.Err() != nil:
			return ReasonTimeout, err
		}
		mayExist = true
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ReasonFailed, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// guard calls a method of the store and makes an error of a panic.
func guard(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, v, debug.Stack())
		}
	}()
	return call()
}
