// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/journal"
)

// followPause is the least time between two rounds of the follower: rows that come within
// it are extracted together.
const followPause = 200 * time.Millisecond

// followPage bounds the sessions that one look at the journal lists.
const followPage = 200

// follower extracts rows after they were committed, and syncs the graphs of sessions that
// asked for an approval. It has a goroutine of its own. Nobody waits for it: whoever needs
// the evidence of a session catches up first.
type follower struct {
	journal *journal.Journal
	of      *graphsync.Evidence
	graphs  *graphsync.Syncer
	log     *slog.Logger

	mu    sync.Mutex
	asked map[Session]bool

	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	stop   func()
	// seen is the greatest number of a row that was looked at.
	seen int64
}

// follow starts a follower of the rows that are recorded from now on. Sessions of before
// are extracted when somebody asks for them.
func follow(ctx context.Context, j *journal.Journal, of *graphsync.Evidence, graphs *graphsync.Syncer, log *slog.Logger) (*follower, error) {
	f := &follower{
		journal: j, of: of, graphs: graphs, log: log, asked: make(map[Session]bool),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	newest, err := j.Sessions(ctx, journal.SessionsQuery{Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(newest) > 0 {
		f.seen = newest[0].LastSeq
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.cancel = cancel
	f.stop = j.Changed(f.wake)
	go f.run(run)
	return f, nil
}

// sync has the graph of a session brought up to date.
func (f *follower) sync(s Session) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.asked[s] = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// close ends the goroutine, waits for it, and publishes the graphs that it had not come to:
// nobody may ask for them before another process reads the journal.
func (f *follower) close(ctx context.Context) {
	if f == nil {
		return
	}
	f.stop()
	f.cancel()
	<-f.done
	if err := f.publish(ctx); err != nil {
		f.log.Warn("contextgraph: the graph of a session could not be published; its next request or contextgraph sync does", "error", err)
	}
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if err := f.round(ctx); err != nil && ctx.Err() == nil {
			f.log.Warn("contextgraph: rows could not be extracted in the background; whoever asks for an approval extracts them", "error", err)
		}
		pause.Reset(followPause)
	}
}

// round does what there is to do.
func (f *follower) round(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	newest, before := f.seen, int64(0)
	for more := true; more; {
		list, err := f.journal.Sessions(ctx, journal.SessionsQuery{Limit: followPage, Before: before})
		if err != nil {
			return err
		}
		more = len(list) == followPage
		for _, s := range list {
			if s.LastSeq <= f.seen {
				more = false
				break
			}
			newest, before = max(newest, s.LastSeq), s.LastSeq
			if err := f.of.CatchUp(ctx, s.Session); err != nil {
				return err
			}
		}
	}
	f.seen = newest
	return f.publish(ctx)
}

// publish syncs the graphs that were asked for. One that fails is asked for still.
func (f *follower) publish(ctx context.Context) (err error) {
	f.mu.Lock()
	asked := slices.Collect(maps.Keys(f.asked))
	f.mu.Unlock()
	for _, s := range asked {
		f.mu.Lock()
		delete(f.asked, s) // what asks from now on may have rows that this time misses
		f.mu.Unlock()
		if failed := f.graph(ctx, s); failed != nil {
			f.mu.Lock()
			f.asked[s] = true
			f.mu.Unlock()
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (f *follower) graph(ctx context.Context, s Session) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("graph of session %s: internal error: %v", s.ID, p)
		}
	}()
	_, _, err = f.graphs.Sync(ctx, s)
	return err
}
