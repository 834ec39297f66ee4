// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"strconv"
	"time"

	bq "cloud.google.com/go/bigquery"
)

// Watch hears of every statement that a Dataset runs to its end.
type Watch struct {
	// Admit hears what a dry run says that a statement will read, in bytes, before it runs. A
	// dry run costs nothing. An error keeps the statement from running, and is its error.
	Admit func(statement string, estimate int64) error
	// Done hears of the statement when it ended. It may be called by several goroutines at a
	// time.
	Done func(Ran)
}

// Ran is a statement that ran.
type Ran struct {
	// Statement is the name of the statement in package warehouse.
	Statement string
	// Job is the id of its job; empty where none was started.
	Job string
	// Estimate is what a dry run said that it reads, Billed what it costs, both in bytes.
	Estimate, Billed int64
	Took             time.Duration
	// Edition is the edition of the reservation that ran it; empty on demand.
	Edition string
	Err     error
}

// finish submits j and waits until it is done. The job is not nil where it was submitted.
func (d *Dataset) finish(ctx context.Context, j job) (*bq.Job, *bq.JobStatus, error) {
	if d.watch == nil {
		return d.runJob(ctx, j)
	}
	ran, began := Ran{Statement: j.statement}, time.Now()
	running, status, err := d.admitted(ctx, j, &ran)
	ran.Took, ran.Err = time.Since(began), err
	if running != nil {
		ran.Job = running.ID()
	}
	if status != nil && status.Statistics != nil {
		ran.Edition = string(status.Statistics.Edition)
	}
	ran.Billed = statisticsOf(status).TotalBytesBilled
	d.watch.Done(ran)
	return running, status, err
}

// admitted runs j if the watch admits it.
func (d *Dataset) admitted(ctx context.Context, j job, ran *Ran) (*bq.Job, *bq.JobStatus, error) {
	if j.feature != featureInit { // what makes tables reads none, and metadata have no estimate
		var err error
		if ran.Estimate, err = d.estimate(ctx, j); err != nil {
			return nil, nil, err
		}
		if err := d.watch.Admit(ran.Statement, ran.Estimate); err != nil {
			return nil, nil, err
		}
	}
	return d.runJob(ctx, j)
}

// runJob submits j and waits until it is done.
func (d *Dataset) runJob(ctx context.Context, j job) (*bq.Job, *bq.JobStatus, error) {
	q, err := d.prepare(ctx, j)
	if err != nil {
		return nil, nil, err
	}
	running, err := q.Run(ctx)
	if err != nil {
		return nil, nil, d.explain(j.statement, d.limited(Brief(err)))
	}
	status, err := awaitJob(ctx, running)
	if err != nil {
		return running, nil, fmt.Errorf("bigquery: %s (job %s): %w", j.statement, running.ID(), d.limited(err))
	}
	return running, status, nil
}

// featureQuery is the label of statements that people chose, and of those that only contextgraph verify runs.
const featureQuery = "query"

// Texts is a result as text: NULL is empty, a time is in UTC, and a number with a fraction has six digits.
type Texts struct {
	// Columns are the names of the columns; none where there is no row.
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Texts runs a statement of package warehouse, with the data of its template and its
// parameters, and returns its rows.
func (d *Dataset) Texts(ctx context.Context, statement string, data any, params map[string]any) (Texts, error) {
	j := job{statement: statement, data: data, feature: featureQuery}
	for name, value := range params {
		j.params = append(j.params, param(name, value))
	}
	var out Texts
	err := d.query(ctx, j, func(r *row) error {
		line := make([]string, len(r.schema))
		out.Columns = make([]string, len(r.schema))
		for i, c := range r.schema {
			out.Columns[i], line[i] = c.Name, textOf(r.columns[c.Name])
		}
		out.Rows = append(out.Rows, line)
		return nil
	})
	return out, err
}

func textOf(v bq.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(v, 'f', 6, 64)
	}
	return fmt.Sprint(v)
}
