// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"time"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/record"
)

// row is one row of a result, or one element of a repeated column that has columns itself. Its
// methods return the value of a column, and the zero value for NULL and where the statement has none. The first thing that cannot be
// read becomes the error of whoever reads the result: an answer without it would say less than the
// dataset knows.
type row struct {
	columns map[string]bq.Value
	schema  bq.Schema // of a row of a result
	err     *error
}

// failed notes that the row cannot be read.
func (r *row) failed(err error) {
	if *r.err == nil {
		*r.err = err
	}
}

// value returns the value of a column of type T.
func value[T any](r *row, column string) (v T) {
	if found := r.columns[column]; found != nil {
		var ok bool
		if v, ok = found.(T); !ok {
			r.failed(fmt.Errorf("column %s is %T and not %T", column, found, v))
		}
	}
	return v
}

func (r *row) text(column string) string    { return value[string](r, column) }
func (r *row) int(column string) int        { return int(value[int64](r, column)) }
func (r *row) float(column string) float64  { return value[float64](r, column) }
func (r *row) flag(column string) bool      { return value[bool](r, column) }
func (r *row) time(column string) time.Time { return value[time.Time](r, column).UTC() }

// duration returns a number of milliseconds.
func (r *row) duration(column string) time.Duration {
	return time.Duration(r.float(column) * float64(time.Millisecond))
}

// raw returns a text, and nil for NULL.
func (r *row) raw(column string) []byte {
	if r.columns[column] == nil {
		return nil
	}
	return []byte(r.text(column))
}

// session returns the session that three columns name.
func (r *row) session(app, user, session string) record.Session {
	return record.Session{App: r.text(app), User: r.text(user), ID: r.text(session)}
}

// each hands the rows of a result to yield.
func each(results *bq.RowIterator, yield func(*row) error) error {
	for {
		r := row{err: new(error)}
		err := results.Next(&r.columns)
		switch {
		case errors.Is(err, iterator.Done):
			return nil
		case err != nil:
			return Brief(err)
		}
		r.schema = results.Schema
		if err = yield(&r); err == nil {
			err = *r.err
		}
		if err != nil {
			return err
		}
	}
}

// query runs a statement and hands its rows to yield.
func (d *Dataset) query(ctx context.Context, j job, yield func(*row) error) error {
	done, _, err := d.finish(ctx, j)
	if err != nil {
		return err
	}
	results, err := done.Read(ctx)
	if err != nil {
		err = Brief(err)
	} else {
		err = each(results, yield)
	}
	if err != nil {
		return fmt.Errorf("bigquery: %s (job %s): %w", j.statement, done.ID(), err)
	}
	return nil
}

// all runs a statement and returns what read makes of its rows.
func all[T any](ctx context.Context, d *Dataset, j job, read func(*row) T) ([]T, error) {
	var out []T
	err := d.query(ctx, j, func(r *row) error {
		out = append(out, read(r))
		return nil
	})
	return out, err
}
