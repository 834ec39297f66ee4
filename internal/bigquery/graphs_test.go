// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

var errSync = errors.New("not now")

func named(id string) record.Session { return record.Session{App: "shop", User: "alice", ID: id} }

// approvals is a journal with rows of approvals, and a GraphSyncer that brings graphs to nobody.
type approvals struct {
	*journal.Journal
	t    *testing.T
	rows int

	mu      sync.Mutex
	log     strings.Builder
	brought []string
	idle    int
	// fail says what the bringing of a session ends with; nil for nothing.
	fail func(ctx context.Context, id string) error
}

const destination = "bigquery:my-project.agents.agent_events"

func newApprovals(t *testing.T) *approvals {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{
		Journal: config.Journal{Path: journaltest.Path(t)}, Destinations: []string{destination, store.GraphDestination(destination)},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &approvals{Journal: j, t: t}
}

// Write implements the log.
func (a *approvals) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Write(p)
}

// record stores a verdict in each of the sessions, in their order.
func (a *approvals) record(ids ...string) {
	a.t.Helper()
	for _, id := range ids {
		a.rows++
		s := named(id)
		if !a.Append(record.Event{
			Timestamp: time.Now().UnixMicro(), EventID: eventID(a.rows), EventType: record.WorldChangeCheck, Status: record.StatusOK,
			AppName: s.App, UserID: s.User, SessionID: s.ID, RunID: "r", RunSeq: int64(a.rows),
		}) {
			a.t.Fatal("a row was refused")
		}
	}
	if err := a.Flush(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

// acknowledge moves the position of the rows.
func (a *approvals) acknowledge(to int64) {
	a.t.Helper()
	o := a.Outbox(destination)
	if _, err := o.Acquire(a.t.Context(), "rows", time.Hour); err != nil {
		a.t.Fatal(err)
	}
	if err := o.Advance(a.t.Context(), "rows", to, nil); err != nil {
		a.t.Fatal(err)
	}
}

// ended returns how often the stream was ended.
func (a *approvals) ended() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle
}

// at returns the position of the graphs.
func (a *approvals) at() int64 {
	a.t.Helper()
	at, err := a.Outbox(destination).Graphs().Position(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return at
}

// start starts a GraphSyncer, as another process with the same journal would.
func (a *approvals) start() *bigquery.GraphSyncer {
	return bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
		Journal: a.Journal, Destination: destination, Logger: slog.New(slog.NewTextHandler(a, nil)),
		Sync: func(ctx context.Context, s record.Session) error {
			a.mu.Lock()
			a.brought = append(a.brought, s.ID)
			fail := a.fail
			a.mu.Unlock()
			if fail == nil {
				return nil
			}
			return fail(ctx, s.ID)
		},
		Idle: func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.idle++
		},
	})
}

func (a *approvals) failing(fail func(ctx context.Context, id string) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = fail
}

// got returns the sessions that were brought, or tried, since the last call.
func (a *approvals) got() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := strings.Join(a.brought, " ")
	a.brought = nil
	return got
}

func (a *approvals) want(g *bigquery.GraphSyncer, brought string, want warehouse.Status) {
	a.t.Helper()
	if got := a.got(); got != brought {
		a.t.Errorf("brought %q, want %q", got, brought)
	}
	var s warehouse.Status
	g.Report(&s)
	s.GraphError = nil
	if s != want {
		a.t.Errorf("status %+v, want %+v", s, want)
	}
}

// later lets time pass in a bubble.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestGraphSyncerBringsEachSessionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApprovals(t)
		a.record("a", "b", "a", "c", "b", "d")
		a.acknowledge(4)
		g := a.start()
		later(time.Second)
		// d, and what is new of b, come when their rows are acknowledged.
		a.want(g, "a b c", warehouse.Status{GraphSyncs: 3, GraphPending: 2})
		if at := a.at(); at != 4 {
			t.Errorf("it is at %d, want 4", at)
		}
		later(time.Minute)
		a.want(g, "", warehouse.Status{GraphSyncs: 3, GraphPending: 2})
		a.acknowledge(6)
		later(time.Second)
		a.want(g, "b d", warehouse.Status{GraphSyncs: 5})
		a.record("a")
		a.acknowledge(7)
		for range 2 { // idempotent
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		a.want(g, "a", warehouse.Status{GraphSyncs: 6})
		if at := a.at(); at != 7 {
			t.Errorf("closed, it is at %d, want 7", at)
		}
	})
}

// The position follows the rows also where no graph is to be brought: retention waits for it. The
// stream is not kept for that.
func TestGraphSyncerMovesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApprovals(t)
		a.record("a")
		a.Append(record.Event{EventID: "x", EventType: record.AgentStarting, Status: record.StatusOK, SessionID: "x", Timestamp: 1})
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.acknowledge(1)
		g := a.start()
		later(2 * time.Second)
		a.acknowledge(2)
		later(10 * time.Second)
		if at := a.at(); at != 1 || a.ended() != 0 {
			t.Errorf("it is at %d at once, and the stream was ended %d times", at, a.ended())
		}
		later(2 * time.Minute)
		if at := a.at(); at != 2 || a.ended() != 1 {
			t.Errorf("it is at %d, want 2, and the stream was ended %d times, want once", at, a.ended())
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What may pass is tried again until it does, with pauses, and holds up the others: they would fail
// alike.
func TestGraphSyncerTriesForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApprovals(t)
		a.record("a", "b", "c")
		a.acknowledge(3)
		denied := &replicate.Error{Class: replicate.ClassPermanent, Err: errSync, Remedy: "give a role"}
		a.failing(func(_ context.Context, id string) error {
			if id == "b" {
				return fmt.Errorf("append: %w", denied)
			}
			return nil
		})
		g := a.start()
		later(time.Second)
		a.want(g, "a b", warehouse.Status{GraphSyncs: 1, GraphErrors: 1, GraphPending: 3})
		later(48 * time.Hour)
		tried := strings.Fields(a.got())
		if i := slices.IndexFunc(tried, func(id string) bool { return id != "b" }); i >= 0 || len(tried) < 48*60/6 || len(tried) > 48*60/2 {
			t.Errorf("in two days it was tried %d times, and %v", len(tried), i)
		}
		var s warehouse.Status
		if g.Report(&s); s.GraphGivenUp != 0 || s.GraphPending != 3 || !errors.Is(s.GraphError, errSync) || !strings.Contains(s.GraphError.Error(), "session b") {
			t.Errorf("status %+v", s)
		}
		if n := strings.Count(a.log.String(), "could not be brought"); n == 0 || n > len(tried) {
			t.Errorf("%d lines in the log", n)
		}
		a.failing(nil)
		a.record("a") // after it was brought
		a.acknowledge(4)
		later(5 * time.Minute)
		a.want(g, "a b c", warehouse.Status{GraphSyncs: 4, GraphErrors: s.GraphErrors})
		if g.Report(&s); s.GraphError != nil {
			t.Errorf("after a success: %v", s.GraphError)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A session that is refused, or is gone, is counted, logged with the remedy, and holds up nobody.
func TestGraphSyncerPassesOver(t *testing.T) {
	for name, err := range map[string]error{
		"refused":    &replicate.Error{Class: replicate.ClassRows, Err: errSync},
		"too large":  &replicate.Error{Class: replicate.ClassTooLarge, Err: errSync},
		"no rows":    warehouse.ErrNoRows,
		"impossible": bigquery.ErrGraph,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newApprovals(t)
				a.record("a", "bad", "c")
				a.acknowledge(3)
				a.failing(func(_ context.Context, id string) error {
					if id == "bad" {
						return fmt.Errorf("sync: %w", err)
					}
					return nil
				})
				g := a.start()
				later(time.Second)
				a.want(g, "a bad c", warehouse.Status{GraphSyncs: 2, GraphErrors: 1, GraphGivenUp: 1})
				if log := a.log.String(); !strings.Contains(log, "contextgraph sync") || !strings.Contains(log, "session=bad") || !strings.Contains(log, "user=alice") {
					t.Errorf("the log does not say what to do:\n%s", log)
				}
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A thousand sessions ask at once, and some fail for good: each is brought once or counted as given
// up, and none is lost.
func TestGraphSyncerUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 2500 // more than one batch
		a := newApprovals(t)
		ids := make([]string, sessions)
		for i := range ids {
			ids[i] = fmt.Sprintf("s%04d", i)
		}
		a.record(ids...)
		a.record(ids[:100]...) // far from the first
		a.acknowledge(sessions + 100)
		failures := 0
		a.failing(func(_ context.Context, id string) error {
			switch {
			case strings.HasSuffix(id, "0"):
				return warehouse.ErrNoRows
			case strings.HasSuffix(id, "7") && failures%2 == 0: // the connection breaks now and then
				failures++
				return errSync
			case strings.HasSuffix(id, "7"):
				failures++
			}
			return nil
		})
		g := a.start()
		later(time.Hour)
		var s warehouse.Status
		g.Report(&s)
		if s.GraphPending != 0 || s.GraphGivenUp != 260 || s.GraphSyncs != 2340 || s.GraphErrors != 260+260 {
			t.Errorf("status %+v", s)
		}
		counts := make(map[string]int)
		for _, id := range strings.Fields(a.got()) {
			counts[id]++
		}
		if len(counts) != sessions {
			t.Errorf("%d sessions were tried, want all %d", len(counts), sessions)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Of two processes with one journal one works at a time, and the other goes on where it ended.
func TestGraphSyncerOneProcessAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApprovals(t)
		a.record("a", "b")
		a.acknowledge(2)
		release := make(chan struct{})
		a.failing(func(ctx context.Context, _ string) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		first := a.start()
		later(time.Second)
		second := a.start()
		later(5 * time.Second)
		a.want(second, "a", warehouse.Status{GraphPending: 2})
		if err := second.Close(t.Context()); err != nil {
			t.Errorf("the one that stands by: %v", err)
		}
		second = a.start()
		// A process that hangs loses the lease, and does not move the position any more.
		later(time.Minute)
		if got := a.got(); got != "a" {
			t.Errorf("the second brought %q", got)
		}
		close(release)
		later(10 * time.Minute)
		if at := a.at(); at != 2 {
			t.Errorf("it is at %d, want 2", at)
		}
		for _, g := range []*bigquery.GraphSyncer{first, second} {
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		for _, id := range strings.Fields(a.got()) {
			if id != "a" && id != "b" {
				t.Errorf("brought %q", id)
			}
		}
	})
}

// Close tries once more, says how much is left, and ends with its context. The rest is brought after
// the next start.
func TestGraphSyncerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApprovals(t)
		a.record("a", "b")
		a.acknowledge(2)
		a.failing(func(_ context.Context, id string) error {
			if id == "b" {
				return errSync
			}
			return nil
		})
		g := a.start()
		later(time.Second)
		a.want(g, "a b", warehouse.Status{GraphSyncs: 1, GraphErrors: 1, GraphPending: 2})
		if err := g.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "after 2 rows of approvals were not brought") {
			t.Errorf("Close = %v", err)
		}
		a.want(g, "b", warehouse.Status{GraphSyncs: 1, GraphErrors: 2, GraphPending: 2})

		a.failing(func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		g = a.start()
		later(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := g.Close(ctx); err == nil || time.Since(start) != time.Second {
			t.Errorf("Close = %v after %v", err, time.Since(start))
		}
		a.got()

		a.failing(nil)
		g = a.start()
		later(time.Minute)
		a.want(g, "a b", warehouse.Status{GraphSyncs: 2})
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if triggers, _, err := a.Outbox(destination).Graphs().Triggers(t.Context(), a.at(), 10); err != nil || len(triggers) > 0 {
			t.Errorf("%d triggers are left, %v", len(triggers), err)
		}
	})
}
