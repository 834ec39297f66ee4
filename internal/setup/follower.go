// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/ratelog"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// followPause is the least time between two rounds of the follower: rows that come
	// within it are extracted together.
	followPause = 200 * time.Millisecond
	// graphDelay is how long a graph is left alone after its session asked for something:
	// the answer often comes soon, and a graph is made as a whole.
	graphDelay = 2 * time.Second
	// followTimeout bounds the work on one session.
	followTimeout = time.Minute
	// followPage bounds the sessions that one look at the journal lists.
	followPage = 200
)

// Follower extracts rows after they were committed, and syncs the graphs of sessions that
// asked for an approval. It has a goroutine of its own, which is the only user of seen.
// Nobody waits for it: whoever needs the evidence of a session catches up first.
type Follower struct {
	journal *journal.Journal
	of      *graphsync.Evidence
	graphs  *graphsync.Syncer
	log     *slog.Logger // one line per kind and minute

	mu  sync.Mutex
	due map[record.Session]time.Time // when the graph of a session is to be synced

	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	stop   func()
	// seen is the greatest number of a row that was looked at.
	seen int64
}

// Follow starts a follower of the rows that are recorded from now on. Sessions of before
// are extracted when somebody asks for them.
func Follow(ctx context.Context, j *journal.Journal, of *graphsync.Evidence, graphs *graphsync.Syncer, log *slog.Logger) (*Follower, error) {
	f := &Follower{
		journal: j, of: of, graphs: graphs, log: slog.New(ratelog.NewHandler(log.Handler(), 0, nil)), due: make(map[record.Session]time.Time),
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

// Sync has the graph of a session brought up to date, soon.
func (f *Follower) Sync(s record.Session) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.due[s] = time.Now().Add(graphDelay)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Close ends the goroutine, and publishes the graphs that it had not come to: nobody may ask
// for them before another process reads the journal. It takes no longer than ctx.
func (f *Follower) Close(ctx context.Context) {
	if f == nil {
		return
	}
	f.stop()
	f.cancel()
	select {
	case <-f.done:
		f.publish(ctx, time.Now().Add(graphDelay))
	case <-ctx.Done():
	}
}

func (f *Follower) run(ctx context.Context) {
	defer close(f.done)
	next := time.NewTimer(followPause)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
			select {
			case <-ctx.Done():
				return
			case <-time.After(followPause):
			}
		case <-next.C:
		}
		wait := f.round(ctx)
		next.Stop()
		if wait > 0 {
			next.Reset(wait)
		}
	}
}

// round does what there is to do, and returns the time until there is a graph to be synced;
// 0 if there is none.
func (f *Follower) round(ctx context.Context) time.Duration {
	if err := f.extract(ctx); err != nil && ctx.Err() == nil {
		f.log.Warn("contextgraph: rows could not be extracted in the background; the next request for an approval of their session extracts them", "error", err)
	}
	return f.publish(ctx, time.Now())
}

// publish syncs the graphs that are due by now, and returns the time until the next one is.
func (f *Follower) publish(ctx context.Context, now time.Time) time.Duration {
	var ready []record.Session
	var wait time.Duration
	f.mu.Lock()
	for s, at := range f.due {
		if left := at.Sub(now); left <= 0 {
			ready = append(ready, s)
			delete(f.due, s)
		} else if wait == 0 || left < wait {
			wait = left
		}
	}
	f.mu.Unlock()
	for _, s := range ready {
		err := f.each(ctx, s, func(ctx context.Context, s record.Session) error {
			_, _, err := f.graphs.Sync(ctx, s)
			return err
		})
		if err != nil && ctx.Err() != nil {
			f.mu.Lock()
			f.due[s] = now // for close
			f.mu.Unlock()
		} else if err != nil {
			f.log.Warn("contextgraph: the graph of a session could not be published; its next request or contextgraph sync does", "session", s.ID, "error", err)
		}
	}
	return wait
}

// extract brings the evidence of the sessions up to date that have new rows.
func (f *Follower) extract(ctx context.Context) (err error) {
	newest, before := f.seen, int64(0)
	for more := true; more; {
		list, listErr := f.journal.Sessions(ctx, journal.SessionsQuery{Limit: followPage, Before: before, After: f.seen})
		if listErr != nil {
			return errors.Join(err, listErr)
		}
		more = len(list) == followPage
		for _, s := range list {
			if ctx.Err() != nil {
				more = false
				break
			}
			newest, before = max(newest, s.LastSeq), s.LastSeq
			if e := f.each(ctx, s.Session, f.of.Follow); e != nil && err == nil {
				err = e
			}
		}
	}
	f.seen = newest
	return err
}

// each works on one session for a bounded time. A panic is an error.
func (f *Follower) each(ctx context.Context, s record.Session, do func(context.Context, record.Session) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	return do(ctx, s)
}
