// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// errNoClient is returned by Open for a configuration that names a dataset in a program
// that has no client for it.
var errNoClient = errors.New("contextgraph: the configuration names a BigQuery dataset, and the program has no client for it: " +
	"import github.com/adk-contextgraph/contextgraph/bqstream and give bqstream.Option(), " +
	"or remove the section bigquery")

// connect opens the connection to the dataset of the configuration, if it names one.
func (in *Instance) connect(ctx context.Context) error {
	if !in.cfg.BigQuery.Enabled() {
		return nil
	}
	if in.code.open == nil {
		return errNoClient
	}
	publisher, publishes := in.store.(store.Publisher)
	if !publishes {
		return fmt.Errorf("contextgraph: %s cannot stream to BigQuery: use a journal, or remove the section bigquery", in.store.Name())
	}
	host := warehouse.Host{Journal: publisher, Sessions: in.sessions, Logger: in.log, Now: in.code.Now}
	if in.parts != nil {
		host.Parts = warehouse.Parts{Store: in.parts, Connection: in.cfg.Record.Artifacts.Connection}
	}
	c, err := in.code.open(ctx, in.cfg.BigQuery, host)
	if err != nil {
		return fmt.Errorf("contextgraph: connect to BigQuery: %w", err)
	}
	in.warehouse = c
	return nil
}

// destinations returns the outboxes that retention has to know of from the beginning on.
func (in *Instance) destinations() ([]string, error) {
	if !in.cfg.BigQuery.Enabled() || in.code.open == nil {
		return nil, nil
	}
	names, err := warehouse.NamesOf(in.cfg.BigQuery)
	if err != nil {
		return nil, fmt.Errorf("contextgraph: %w", err)
	}
	to := names.Destination()
	if *in.cfg.BigQuery.Graph.Sync {
		return []string{to, store.GraphDestination(to)}, nil
	}
	return []string{to}, nil
}

// runEnded returns what the recorder calls at the end of a run, nil for nothing.
func (in *Instance) runEnded() func(context.Context) {
	if in.warehouse == nil || !in.cfg.BigQuery.Stream.FlushOnRunEnd {
		return nil
	}
	wait := in.cfg.BigQuery.Stream.FlushTimeout
	log := slog.New(ratelog.NewHandler(in.log.Handler(), 0, in.code.Now)) // runs end often
	return func(ctx context.Context) {
		// A client that hung up is no reason to lose the rows of its run.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
		defer cancel()
		rows, parts := in.flush(ctx, func(ctx context.Context) error {
			if in.warehouse.Status().Standby {
				return errStandby
			}
			return in.warehouse.Flush(ctx)
		})
		if rows != nil {
			log.Warn("contextgraph: a run ended before BigQuery had all its events; they stay in the journal", "error", rows)
		}
		if parts != nil {
			log.Warn("contextgraph: a run ended before all its parts were stored", "error", parts)
		}
	}
}

// errStandby is why a run does not wait: nobody can tell when its rows are acknowledged.
var errStandby = errors.New("another process sends the rows of this journal")

// flush waits until every row recorded before is on disk, and then for send; meanwhile
// for the parts. A store of parts that hangs or fails keeps no row from being sent.
func (in *Instance) flush(ctx context.Context, send func(context.Context) error) (rows, parts error) {
	var storing sync.WaitGroup
	if in.parts != nil {
		storing.Go(func() { parts = in.parts.Flush(ctx) })
	}
	if rows = in.store.Flush(ctx); rows == nil {
		rows = send(ctx)
	}
	storing.Wait()
	return rows, parts
}

// FlushBigQuery waits until BigQuery has acknowledged every event recorded before the
// call. It returns early with the reason when that cannot be expected or ctx ends;
// nothing is lost then. Without a dataset it is [Instance.Flush].
func (in *Instance) FlushBigQuery(ctx context.Context) error {
	if in.warehouse == nil {
		return in.Flush(ctx)
	}
	return errors.Join(in.flush(ctx, in.warehouse.Flush))
}

// drain sends the remaining rows to BigQuery. It leaves some of the time for the journal; without a
// limit, a dataset that cannot be reached would keep the process from ending.
func (in *Instance) drain(ctx context.Context) error {
	if in.warehouse == nil {
		return nil
	}
	wait := in.cfg.BigQuery.Stream.FlushTimeout
	if deadline, ok := ctx.Deadline(); ok {
		wait = time.Until(deadline) * 3 / 4
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := in.store.Flush(bounded)
	return errors.Join(err, in.warehouse.Close(bounded))
}
