// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// closeGrace is how long Close waits for what it has interrupted.
const closeGrace = 500 * time.Millisecond

// life is what ends with Close.
type life struct {
	closing chan struct{} // closed by the first Close
	done    chan struct{} // closed when everything has ended
	hurry   context.Context
	hasten  context.CancelCauseFunc // ends what is under way
	once    sync.Once
	busy    sync.WaitGroup // the goroutines but the writer
	err     error          // of Close, to be read after done is closed
}

// start starts the goroutines. Who only reads removes nothing.
func (s *db) start(c config.Journal, read bool) {
	s.closing, s.done = make(chan struct{}), make(chan struct{})
	s.hurry, s.hasten = context.WithCancelCause(context.Background())
	s.flushes, s.known = make(chan chan error), make(map[string]struct{})
	s.held = make(map[string]struct{})
	s.busy.Go(s.renew)
	if c.Retention.MaxAge > 0 && !read {
		s.busy.Go(func() { s.retain(c.Retention.MaxAge) })
	}
	go s.write(c.CommitInterval)
}

func (s *db) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// every calls f at once and then after each interval, until the store closes.
func (s *db) every(interval time.Duration, f func()) {
	for timer := time.NewTimer(0); ; timer.Reset(interval) {
		select {
		case <-timer.C:
			f()
		case <-s.closing:
			timer.Stop()
			return
		}
	}
}

// do runs f, which may take statementTime and ends with the store.
func (s *db) do(ctx context.Context, what string, f func(ctx context.Context) error) error {
	if s.isClosed() {
		return fmt.Errorf("postgres: %s: %w", what, store.ErrClosed)
	}
	bounded, cancel := context.WithTimeout(ctx, statementTime)
	defer cancel()
	defer context.AfterFunc(s.hurry, cancel)()
	err := context.Cause(ctx)
	if err == nil {
		err = f(bounded)
	}
	return s.reason(ctx, what, err)
}

// read returns what scan makes of each row of a statement.
func read[T any](ctx context.Context, s *db, name string, scan func(scanner) (T, error), args ...any) (list []T, err error) {
	err = s.do(ctx, name, func(ctx context.Context) (err error) {
		list, err = query(ctx, s.pool, name, scan, args...)
		return err
	})
	return list, err
}

// Close stores what waits, then ends the connections. When ctx ends first, what cannot be stored at once is lost and
// counted. It returns soon after ctx has ended. All calls wait for the first and return its result.
func (s *db) Close(ctx context.Context) error {
	s.once.Do(func() {
		s.queue.Close()
		close(s.closing)
	})
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
	}
	s.hasten(context.Cause(ctx))
	select {
	case <-s.done:
		return s.err
	case <-time.After(closeGrace):
		return fmt.Errorf("postgres: close: %w: the connections do not end", context.Cause(ctx))
	}
}

// end is what the writer does last.
func (s *db) end() {
	s.busy.Wait()
	s.hasten(store.ErrClosed)
	s.pool.Close()
	close(s.done)
}
