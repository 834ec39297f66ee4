// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
)

// Errors of Flush and Close that callers may branch on.
var (
	// ErrStopped is returned while streaming has stopped for a reason that somebody has
	// to remove; its text says what.
	ErrStopped = errors.New("streaming has stopped")
	// ErrClosed is returned by Flush after Close.
	ErrClosed = errors.New("the replicator is closed")
)

// maxStreams is how many streams there may be that have not ended: the one that is used,
// and those that were dropped and hang.
const maxStreams = 4

// closeGrace is how long Close waits beyond its context, and half of it how long each of
// the last two writes to the source may take.
const closeGrace = time.Second

// Replicator sends the rows of a Source to a Target. Make it with [New]. Its methods may
// be called concurrently, and none waits for the network but Flush and Close.
type Replicator struct {
	cfg   Config
	owner string // in the lease, its alone
	log   *slog.Logger

	// ctx ends when the time of Close is up.
	ctx     context.Context
	cancel  context.CancelFunc
	start   sync.Once
	close   sync.Once
	closing chan struct{}
	// done is closed when the owner has ended; closeErr may be read after that.
	done     chan struct{}
	closeErr error
	// asked gets a signal when somebody called Flush.
	asked chan struct{}
	// returned gets a signal when a dropped stream has ended.
	returned chan struct{}

	mu      sync.Mutex
	streams int  // that have not ended
	opened  bool // one stream at least
	status  Status
	backlog store.Backlog // the last that could be read
	looking chan struct{} // closed at the end of the look under way; nil without one
	final   bool          // the backlog is that of the end
	// gathering are those who called Flush since the owner looked; nil when nobody did.
	gathering *flush
}

// Status is how far a Replicator is, and what keeps it.
type Status struct {
	// Active is true while this Replicator has the lease and sends, Standby while another
	// one has it. Both are false until the source was asked.
	Active, Standby bool
	// LagRows is the number of rows that are not acknowledged, LagSeconds the age of the
	// oldest of them.
	LagRows    int64
	LagSeconds float64
	// Acknowledged counts rows that were acknowledged, and Bytes their encoded size;
	// Retries the requests that were sent again, whole or in part; Reopened the streams
	// that were opened after the first.
	Acknowledged, Bytes, Retries, Reopened uint64
	// PartsLost counts rows whose content_parts are not what the schema says, and which
	// were sent without: those in the journal are whole.
	PartsLost uint64
	// HeldBytes is the memory of encoded rows that are not settled.
	HeldBytes int
	// DeadLetters is the number of dead letters in the source.
	DeadLetters int64
	// LastError is what goes wrong now, and what to do about it; nil when rows are
	// taken. FailingSince is when that began.
	LastError    error
	FailingSince time.Time
	// Stopped is true while nothing is sent until somebody does what LastError says.
	// Whether that was done is tried every [Config.Recheck].
	Stopped bool
}

// New makes a Replicator. [Replicator.Start] starts it.
func New(cfg Config) *Replicator {
	cfg.setDefaults()
	r := &Replicator{
		cfg:      cfg,
		owner:    rand.Text(),
		log:      slog.New(ratelog.NewHandler(cfg.Logger.Handler(), 0, nil)),
		closing:  make(chan struct{}),
		done:     make(chan struct{}),
		asked:    make(chan struct{}, 1),
		returned: make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Start begins to send, in the background, until [Replicator.Close]. Calls after the
// first, or after Close, do nothing.
func (r *Replicator) Start() {
	r.start.Do(func() { go newOwner(r).run() })
}

// Close sends what is left until ctx ends, stops, and releases the lease. It returns an
// error when rows were left, which stay in the source. It is idempotent, and returns a
// second after the end of ctx even if the target hangs. In standby nothing is left to do.
func (r *Replicator) Close(ctx context.Context) error {
	r.start.Do(func() { close(r.done) })
	r.close.Do(func() { close(r.closing) })
	defer r.cancel()
	select {
	case <-r.done:
		return r.closeErr
	case <-ctx.Done():
	}
	r.cancel()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-r.done:
		return r.closeErr
	case <-grace.C:
		return fmt.Errorf("replicate: close: the source has not returned: %w", context.Cause(ctx))
	}
}

// change changes the status.
func (r *Replicator) change(f func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.status)
}

// streamOpened counts a stream.
func (r *Replicator) streamOpened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams++
	if r.opened {
		r.status.Reopened++
	}
	r.opened = true
}

// streamEnded is called when no method of a stream runs any more.
func (r *Replicator) streamEnded() {
	r.mu.Lock()
	r.streams--
	r.mu.Unlock()
	select {
	case r.returned <- struct{}{}:
	default:
	}
}

// openStreams returns how many streams have not ended.
func (r *Replicator) openStreams() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streams
}
