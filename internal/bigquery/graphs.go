// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// graphPoll is how often a GraphSyncer looks whether there is something to bring.
	graphPoll = time.Second
	// graphBatch is how many triggers it takes at a time.
	graphBatch = 1000
	// graphTimeout bounds the bringing of one session.
	graphTimeout = 5 * time.Minute
	// graphMove is how long the position may stay behind where there is nothing to bring: retention
	// waits for it.
	graphMove = time.Minute
	// graphIdle is how long a stream is kept that brings nothing.
	graphIdle = time.Minute
	// firstGraphWait and longestGraphWait bound the pause after a failure. It doubles each time, and
	// half of it is random.
	firstGraphWait   = 2 * time.Second
	longestGraphWait = 5 * time.Minute
)

// GraphSyncerConfig is what a [GraphSyncer] works with. All fields but Poll are required.
type GraphSyncerConfig struct {
	// Journal has the rows, and Destination names where they go, as in its Outbox.
	Journal     store.Publisher
	Destination string
	// Sync brings the graph of one session. Its error may wrap [warehouse.ErrNoRows], or be a
	// [replicate.Error] that refuses the rows: then the session is passed over. With any other error
	// it is called again, after a pause, for as long as that takes.
	Sync func(context.Context, record.Session) error
	// Idle ends what Sync has opened. It is called after Sync was not called for a while, and at the
	// end.
	Idle func()
	// Poll is how often the journal is looked at. Defaults to a second.
	Poll time.Duration
	// Logger hears of what failed.
	Logger *slog.Logger
}

// GraphSyncer brings the graphs of sessions to a dataset in the background, one after another: of
// those with a [store.Trigger] behind the position of the graphs, once their rows are
// acknowledged. The position moves when they are there, so that a process that dies loses none, and
// may bring one twice. Of several processes with one journal, one works at a time. Its methods are
// safe for concurrent use; the caller closes it.
type GraphSyncer struct {
	cfg          GraphSyncerConfig
	rows, graphs store.Outbox
	owner        string
	// life is the context of all that the goroutine does; end ends it.
	life context.Context
	end  context.CancelFunc
	// closing is closed by Close, done at the end of the goroutine.
	closing, done chan struct{}
	once          sync.Once
	// retries hears of attempts that failed: of a thousand that fail alike, one.
	retries *slog.Logger

	// Of the goroutine alone:
	// brought has the sessions that were settled behind the position, with the last trigger that was
	// known of each.
	brought map[record.Session]int64
	settled int       // counts them
	moved   time.Time // the position
	worked  time.Time // Sync; zero when Idle was called since
	leased  time.Time

	mu      sync.Mutex
	pending int64
	other   bool // another process brings graphs
	syncs   uint64
	errors  uint64
	givenUp uint64
	err     error
}

// NewGraphSyncer starts a GraphSyncer.
func NewGraphSyncer(cfg GraphSyncerConfig) *GraphSyncer {
	if cfg.Poll <= 0 {
		cfg.Poll = graphPoll
	}
	rows := cfg.Journal.Outbox(cfg.Destination)
	g := &GraphSyncer{
		cfg: cfg, rows: rows, graphs: rows.Graphs(), owner: rand.Text(), closing: make(chan struct{}), done: make(chan struct{}),
		brought: make(map[record.Session]int64), retries: slog.New(ratelog.NewHandler(cfg.Logger.Handler(), 0, nil)),
	}
	g.life, g.end = context.WithCancel(context.Background())
	go g.run()
	return g
}

// Report sets the numbers of the graph in s.
func (g *GraphSyncer) Report(s *warehouse.Status) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.GraphSyncs, s.GraphErrors, s.GraphGivenUp, s.GraphError = g.syncs, g.errors, g.givenUp, g.err
	s.GraphPending = int(g.pending)
}

// Close brings what is left, once, until ctx ends, and ends the goroutine. The error says that
// something was left. It is idempotent: each call waits for the end, within its ctx and for as long
// as Sync and Idle then take to return.
func (g *GraphSyncer) Close(ctx context.Context) error {
	g.once.Do(func() { close(g.closing) })
	select {
	case <-g.done:
	case <-ctx.Done():
		g.end()
		<-g.done
	}
	g.end()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending > 0 && !g.other {
		return fmt.Errorf("bigquery: the graphs after %d rows of approvals were not brought to the dataset: they are after the next start", g.pending)
	}
	return nil
}

// run is the goroutine.
func (g *GraphSyncer) run() {
	defer close(g.done)
	defer g.look(g.life)
	defer g.cfg.Idle()
	failures := 0
	for {
		last := g.rest(failures)
		if g.life.Err() != nil {
			return
		}
		settled := g.settled
		more, err := true, error(nil)
		for more && err == nil && g.life.Err() == nil {
			more, err = g.round(g.life, last)
		}
		g.look(g.life)
		switch {
		case err == nil:
			failures = 0
		case g.settled > settled:
			failures = 1
		default:
			failures++
		}
		if err != nil && g.life.Err() == nil {
			g.retries.Warn("contextgraph: graphs could not be brought to BigQuery yet; it is tried again", "attempts", failures, "error", err)
		}
		if last {
			return
		}
		if !g.worked.IsZero() && time.Since(g.worked) > graphIdle {
			g.worked = time.Time{}
			g.cfg.Idle()
		}
	}
}

// rest waits until it is time for the next look, after so many failures in succession, and reports
// whether it is the last one.
func (g *GraphSyncer) rest(failures int) (last bool) {
	wait := g.cfg.Poll
	if failures > 0 {
		longest := min(firstGraphWait<<min(failures-1, 16), longestGraphWait)
		wait = longest/2 + mathrand.N(longest/2)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-g.closing:
		return true
	}
}

// look counts what is left.
func (g *GraphSyncer) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if l, err := g.rows.Backlog(ctx); err == nil {
		g.mu.Lock()
		g.pending = l.Graphs
		g.mu.Unlock()
	}
}

// round brings the graphs after the first triggers behind the position and moves it, and reports
// whether there are more triggers.
func (g *GraphSyncer) round(ctx context.Context, last bool) (more bool, err error) {
	at, err := g.graphs.Position(ctx)
	if err != nil {
		return false, err
	}
	triggers, through, err := g.graphs.Triggers(ctx, at, graphBatch)
	if err != nil || through == at || len(triggers) == 0 && !last && time.Since(g.moved) < graphMove {
		return false, err
	}
	switch err := g.lease(ctx, at); {
	case errors.Is(err, store.ErrLeased), errors.Is(err, store.ErrLeaseLost):
		return false, nil // another process brings them
	case err != nil:
		return false, err
	}
	defer g.release(ctx)
	if err := g.sessions(ctx, at, triggers); err != nil {
		return false, err
	}
	if err := g.graphs.Advance(ctx, g.owner, through, nil); err != nil {
		return false, err
	}
	g.moved = time.Now()
	clear(g.brought)
	return len(triggers) == graphBatch, nil
}

// sessions brings each session of the triggers once.
func (g *GraphSyncer) sessions(ctx context.Context, at int64, triggers []store.Trigger) error {
	newest := make(map[record.Session]int64)
	for _, t := range triggers {
		newest[t.Session] = t.Seq
	}
	for _, t := range triggers {
		seq := newest[t.Session]
		if g.brought[t.Session] >= seq {
			continue
		}
		if time.Since(g.leased) > replicate.DefaultLeaseTTL/3 {
			if err := g.lease(ctx, at); err != nil {
				return fmt.Errorf("bring graphs: %w", err)
			}
		}
		if err := g.session(ctx, t.Session); err != nil {
			return err
		}
		g.brought[t.Session] = seq
		g.settled++
	}
	return nil
}

// session brings one session, or passes it over. The error is one that may pass.
func (g *GraphSyncer) session(ctx context.Context, s record.Session) error {
	ctx, cancel := context.WithTimeout(ctx, graphTimeout)
	defer cancel()
	g.worked = time.Now()
	err := g.cfg.Sync(ctx, s)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.syncs++
		g.err = nil
		return nil
	}
	err = fmt.Errorf("graph of session %s: %w", s.ID, err)
	g.errors++
	g.err = err
	if !refuses(err) && !errors.Is(err, warehouse.ErrNoRows) && !errors.Is(err, errGraph) {
		return err
	}
	g.givenUp++
	g.cfg.Logger.Error("contextgraph: the graph of a session is not brought to BigQuery: remove the reason and run contextgraph sync with its id",
		"app", s.App, "user", s.User, "session", s.ID, "error", err)
	return nil
}

// lease takes the lease, or renews it. The error is a [store.ErrLeased] where another process has
// it, and a [store.ErrLeaseLost] where one has moved the position from where it was read.
func (g *GraphSyncer) lease(ctx context.Context, at int64) error {
	now, err := g.graphs.Acquire(ctx, g.owner, replicate.DefaultLeaseTTL)
	g.mu.Lock()
	g.other = errors.Is(err, store.ErrLeased)
	g.mu.Unlock()
	switch {
	case err != nil:
		return err
	case now != at:
		g.release(ctx)
		return store.ErrLeaseLost
	}
	g.leased = time.Now()
	return nil
}

// release lets another process go on at once. A lease that is not released expires.
func (g *GraphSyncer) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_ = g.graphs.Release(ctx, g.owner)
}
