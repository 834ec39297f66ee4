// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"time"

	bq "cloud.google.com/go/bigquery"
)

const (
	// firstPoll and longestPoll bound the pause between two looks at a job.
	firstPoll   = 100 * time.Millisecond
	longestPoll = 5 * time.Second
	// cancelTimeout bounds the request that ends a job nobody waits for any more.
	cancelTimeout = 3 * time.Second
)

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitJob waits until j is done and returns its status, or its error when it failed. It
// asks for the status: [bq.Job.Wait] asks for the results of a query, and repeats that
// for as long as ctx lives when the query itself failed with a reason that passes. When
// ctx ends first, the job is cancelled.
func awaitJob(ctx context.Context, j *bq.Job) (*bq.JobStatus, error) {
	status := j.LastStatus() // some jobs are done when they are submitted
	for pause := firstPoll; status == nil || !status.Done(); pause = min(2*pause, longestPoll) {
		err := sleep(ctx, pause)
		if err == nil {
			status, err = j.Status(ctx)
		}
		if ctx.Err() != nil {
			cancelJob(ctx, j)
		}
		if err != nil {
			return nil, Brief(err)
		}
	}
	return status, Brief(status.Err())
}

func cancelJob(ctx context.Context, j *bq.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	// A job that is not reached ends by itself; what it was for is repeated by a later
	// call.
	_ = j.Cancel(ctx)
}

// dryRun lets BigQuery check j, which reads nothing and costs nothing, and returns what it says.
func (d *Dataset) dryRun(ctx context.Context, j job) (*bq.JobStatus, error) {
	q, err := d.prepare(ctx, j)
	if err != nil {
		return nil, err
	}
	q.DryRun, q.MaxBytesBilled = true, 0
	checked, err := q.Run(ctx)
	var status *bq.JobStatus
	if err == nil {
		status = checked.LastStatus() // nil where the server says nothing
	}
	if status != nil {
		err = status.Err()
	}
	if err != nil {
		return nil, err
	}
	return status, nil
}

// estimate returns what a dry run says that j reads.
func (d *Dataset) estimate(ctx context.Context, j job) (int64, error) {
	status, err := d.dryRun(ctx, j)
	switch {
	case err != nil:
		return 0, d.explain(j.statement+", dry run", Brief(err))
	case status == nil || status.Statistics == nil:
		return 0, nil
	}
	return status.Statistics.TotalBytesProcessed, nil
}
