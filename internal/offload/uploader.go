// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
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

func (c *Config) setDefaults() {
	c.MaxBytes = cmp.Or(c.MaxBytes, c.QueueBytes)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}

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

	mu      sync.Mutex
	wake    sync.Cond // the worker has something to do, or nothing any more
	waiting []part
	storing *part         // what the worker stores; nil for none, or when it was given up
	closed  bool          // Put refuses
	stats   Stats         // Queued and QueuedBytes include the part that is being stored
	settled chan struct{} // closed when a part is settled; nil while nobody waits for that
	lost    failures
	// refusals is news for the log: Put itself must not wait for it.
	refusals bool
}

// New starts an Uploader. [Uploader.Close] ends it.
func New(cfg Config) *Uploader {
	cfg.setDefaults()
	u := &Uploader{
		cfg:   cfg,
		log:   slog.New(ratelog.NewHandler(cfg.Logger.Handler(), 0, nil)),
		done:  make(chan struct{}),
		stats: Stats{Refused: make(map[Reason]uint64), Lost: make(map[Reason]uint64)},
	}
	u.wake.L = &u.mu
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	go u.work()
	return u
}

// Put takes a copy of data to be stored under name and returns the URI that it will
// have. It does no I/O and does not wait for the store. When it returns false the
// part is refused, and counted with its reason in [Stats]: it is too large, the
// queue is full, the name is not usable or the Uploader is closed.
func (u *Uploader) Put(name, contentType string, data []byte) (uri string, ok bool) {
	uri, refused := u.admit(name, int64(len(data)))
	size := int64(len(name)+len(contentType)+len(data)) + partOverhead
	if refused == "" {
		refused = u.reserve(int64(len(data)), size)
	}
	if refused == "" {
		// Copied outside of the lock: large parts take milliseconds.
		refused = u.push(part{name: name, contentType: contentType, data: bytes.Clone(data), size: size})
	}
	if refused != "" {
		u.refuse(refused)
		return "", false
	}
	return uri, true
}

// admit looks at the part alone and returns its URI.
func (u *Uploader) admit(name string, n int64) (uri string, refused Reason) {
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
	return u.cfg.Store.URI(name), ""
}

// reserve makes room for a part of n bytes that counts as size. A part that is alone
// always fits, so that the queue can hold the largest one.
func (u *Uploader) reserve(n, size int64) (refused Reason) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return ReasonClosed
	case u.stats.QueuedBytes+n > u.cfg.QueueBytes:
		return ReasonQueueFull
	}
	u.stats.QueuedBytes += size
	return ""
}

// push queues p. The queue must have room.
func (u *Uploader) push(p part) (refused Reason) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		u.stats.QueuedBytes -= p.size
		return ReasonClosed
	}
	u.stats.Accepted++
	u.stats.Queued++
	u.waiting = append(u.waiting, p)
	u.wake.Signal()
	return ""
}

func (u *Uploader) refuse(r Reason) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stats.Refused[r]++
	u.refusals = true
	u.wake.Signal()
}
