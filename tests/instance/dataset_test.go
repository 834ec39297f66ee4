// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package instance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// dataset is a warehouse.Connection that remembers what it was asked for.
type dataset struct {
	host warehouse.Host
	cfg  config.BigQuery
	// flush is what Flush does; nil returns at once.
	flush func(context.Context) error

	mu      sync.Mutex
	calls   []string
	rows    int64 // in the journal at the last Flush or Close
	status  warehouse.Status
	lastCtx context.Context
}

func (d *dataset) open(_ context.Context, cfg config.BigQuery, host warehouse.Host) (warehouse.Connection, error) {
	d.cfg, d.host = cfg, host
	return d, nil
}

func (d *dataset) Flush(ctx context.Context) error {
	if err := d.note(ctx, "flush"); err != nil {
		return err
	}
	if d.flush != nil {
		return d.flush(ctx)
	}
	return nil
}

func (d *dataset) note(ctx context.Context, call string) error {
	n, err := d.host.Journal.LastSeq(context.WithoutCancel(ctx))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.rows, d.lastCtx = append(d.calls, call), n, ctx
	return err
}

func (d *dataset) Status() warehouse.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.status
}

func (d *dataset) Close(ctx context.Context) error { return d.note(ctx, "close") }

func (d *dataset) called(call string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c == call {
			n++
		}
	}
	return n
}

// into streams to d.
func into(d *dataset, change func(*config.BigQuery)) cgtest.Option {
	return func(o *cgtest.Options) {
		o.Config.BigQuery = config.BigQuery{Project: "my-project", Dataset: "agents"}
		if change != nil {
			change(&o.Config.BigQuery)
		}
		o.Config.Part = warehouse.Opener(d.open)
	}
}

// A request for an approval, its answer and its verdicts bring the graph of their
// session to the dataset; nothing else does.
func TestApprovalsBringTheGraph(t *testing.T) {
	d := &dataset{}
	h := cgtest.New(t, cgtest.OnFile, into(d, nil))
	if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, "other", adktest.UserText("find routes")); err != nil {
		t.Fatal(err)
	}
	h.Rows("other") // until they are committed
	before, err := h.Journal().LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Ask(cgtest.SessionID)
	h.Rows(cgtest.SessionID)
	box := h.Journal().Outbox("bigquery:my-project.agents.agent_events")
	last, err := box.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Acquire(t.Context(), "me", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := box.Advance(t.Context(), "me", last, nil); err != nil {
		t.Fatal(err)
	}
	triggers, _, err := box.Graphs().Triggers(t.Context(), before, 100)
	if err != nil || len(triggers) == 0 {
		t.Fatalf("%d triggers, %v: the request brings no graph", len(triggers), err)
	}
	for _, x := range triggers {
		if x.Session != cgtest.Key(cgtest.SessionID) {
			t.Errorf("a graph of %v", x.Session)
		}
	}
	if d.cfg.Table != config.Default().BigQuery.Table || d.host.Sessions == nil {
		t.Errorf("opened with %+v and %+v", d.cfg, d.host)
	}
	if d.called("flush") != 0 {
		t.Error("a run waited for the dataset")
	}
}

// With flush_on_run_end a run ends when its last row was acknowledged, or after
// flush_timeout, whatever becomes of its client.
func TestFlushOnRunEnd(t *testing.T) {
	d := &dataset{}
	h := cgtest.New(t, cgtest.OnFile, into(d, func(c *config.BigQuery) { c.Stream.FlushOnRunEnd = true }))
	if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("find routes")); err != nil {
		t.Fatal(err)
	}
	rows := int64(len(h.Rows(cgtest.SessionID)))
	if d.called("flush") != 1 || d.rows != rows || rows == 0 {
		t.Errorf("%d flushes with %d of %d rows in the journal", d.called("flush"), d.rows, rows)
	}

	// In the time of a bubble: the journal, which is waited for first, takes none of it.
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &dataset{flush: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }}
		h := cgtest.New(t, cgtest.OnFile, into(d, func(c *config.BigQuery) {
			c.Stream.FlushOnRunEnd, c.Stream.FlushTimeout = true, time.Second
		}), func(o *cgtest.Options) { o.Config.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		ctx, hangUp := context.WithCancel(t.Context())
		for range h.Runner.Run(ctx, cgtest.User, cgtest.SessionID, adktest.UserText("find routes"), agent.RunConfig{}) {
			hangUp()
			break
		}
		hangUp()
		if n := d.called("flush"); n != 1 {
			t.Fatalf("%d flushes, want 1", n)
		}
		if err := d.lastCtx.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context ended with %v", err)
		}
		if !strings.Contains(log.String(), "they stay in the journal") {
			t.Errorf("the log does not say what became of the rows:\n%s", &log)
		}
	})
}

// A run does not wait where it cannot be told when its rows get there, and the log is not
// filled by many of them: while another process streams, and while streaming has stopped.
func TestFlushOnRunEndGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		standby bool
		flushes int
		reason  string
	}{
		"standby": {true, 0, "another process sends"},
		"stopped": {false, 20, "grant a role"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			d := &dataset{status: warehouse.Status{Enabled: true, Standby: c.standby}}
			d.flush = func(context.Context) error { return errors.New("stopped: grant a role") }
			h := cgtest.New(t, cgtest.OnFile, into(d, func(c *config.BigQuery) {
				c.Stream.FlushOnRunEnd, c.Stream.FlushTimeout = true, 5*time.Minute
			}), func(o *cgtest.Options) {
				o.Config.Logger = slog.New(slog.NewTextHandler(&log, nil))
				at := time.Now()
				o.Config.Now = func() time.Time { return at } // the log has a line a minute
			})
			for i := range 20 {
				if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, fmt.Sprint("s", i), adktest.UserText("find routes")); err != nil {
					t.Fatal(err)
				}
			}
			if n := d.called("flush"); n != c.flushes {
				t.Errorf("%d flushes, want %d", n, c.flushes)
			}
			if n := strings.Count(log.String(), "a run ended before"); n != 1 || !strings.Contains(log.String(), c.reason) {
				t.Errorf("%d lines in the log, want one with the reason:\n%s", n, &log)
			}
		})
	}
}

// The outbox of the dataset is there as soon as the journal is, so that retention, which
// looks at once, keeps what BigQuery lacks.
func TestRetentionKnowsTheDataset(t *testing.T) {
	noGraphs := func(c *config.BigQuery) { c.Graph.Sync = new(false) }
	for name, c := range map[string]struct {
		options      []cgtest.Option
		rows, graphs bool
	}{
		"with a dataset":  {[]cgtest.Option{into(&dataset{}, nil)}, true, true},
		"with rows alone": {[]cgtest.Option{into(&dataset{}, noGraphs)}, true, false},
		"without one":     {nil, false, false},
	} {
		h := cgtest.New(t, append([]cgtest.Option{cgtest.OnFile}, c.options...)...)
		box := h.Journal().Outbox("bigquery:my-project.agents.agent_events")
		for box, want := range map[store.Outbox]bool{box: c.rows, box.Graphs(): c.graphs} {
			err := box.Advance(t.Context(), "me", 0, nil)
			if !errors.Is(err, store.ErrLeaseLost) || strings.Contains(err.Error(), "does not exist") == want {
				t.Errorf("%s: Advance() of %s = %v", name, box.Destination(), err)
			}
		}
	}
}

// Close sends what is left after the last row is in the journal, and keeps time for
// the journal.
func TestCloseDrains(t *testing.T) {
	d := &dataset{}
	h := cgtest.New(t, cgtest.OnFile, into(d, nil))
	h.Ask(cgtest.SessionID)
	rows := int64(len(h.Rows(cgtest.SessionID)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := h.CG.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if d.called("close") != 1 || d.rows != rows {
		t.Errorf("%d closes with %d of %d rows in the journal", d.called("close"), d.rows, rows)
	}
	if deadline, ok := d.lastCtx.Deadline(); !ok || time.Until(deadline) > 45*time.Minute {
		t.Errorf("the dataset may take until %v of an hour", deadline)
	}

	d = &dataset{}
	h = cgtest.New(t, cgtest.OnFile, into(d, nil))
	if err := h.CG.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if deadline, ok := d.lastCtx.Deadline(); !ok || time.Until(deadline) > config.Default().BigQuery.Stream.FlushTimeout {
		t.Errorf("without a deadline the dataset may take until %v", deadline)
	}
}

func TestFlushBigQuery(t *testing.T) {
	gone := errors.New("gone")
	d := &dataset{flush: func(context.Context) error { return gone }}
	h := cgtest.New(t, cgtest.OnFile, into(d, nil))
	if err := h.CG.FlushBigQuery(t.Context()); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	h = cgtest.New(t, cgtest.OnFile)
	if err := h.CG.FlushBigQuery(t.Context()); err != nil {
		t.Errorf("without a dataset: %v", err)
	}
	if h.CG.Stats().BigQuery.Enabled {
		t.Error("a dataset without a configuration")
	}
}

// A configuration that names a dataset in a program without a client is refused with
// what to do, and leaves nothing open.
func TestDatasetWithoutClient(t *testing.T) {
	cfg := contextgraph.Config{
		Journal:  config.Journal{Path: filepath.Join(t.TempDir(), "j.db")},
		BigQuery: config.BigQuery{Project: "my-project", Dataset: "agents"},
	}
	quiet := contextgraph.WithLogger(cgtest.Quiet())
	_, err := contextgraph.Open(t.Context(), cfg, quiet)
	if err == nil || !strings.Contains(err.Error(), "bqstream.Option()") {
		t.Errorf("got %v", err)
	}
	refused := errors.New("refused")
	part := contextgraph.WithPart(warehouse.Opener(func(context.Context, config.BigQuery, warehouse.Host) (warehouse.Connection, error) {
		return nil, refused
	}))
	if _, err := contextgraph.Open(t.Context(), cfg, quiet, part); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	cfg.Enabled = new(false)
	cg, err := contextgraph.Open(t.Context(), cfg, quiet, part)
	if err != nil {
		t.Fatalf("with recording off: %v", err)
	}
	if err := cg.FlushBigQuery(t.Context()); err != nil {
		t.Error(err)
	}
	if err := cg.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWarehouseMetrics(t *testing.T) {
	reader, provide := metered(t)
	d := &dataset{status: warehouse.Status{
		Enabled: true, Acknowledged: 5, Bytes: 6, Retries: 7, PartsLost: 14, LagRows: 8, LagSeconds: 9, DeadLetters: 10,
		GraphSyncs: 11, GraphErrors: 12, GraphPending: 13, GraphGivenUp: 14, LastError: errors.New("x"),
	}}
	cgtest.New(t, cgtest.OnFile, provide, into(d, nil))
	got := points(t, reader)
	want := map[string]int64{
		"contextgraph.warehouse.rows": 5, "contextgraph.warehouse.bytes": 6, "contextgraph.warehouse.retries": 7,
		"contextgraph.warehouse.lag_rows": 8, "contextgraph.warehouse.lag": 9, "contextgraph.warehouse.dead_letters": 10,
		"contextgraph.warehouse.graph_syncs/ok": 11, "contextgraph.warehouse.graph_syncs/error": 12,
		"contextgraph.warehouse.parts_lost": 14, "contextgraph.warehouse.graphs_pending": 13, "contextgraph.warehouse.graphs_given_up": 14, "contextgraph.warehouse.failing": 1,
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s = %d, want %d", name, got[name], n)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && slices.Contains(strings.Split(name, "."), "warehouse") {
			t.Errorf("%s is not expected", name)
		}
	}
}
