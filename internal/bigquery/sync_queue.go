// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/ratelog"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The defaults of GraphSyncerConfig.
const (
	defaultMaxPending  = 1024
	defaultFlushWait   = 30 * time.Second
	defaultSyncTimeout = 5 * time.Minute
	defaultMaxAttempts = 10
	// firstWait and longestWait bound the pause before a session that failed is tried
	// again. It doubles each time, and half of it is random.
	firstWait   = 2 * time.Second
	longestWait = 5 * time.Minute
)

// GraphSyncerConfig is what a [GraphSyncer] works with.
type GraphSyncerConfig struct {
	// Sync brings the graph of one session to the dataset. Required.
	Sync func(context.Context, record.Session) error
	// Flush returns when the rows recorded so far are in the dataset. The graph comes
	// after them: it is made from the journal and does not need them, but whoever finds
	// a step expects its rows. Nil means that nothing is waited for.
	Flush func(context.Context) error
	// FlushWait bounds that wait; the graph is then brought without the rows. Defaults
	// to 30 seconds.
	FlushWait time.Duration
	// Timeout bounds one call of Sync. Defaults to 5 minutes.
	Timeout time.Duration
	// MaxPending bounds the sessions that wait. Defaults to 1,024.
	MaxPending int
	// MaxAttempts bounds how often a session is tried. Defaults to 10.
	MaxAttempts int
	// Logger hears of what failed. Defaults to slog.Default().
	Logger *slog.Logger
}

// GraphSyncer brings the graphs of sessions to the dataset in the background, one after
// another. A session that waits already is not added again. Its methods are safe for
// concurrent use; the caller closes it.
type GraphSyncer struct {
	cfg GraphSyncerConfig
	// life is the context of the calls of Sync; end ends it.
	life context.Context
	end  context.CancelFunc
	// wake tells the goroutine that there is something to do; it has room for one.
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	pending map[record.Session]*waiting
	closing bool
	next    uint64 // orders sessions that are due
	running bool
	syncs   uint64
	errors  uint64
	givenUp uint64
	err     error

	// flushed is the greatest order whose rows were waited for. The goroutine alone uses
	// it.
	flushed uint64
	// retries hears of attempts that failed: of a thousand sessions that fail alike, one.
	retries *slog.Logger
}

// waiting is one session in the queue.
type waiting struct {
	order    uint64
	due      time.Time
	attempts int
}

// NewGraphSyncer starts a GraphSyncer.
func NewGraphSyncer(cfg GraphSyncerConfig) *GraphSyncer {
	if cfg.FlushWait <= 0 {
		cfg.FlushWait = defaultFlushWait
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultSyncTimeout
	}
	if cfg.MaxPending <= 0 {
		cfg.MaxPending = defaultMaxPending
	}
	if cfg.MaxAttempts <= 0 {
		cfg.MaxAttempts = defaultMaxAttempts
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	q := &GraphSyncer{cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{}), pending: make(map[record.Session]*waiting)}
	q.retries = slog.New(ratelog.NewHandler(cfg.Logger.Handler(), 0, nil))
	q.life, q.end = context.WithCancel(context.Background())
	go q.run()
	return q
}

// remedy is what to do about a session whose graph did not get to the dataset.
const remedy = "run contextgraph sync with its id"

// Add asks for the graph of a session. It never waits. When too many sessions wait, or
// after Close, the session is left out, which is logged and counted.
func (q *GraphSyncer) Add(s record.Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, known := q.pending[s]; known {
		return
	}
	var err error
	switch {
	case q.closing:
		err = errors.New("closed")
	case len(q.pending) >= q.cfg.MaxPending:
		err = fmt.Errorf("%d sessions wait already", len(q.pending))
	}
	if err != nil {
		q.errors++
		q.givenUp++
		q.err = fmt.Errorf("graph of session %s: %w: %s", s.ID, err, remedy)
		q.cfg.Logger.Warn("contextgraph: the graph of a session is not brought to BigQuery: "+remedy, "session", s.ID, "error", err)
		return
	}
	q.next++
	q.pending[s] = &waiting{order: q.next}
	q.signal()
}

func (q *GraphSyncer) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Report sets the numbers of the graph in s.
func (q *GraphSyncer) Report(s *warehouse.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.GraphSyncs, s.GraphErrors, s.GraphGivenUp, s.GraphError = q.syncs, q.errors, q.givenUp, q.err
	s.GraphPending = len(q.pending)
	if q.running {
		s.GraphPending++
	}
}

// Close tries each session that waits once more, until ctx ends, and ends the goroutine.
// The error says how many sessions were left; their ids are logged. It is idempotent:
// each call waits for the end, within its ctx and for as long as Sync then takes to
// return: that of a dataset takes some seconds more to take back what it began.
func (q *GraphSyncer) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closing = true
	q.mu.Unlock()
	q.signal()
	select {
	case <-q.done:
	case <-ctx.Done():
		q.end()
		<-q.done // Sync returns when its context ends
	}
	q.end()
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.pending); n > 0 {
		return fmt.Errorf("bigquery: the graphs of %d sessions were not brought to the dataset: %s", n, remedy)
	}
	return nil
}

func (q *GraphSyncer) run() {
	defer close(q.done)
	defer q.left()
	tried := make(map[record.Session]bool) // since Close
	for q.life.Err() == nil {
		s, w, wait := q.take(tried)
		if w == nil {
			if wait < 0 {
				return
			}
			q.rest(wait)
			continue
		}
		err := q.sync(s, w.order)
		q.mu.Lock()
		q.running = false
		if again := q.finish(s, w, err); again && q.closing {
			tried[s] = true
		}
		q.mu.Unlock()
	}
}

// take removes the session from the queue that is due and has waited longest. Without
// one, wait says for how long there is none: 0 is until something is added, and less
// than 0 for good. Once Close was called, all sessions are due that are not in tried.
func (q *GraphSyncer) take(tried map[record.Session]bool) (s record.Session, w *waiting, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for key, p := range q.pending {
		due := !p.due.After(now)
		if q.closing {
			due = !tried[key]
		}
		if due && (w == nil || p.order < w.order) {
			s, w = key, p
		} else if left := p.due.Sub(now); !due && (wait == 0 || left < wait) {
			wait = left
		}
	}
	switch {
	case w != nil:
		delete(q.pending, s)
		q.running = true
	case q.closing:
		wait = -1
	}
	return s, w, wait
}

// rest waits until something was added, or for wait when that is above 0.
func (q *GraphSyncer) rest(wait time.Duration) {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-q.wake:
	case <-due:
	case <-q.life.Done():
	}
}

// sync brings one session to the dataset, after its rows where these come in time. One
// wait is for all sessions that were added before it began: else a thousand of them would
// wait for a stream that stands still one after another.
func (q *GraphSyncer) sync(s record.Session, order uint64) error {
	if q.cfg.Flush != nil && order > q.flushed {
		q.mu.Lock()
		covers := q.next
		q.mu.Unlock()
		ctx, cancel := context.WithTimeout(q.life, q.cfg.FlushWait)
		if err := q.cfg.Flush(ctx); err != nil {
			q.cfg.Logger.Debug("contextgraph: the graph of a session gets to BigQuery before its rows", "session", s.ID, "error", err)
		}
		cancel()
		q.flushed = covers
	}
	ctx, cancel := context.WithTimeout(q.life, q.cfg.Timeout)
	defer cancel()
	return q.cfg.Sync(ctx, s)
}

// finish counts what came of a session and puts one that failed into the queue again;
// false when it is done with it. q.mu is held.
func (q *GraphSyncer) finish(s record.Session, w *waiting, err error) (again bool) {
	if err == nil {
		q.syncs++
		q.err = nil
		return false
	}
	q.errors++
	q.err = fmt.Errorf("graph of session %s: %w", s.ID, err)
	w.attempts++
	if errors.Is(err, warehouse.ErrNoRows) || w.attempts >= q.cfg.MaxAttempts {
		q.givenUp++
		q.cfg.Logger.Error("contextgraph: the graph of a session could not be brought to BigQuery: "+remedy, "session", s.ID, "attempts", w.attempts, "error", err)
		return false
	}
	if q.life.Err() == nil {
		q.retries.Warn("contextgraph: the graph of a session could not be brought to BigQuery yet", "session", s.ID, "attempts", w.attempts, "error", err)
	}
	pause := min(firstWait<<min(w.attempts-1, 16), longestWait)
	w.due = time.Now().Add(pause/2 + rand.N(pause/2))
	if newer, known := q.pending[s]; known {
		// It was asked for again meanwhile, and waits like one that failed.
		newer.attempts, newer.due = w.attempts, w.due
		return true
	}
	q.pending[s] = w
	return true
}

// left logs the sessions that nobody tries any more.
func (q *GraphSyncer) left() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for s := range q.pending {
		q.cfg.Logger.Warn("contextgraph: the graph of a session was not brought to BigQuery: "+remedy, "app", s.App, "user", s.User, "session", s.ID)
	}
}
