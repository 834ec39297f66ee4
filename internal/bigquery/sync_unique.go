// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"strings"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// ErrDuplicates is returned when the graph of a session was brought and some of its keys
// may stand in a table twice. Bringing it again mends that.
var ErrDuplicates = errors.New("the graph is in the dataset, and steps, edges or entities may be there twice: bring it again (contextgraph sync --session) to remove them")

// unique removes the rows that are too many, if the script that merged counted any.
func (d *Dataset) unique(ctx context.Context, merged *bq.Job, scope []bq.QueryParameter, r *retrier, report *SyncReport) error {
	var twice int64
	err := r.do(ctx, func() (err error) {
		twice, err = number(ctx, merged)
		return err
	})
	if err == nil && twice > 0 {
		err = r.do(ctx, func() error { return d.removeDuplicates(ctx, scope, report) })
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDuplicates, err)
	}
	return nil
}

// removeDuplicates runs sync_unique once.
func (d *Dataset) removeDuplicates(ctx context.Context, scope []bq.QueryParameter, report *SyncReport) error {
	done, err := d.runSync(ctx, job{statement: "sync_unique", params: scope}, report)
	if err != nil {
		return err
	}
	// What was removed is removed, also when nobody hears how much it was.
	if removed, err := number(ctx, done); err == nil {
		report.DuplicatesRemoved = removed
	}
	return nil
}

// number returns the number that a script ended with.
func number(ctx context.Context, j *bq.Job) (int64, error) {
	rows, err := j.Read(ctx)
	if err != nil {
		return 0, fmt.Errorf("job %s: %w", j.ID(), Brief(err))
	}
	var row []bq.Value
	if err := rows.Next(&row); err != nil {
		return 0, fmt.Errorf("job %s: %w", j.ID(), Brief(err))
	}
	n, ok := row[0].(int64)
	if !ok {
		return 0, fmt.Errorf("job %s: it ended with %v, not with a number", j.ID(), row[0])
	}
	return n, nil
}

// lacking returns an error that says which columns the tables of the graph lack, when
// that is why a statement failed with err: the program is newer than the tables. Else it
// returns nil.
func (d *Dataset) lacking(ctx context.Context, err error) error {
	var j *bq.Error
	var api *googleapi.Error
	if !errors.As(err, &j) && !errors.As(err, &api) || passes(err) || ctx.Err() != nil {
		return nil
	}
	var lack []string
	for _, t := range warehouse.GraphTables() {
		m, failed := d.table(t.Name).Metadata(ctx)
		if failed != nil {
			return nil
		}
		have, failed := mergeSchema(m.Schema, t)
		if failed != nil {
			return nil
		}
		for _, column := range have.added {
			lack = append(lack, t.Name+"."+column)
		}
	}
	if len(lack) == 0 {
		return nil
	}
	return fmt.Errorf("the tables lack %s, which this version writes: run contextgraph init: %w", strings.Join(lack, ", "), err)
}
