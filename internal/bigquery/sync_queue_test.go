// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

var errSync = errors.New("not now")

func named(id string) record.Session { return record.Session{App: "shop", User: "alice", ID: id} }

func graphStatus(q *bigquery.GraphSyncer) warehouse.Status {
	var s warehouse.Status
	q.Report(&s)
	return s
}

func TestGraphSyncerTakesSessionsInOrderAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		release := make(chan struct{})
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.DiscardHandler),
			Sync: func(_ context.Context, s record.Session) error {
				order = append(order, s.ID)
				if s.ID == "a" && len(order) == 1 {
					<-release
				}
				return nil
			},
		})
		q.Add(named("a"))
		synctest.Wait()
		for _, id := range []string{"b", "c", "b", "a", "a"} {
			q.Add(named(id)) // a is under way: what it reads may be too early, so it waits again
		}
		if s := graphStatus(q); s.GraphPending != 4 {
			t.Errorf("%d pending, want 4", s.GraphPending)
		}
		close(release)
		synctest.Wait()
		if want := []string{"a", "b", "c", "a"}; !slices.Equal(order, want) {
			t.Errorf("order = %v, want %v", order, want)
		}
		if s := graphStatus(q); s.GraphSyncs != 4 || s.GraphPending != 0 || s.GraphErrors != 0 || s.GraphError != nil {
			t.Errorf("status = %+v", s)
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestGraphSyncerTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures, others atomic.Int64
		start := time.Now()
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.DiscardHandler), MaxAttempts: 4,
			Sync: func(_ context.Context, s record.Session) error {
				if s.ID == "bad" {
					failures.Add(1)
					return errSync
				}
				if others.Add(1) == 1 && time.Since(start) != 0 {
					t.Errorf("a session that failed held up another one for %v", time.Since(start))
				}
				return nil
			},
		})
		defer q.Close(t.Context())
		q.Add(named("bad"))
		q.Add(named("good"))
		synctest.Wait()
		if s := graphStatus(q); failures.Load() != 1 || others.Load() != 1 || s.GraphPending != 1 || s.GraphErrors != 1 {
			t.Errorf("%d failures, %d others, status %+v", failures.Load(), others.Load(), s)
		}
		q.Add(named("bad")) // waits as it is
		synctest.Wait()
		if failures.Load() != 1 {
			t.Errorf("a session that failed was tried without a pause")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		s := graphStatus(q)
		if failures.Load() != 4 || s.GraphPending != 0 || s.GraphErrors != 4 || !errors.Is(s.GraphError, errSync) || !strings.Contains(s.GraphError.Error(), "bad") {
			t.Errorf("%d failures, status %+v", failures.Load(), s)
		}
		q.Add(named("good"))
		synctest.Wait()
		if s := graphStatus(q); s.GraphError != nil || s.GraphSyncs != 2 {
			t.Errorf("after a success: %+v", s)
		}
	})
}

func TestGraphSyncerWaitsForRowsWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at time.Duration
		var bounded bool
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.DiscardHandler), FlushWait: 7 * time.Second, Timeout: time.Minute,
			Flush: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			},
			Sync: func(ctx context.Context, _ record.Session) error {
				at = time.Since(start)
				until, ok := ctx.Deadline()
				bounded = ok && time.Until(until) == time.Minute
				return nil
			},
		})
		q.Add(named("a"))
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if at != 7*time.Second || !bounded {
			t.Errorf("synced after %v, bounded %v", at, bounded)
		}
	})
}

func TestGraphSyncerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		release := make(chan struct{})
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxPending: 2,
			Sync: func(context.Context, record.Session) error { <-release; return nil },
		})
		q.Add(named("running"))
		synctest.Wait()
		q.Add(named("first"))
		q.Add(named("second"))
		q.Add(named("third"))
		if s := graphStatus(q); s.GraphPending != 3 || s.GraphErrors != 1 || !strings.Contains(log.String(), "session=third") {
			t.Errorf("status %+v, log %s", s, log.String())
		}
		close(release)
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		q.Add(named("late"))
		if s := graphStatus(q); s.GraphSyncs != 3 || s.GraphErrors != 2 || !strings.Contains(log.String(), "session=late") {
			t.Errorf("after Close: status %+v, log %s", s, log.String())
		}
	})
}

func TestGraphSyncerCloseTriesOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		tries := make(map[string]int)
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Sync: func(_ context.Context, s record.Session) error {
				if tries[s.ID]++; s.ID == "bad" || tries[s.ID] == 1 {
					return errSync
				}
				return nil
			},
		})
		q.Add(named("bad"))
		q.Add(named("good"))
		synctest.Wait() // both failed and wait
		log.Reset()
		start := time.Now()
		err := q.Close(t.Context())
		if err == nil || !strings.Contains(err.Error(), "1 session") {
			t.Errorf("Close = %v", err)
		}
		if tries["bad"] != 2 || tries["good"] != 2 || time.Since(start) != 0 {
			t.Errorf("tries %v after %v", tries, time.Since(start))
		}
		if !strings.Contains(log.String(), "session=bad") || strings.Contains(log.String(), "session=good") {
			t.Errorf("log: %s", log.String())
		}
		if again := q.Close(t.Context()); again == nil || again.Error() != err.Error() {
			t.Errorf("the second Close = %v", again)
		}
	})
}

func TestGraphSyncerCloseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Sync: func(ctx context.Context, _ record.Session) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		q.Add(named("slow"))
		q.Add(named("next"))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if err := q.Close(ctx); err == nil || !strings.Contains(err.Error(), "2 session") {
			t.Errorf("Close = %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("Close took %v", took)
		}
		for _, id := range []string{"slow", "next"} {
			if !strings.Contains(log.String(), "session="+id) {
				t.Errorf("%s is not logged: %s", id, log.String())
			}
		}
	})
}

func TestGraphSyncerGivesUpOnASessionWithoutRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.DiscardHandler),
			Sync:   func(context.Context, record.Session) error { tries.Add(1); return warehouse.ErrNoRows },
		})
		defer q.Close(t.Context())
		q.Add(named("gone"))
		time.Sleep(time.Hour)
		if s := graphStatus(q); tries.Load() != 1 || s.GraphPending != 0 || s.GraphErrors != 1 {
			t.Errorf("%d tries, status %+v", tries.Load(), s)
		}
	})
}
