// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

const (
	// stageLife is how long a staging table lives that nobody could drop.
	stageLife = time.Hour
	// dropTimeout bounds the dropping of the staging tables of one session, and
	// lastDropTimeout that of one whose context has ended: somebody waits for the end.
	dropTimeout     = 30 * time.Second
	lastDropTimeout = 2 * time.Second
)

// stageNames are the names of the staging tables, as sync_session takes them.
type stageNames struct{ Nodes, Edges, Entities, Links, Checks string }

// staged are the staging tables of one session.
type staged struct {
	d     *Dataset
	names stageNames
	// tables are those that may exist; nil for one that does not.
	tables []*bq.Table
}

// content is what one staging table holds: rows of the table it is named for.
type content struct {
	name  string
	table warehouse.Table
	rows  []byte
}

// stage writes the rows of g to new tables, one per table of the graph. What it returns
// is to be dropped also when it fails.
func (d *Dataset) stage(ctx context.Context, g warehouse.SessionGraph, r *retrier) (*staged, error) {
	s := &staged{d: d}
	prefix := "staging_" + rand.Text() + "_"
	tables := make(map[string]warehouse.Table)
	for _, t := range warehouse.GraphTables() {
		tables[t.Name] = t
	}
	var all []content
	add := func(to *string, name string, rows []byte, err error) error {
		*to = prefix + name
		all = append(all, content{name: *to, table: tables[name], rows: rows})
		return err
	}
	nodes, err1 := lines(g.Nodes)
	edges, err2 := lines(g.Edges)
	entities, err3 := lines(g.Entities)
	links, err4 := lines(g.Links)
	checks, err5 := lines(g.Checks)
	if err := errors.Join(
		add(&s.names.Nodes, warehouse.TechNodes, nodes, err1),
		add(&s.names.Edges, warehouse.CausedEdges, edges, err2),
		add(&s.names.Entities, warehouse.BizNodes, entities, err3),
		add(&s.names.Links, warehouse.CrossLinks, links, err4),
		add(&s.names.Checks, warehouse.WorldChangeChecks, checks, err5),
	); err != nil {
		return s, fmt.Errorf("encode the graph: %w", err)
	}
	for _, c := range all {
		s.tables = append(s.tables, d.table(c.name))
	}
	// The tables are made at once: five after another take as many round trips, and
	// as many load jobs.
	errs := make([]error, len(all))
	retries := make([]int, len(all))
	var making sync.WaitGroup
	for i, c := range all {
		making.Go(func() {
			mine := newRetrier(r.sleep)
			errs[i] = d.guard("a table is staged", func() error { return d.fill(ctx, s.tables[i], c, mine) })
			if errors.As(errs[i], new(refusedError)) {
				s.tables[i] = nil
			}
			retries[i] = mine.retries
		})
	}
	making.Wait()
	for _, n := range retries {
		r.retries += n
	}
	for _, err := range errs {
		if err != nil {
			return s, err // what one table fails with, the others mostly fail with too
		}
	}
	return s, nil
}

// lines encodes rows as a load job takes them.
func lines[T any](rows []T) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// fill makes a staging table and loads its rows. A load job that is repeated replaces
// what an earlier one may have loaded, so that the table holds each row once.
func (d *Dataset) fill(ctx context.Context, t *bq.Table, c content, r *retrier) error {
	err := r.do(ctx, func() error {
		err := t.Create(ctx, &bq.TableMetadata{
			Schema: schemaOf(c.table.Columns), ExpirationTime: time.Now().Add(stageLife),
			Description: "Rows of one session on their way to " + c.table.Name + ". It may be dropped at any time.",
			Labels:      d.jobLabels(),
		})
		if hasStatus(err, http.StatusConflict) {
			return nil // an attempt that got no answer made it
		}
		return Brief(err)
	})
	if err != nil {
		err = fmt.Errorf("create staging table for %s: %w", c.table.Name, err)
		if turnedDown(err) {
			return refusedError{err}
		}
		return err
	}
	if len(c.rows) == 0 {
		return nil
	}
	err = r.do(ctx, func() error { return d.load(ctx, t, c) })
	if err != nil {
		return fmt.Errorf("load staging table for %s: %w", c.table.Name, err)
	}
	return nil
}

// load runs one load job. It names the schema: a job that replaces the rows of a table
// gives the table its own.
func (d *Dataset) load(ctx context.Context, t *bq.Table, c content) error {
	src := bq.NewReaderSource(bytes.NewReader(c.rows))
	src.SourceFormat = bq.JSON
	src.Schema = schemaOf(c.table.Columns)
	l := t.LoaderFrom(src)
	l.CreateDisposition = bq.CreateNever
	l.WriteDisposition = bq.WriteTruncate
	l.Labels = d.jobLabels()
	var err error
	if l.Location, err = d.jobLocation(ctx); err != nil {
		return err
	}
	running, err := l.Run(ctx)
	if err != nil {
		return Brief(err)
	}
	if _, err := awaitJob(ctx, running); err != nil {
		return fmt.Errorf("job %s: %w", running.ID(), err)
	}
	return nil
}

// jobLabels are the labels of what the sync of a session makes and runs.
func (d *Dataset) jobLabels() map[string]string {
	labels := maps.Clone(d.labels)
	labels["sdk_feature"] = featureSync
	return labels
}

// drop removes the staging tables, also when ctx has ended. What cannot be removed
// expires.
func (s *staged) drop(ctx context.Context) {
	ctx, cancel := lastCall(ctx, dropTimeout, lastDropTimeout)
	defer cancel()
	var dropping sync.WaitGroup
	for _, t := range s.tables {
		if t == nil {
			continue
		}
		dropping.Go(func() {
			err := s.d.guard("a staging table is dropped", func() error { return t.Delete(ctx) })
			if err != nil && !hasStatus(err, http.StatusNotFound) {
				s.d.log.Warn("contextgraph: a staging table could not be dropped; it expires within the hour", "table", t.TableID, "error", Brief(err))
			}
		})
	}
	dropping.Wait()
}
