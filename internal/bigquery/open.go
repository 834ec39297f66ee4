// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// With returns a [warehouse.Opener] that makes its clients with o. The logger and the
// clock are those of the host where o has none.
func With(o DatasetOptions) warehouse.Opener { return with(o, pauses{}) }

// pauses are those that tests cannot wait for.
type pauses struct {
	table   time.Duration // see tableWait; 0 stands for that
	recheck time.Duration // see [replicate.Config]
	graphs  time.Duration // see [GraphSyncerConfig.Poll]
}

func with(o DatasetOptions, p pauses) warehouse.Opener {
	return func(ctx context.Context, cfg config.BigQuery, host warehouse.Host) (warehouse.Connection, error) {
		o := o // of this connection: another one has another host
		if o.Logger == nil {
			o.Logger = host.Logger
		}
		if o.Now == nil {
			o.Now = host.Now
		}
		// A client keeps the context it is made with.
		d, err := NewDataset(context.WithoutCancel(ctx), cfg, o)
		if err != nil {
			return nil, err
		}
		c := &connection{dataset: d, host: host, ready: make(chan struct{}), closed: make(chan struct{})}
		c.log = slog.New(ratelog.NewHandler(d.log.Handler(), 0, nil))
		c.life, c.end = context.WithCancel(context.Background())
		rows := streamed{d.cfg.PayloadColumnDenylist, host.Parts}
		c.rows = replicate.New(replicate.Config{
			Source: preparedSource{host.Journal.Outbox(d.names.Destination()), rows}, Target: awaited{d.Target(), c.ready},
			TooLarge: rows.advice(),
			BatchAge: d.batchAge, AckTimeout: d.ackTimeout, Recheck: p.recheck, Logger: d.log,
		})
		if *d.cfg.Graph.Sync {
			c.writer = d.GraphWriter()
			c.writer.target = awaited{c.writer.target, c.ready}
			c.graphs = NewGraphSyncer(GraphSyncerConfig{
				Journal: host.Journal, Destination: d.names.Destination(), Sync: c.syncGraph, Idle: c.writer.Close, Poll: p.graphs, Logger: d.log,
			})
		} else {
			c.work.Go(c.forgetGraphs)
		}
		if !*d.cfg.Init {
			c.made()
		} else {
			c.patience = time.AfterFunc(cmp.Or(p.table, tableWait), c.made)
			c.work.Go(c.init)
		}
		c.rows.Start()
		return c, nil
	}
}

// connection streams the rows of one journal to its dataset.
type connection struct {
	dataset *Dataset
	host    warehouse.Host
	log     *slog.Logger
	rows    *replicate.Replicator
	graphs  *GraphSyncer // nil: left to people
	writer  *GraphWriter // of the goroutine of graphs alone
	// ready is closed when the table of events was made or looked at, or could not be.
	ready chan struct{}
	once  sync.Once
	// patience ends the wait for that; nil when nothing is waited for.
	patience *time.Timer

	// life ends with end, and work with it.
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	closing sync.Once
	// closed is closed at the end of Close; closeErr may be read after that.
	closed   chan struct{}
	closeErr error

	mu          sync.Mutex
	initialized bool
	initErr     error
}

// Pauses between two attempts to make what the dataset lacks: the first, and the
// longest. People who may change that have to be found first.
const (
	firstInitWait   = 5 * time.Second
	longestInitWait = 10 * time.Minute
	// initTimeout bounds one attempt: the client library tries again for as long as it
	// may while the API answers 503, and waits for as long where it answers nothing.
	initTimeout = 5 * time.Minute
	// tableWait is how long rows wait for the table of events to be looked at. After it
	// they go: the table is there at every start but the first.
	tableWait = 10 * time.Second
)

// made lets rows go.
func (c *connection) made() { c.once.Do(func() { close(c.ready) }) }

// init makes what the dataset lacks, once, and tries again while that fails.
func (c *connection) init() {
	events := c.dataset.names.Events()
	for wait := firstInitWait; ; wait = min(2*wait, longestInitWait) {
		var report InitReport
		err := c.dataset.guard("the dataset is brought up to date", func() (err error) {
			ctx, cancel := context.WithTimeout(c.life, initTimeout)
			defer cancel()
			report, err = c.dataset.Init(ctx, InitOptions{Quick: true, Progress: func(o InitObject) {
				if o.Kind == warehouse.KindTable && o.Name == events {
					c.made()
				}
			}})
			return err
		})
		c.made()
		c.mu.Lock()
		c.initialized, c.initErr = err == nil, err
		c.mu.Unlock()
		if c.life.Err() != nil {
			return
		}
		if err == nil {
			if report.Changed() {
				c.log.Info("contextgraph: the BigQuery dataset was brought up to date", "objects", len(report.Objects))
			}
			for _, note := range report.Notes {
				c.log.Info("contextgraph: BigQuery: " + note)
			}
			return
		}
		c.log.Warn("contextgraph: the BigQuery dataset could not be brought up to date; it is tried again", "error", err)
		if sleep(c.life, wait/2+rand.N(wait/2)) != nil {
			return
		}
	}
}

// awaited opens streams when the table was looked at.
type awaited struct {
	replicate.Target
	ready <-chan struct{}
}

// Open implements [replicate.Target].
func (a awaited) Open(ctx context.Context) (replicate.Stream, error) {
	select {
	case <-a.ready:
		return a.Target.Open(ctx)
	case <-ctx.Done():
		return nil, &replicate.Error{Class: replicate.ClassTransient, Err: fmt.Errorf("bigquery: the table is still being made: %w", context.Cause(ctx))}
	}
}

// guard makes an error of a panic, of the client library for one: nothing here may end
// the program whose runs are recorded.
func (d *Dataset) guard(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("contextgraph: panic while BigQuery is used", "while", what, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("bigquery: %w while %s: %v", errPanic, what, p)
		}
	}()
	return f()
}

// errPanic is in the errors that guard makes.
var errPanic = errors.New("panic")

// syncGraph brings the graph of a session to the dataset.
func (c *connection) syncGraph(ctx context.Context, s record.Session) error {
	var g warehouse.SessionGraph
	err := c.dataset.guard("a graph is made", func() (err error) {
		g, err = JournalGraph(ctx, c.host.Journal, c.host.Sessions, s)
		return err
	})
	switch {
	case errors.Is(err, errPanic):
		return fmt.Errorf("%w: %w", errGraph, err)
	case err != nil:
		return err
	}
	return c.dataset.guard("a graph is brought", func() error {
		_, err := c.writer.Write(ctx, g)
		return err
	})
}

// forgetGraphs ends the wait of retention for graphs that nobody brings any more.
func (c *connection) forgetGraphs() {
	err := c.host.Journal.Outbox(c.dataset.names.Destination()).Graphs().Forget(c.life)
	if err != nil && c.life.Err() == nil {
		c.log.Warn("contextgraph: the journal waits for graphs although graph.sync is off", "error", err)
	}
}

// Flush implements [warehouse.Connection].
func (c *connection) Flush(ctx context.Context) error { return c.rows.Flush(ctx) }

// Status implements [warehouse.Connection].
func (c *connection) Status() warehouse.Status {
	r := c.rows.Status()
	s := warehouse.Status{
		Enabled: true, Active: r.Active, Standby: r.Standby, LagRows: r.LagRows, LagSeconds: r.LagSeconds,
		Acknowledged: r.Acknowledged, Bytes: r.Bytes, Retries: r.Retries, Reopened: r.Reopened,
		DeadLetters: r.DeadLetters, PartsLost: r.PartsLost, LastError: r.LastError, FailingSince: r.FailingSince, Stopped: r.Stopped,
	}
	if c.graphs != nil {
		c.graphs.Report(&s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Ready, s.InitError = c.initialized || !*c.dataset.cfg.Init, c.initErr
	return s
}

// Close implements [warehouse.Connection]. Rows go first, the graphs made from them
// second. It returns soon after the end of ctx, even
// where the client library does not.
func (c *connection) Close(ctx context.Context) error {
	c.closing.Do(func() {
		go func() {
			defer close(c.closed)
			// A table that cannot be looked at any more is no reason to send nothing.
			c.made()
			if c.patience != nil {
				c.patience.Stop()
			}
			rows := c.rows.Close(ctx)
			var graphs error
			if c.graphs != nil {
				graphs = c.graphs.Close(ctx)
			}
			c.end()
			c.work.Wait()
			c.closeErr = errors.Join(rows, graphs, c.dataset.Close())
		}()
	})
	select {
	case <-c.closed:
		return c.closeErr
	case <-ctx.Done():
	}
	grace := time.NewTimer(closeTimeout)
	defer grace.Stop()
	select {
	case <-c.closed:
		return c.closeErr
	case <-grace.C:
		return fmt.Errorf("bigquery: close: the client has not returned: %w", context.Cause(ctx))
	}
}
