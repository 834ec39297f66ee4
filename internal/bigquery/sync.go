// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"slices"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// featureSync is the label of the jobs that bring the graph of a session to the dataset.
const featureSync = "graph-sync"

// matchMargin widens the time in which rows of a session are looked for beyond what was
// read. A step that was read in part, or further than by an earlier reading, has its
// time of partition outside of what was read; without its old row it would get a second
// one. Of the days beyond the session little is read, since the tables are clustered by
// session; but what BigQuery holds against MaxBytesBilled before it runs a statement are
// the columns of whole days.
const matchMargin = 7 * 24 * time.Hour

// SyncReport says what one [Dataset.SyncSession] brought to the dataset.
type SyncReport struct {
	Session record.Session
	// Nodes, Edges, Entities, Links and Checks are the numbers of rows that were
	// compared with those of the dataset.
	Nodes, Edges, Entities, Links, Checks int
	// DuplicatesRemoved counts the rows that were too many, because somebody else brought
	// the session for the first time at the same moment.
	DuplicatesRemoved int64
	// BytesProcessed and BytesBilled are those of the job that merged, and of one that
	// removed duplicates, over all of their statements. Load jobs cost nothing.
	BytesProcessed, BytesBilled int64
	// Retries counts what was done again after an error that passes, such as a conflict
	// with another session.
	Retries int
	// Job is the id of the job that merged.
	Job string
}

// SyncSession brings the graph of one session to the tables of the graph: rows that are
// missing are added, others are changed, keeping when they were created, and those that
// are out of date are removed, see [warehouse.SessionGraph]. All five tables change
// together in one transaction, so that no reader sees a part, and calling it again
// changes nothing.
//
// BigQuery has no unique keys, and does not take it for a conflict when two calls bring a
// session for the first time at the same moment. The one that ends last finds the rows
// that are there twice and removes them.
//
// Of a session that ran on several hosts the graph of [warehouse.RecorderDataset] is the
// whole. A journal that is brought after it removes nothing of that, edges between hosts
// among it, but says of its own steps what it knows alone: where they stand in the order
// of the session, edges that it would draw without the others, and answers to requests
// that another host made. The next graph of RecorderDataset puts that right.
//
// The rows are staged in tables of their own that are dropped afterwards, also after an
// error, and expire by themselves after an hour. Errors that pass, such as "Could not
// serialize access", are retried with backoff; what has failed for good changed nothing,
// except that an error may wrap [ErrDuplicates].
func (d *Dataset) SyncSession(ctx context.Context, g warehouse.SessionGraph) (SyncReport, error) {
	return d.syncSession(ctx, g, newRetrier(sleep))
}

func (d *Dataset) syncSession(ctx context.Context, g warehouse.SessionGraph, r *retrier) (SyncReport, error) {
	report := SyncReport{
		Session: g.Session, Nodes: len(g.Nodes), Edges: len(g.Edges), Entities: len(g.Entities), Links: len(g.Links), Checks: len(g.Checks),
	}
	if len(g.Nodes) == 0 {
		return report, fmt.Errorf("bigquery: sync session %s: %w", g.Session.ID, warehouse.ErrNoRows)
	}
	scope := syncScope(g, d.now())
	stage, err := d.stage(ctx, g, r)
	defer stage.drop(ctx)
	if err == nil {
		var merged *bq.Job
		err = r.do(ctx, func() (err error) {
			merged, err = d.runSync(ctx, job{statement: "sync_session", data: stage.names, params: syncParams(g, scope)}, &report)
			return err
		})
		if merged != nil {
			report.Job = merged.ID()
		}
		if err == nil {
			err = d.unique(ctx, merged, scope, r, &report)
		} else if lacking := d.lacking(ctx, err); lacking != nil {
			err = lacking
		}
	}
	report.Retries = r.retries
	if err != nil {
		return report, d.explain("sync session "+g.Session.ID, err)
	}
	return report, nil
}

// runSync runs a script of a synchronisation once and adds what it cost to the report. The
// job is nil when it was not started.
func (d *Dataset) runSync(ctx context.Context, j job, report *SyncReport) (*bq.Job, error) {
	j.feature = featureSync
	running, err := d.start(ctx, j)
	if err != nil {
		return nil, err
	}
	status, err := awaitJob(ctx, running)
	if err != nil {
		return running, fmt.Errorf("%s (job %s): %w", j.name(), running.ID(), err)
	}
	if s := status.Statistics; s != nil {
		report.BytesProcessed += s.TotalBytesProcessed
		if q, ok := s.Details.(*bq.QueryStatistics); ok {
			report.BytesBilled += q.TotalBytesBilled
		}
	}
	return running, nil
}

// syncScope are the parameters that say which rows are looked at.
func syncScope(g warehouse.SessionGraph, now time.Time) []bq.QueryParameter {
	to := g.To
	if now.After(to) {
		to = now // what a later reading of the session brought is found too
	}
	return []bq.QueryParameter{
		param("app", g.Session.App),
		param("user", g.Session.User),
		param("session", g.Session.ID),
		param("from", g.From.Add(-matchMargin)),
		param("to", to.Add(matchMargin)),
	}
}

// syncParams are the parameters of sync_session.
func syncParams(g warehouse.SessionGraph, scope []bq.QueryParameter) []bq.QueryParameter {
	failed := g.Failed
	if failed == nil {
		failed = []string{} // an array parameter has no NULL
	}
	return append(slices.Clip(scope),
		param("first", g.From),
		param("last", g.To),
		param("read_at", g.ReadAt),
		param("recorder", g.Recorder),
		param("whole", g.Recorder == warehouse.RecorderDataset),
		param("full", !g.Partial),
		param("failed", failed),
	)
}
