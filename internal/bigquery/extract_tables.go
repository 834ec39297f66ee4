// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

const (
	// dropTimeout bounds the dropping of the tables of an extraction, and lastDropTimeout that of one
	// whose context has ended: somebody waits for the end.
	dropTimeout     = 30 * time.Second
	lastDropTimeout = 2 * time.Second
)

// create makes a table that BigQuery deletes by itself when nobody else does.
func (x *extraction) create(ctx context.Context, t warehouse.Table) error {
	labels := maps.Clone(x.labels)
	labels["sdk_feature"] = featureExtract
	err := x.table(t.Name).Create(ctx, &bq.TableMetadata{
		Description: t.Description, Schema: schemaOf(t.Columns),
		ExpirationTime: x.now.Add(extractTableAge), Labels: labels,
	})
	if err != nil {
		return fmt.Errorf("bigquery: extract: create table %s: %w", t.Name, Brief(err))
	}
	return nil
}

// drop deletes the tables of the extraction, also when ctx has ended. One that stays is deleted by
// BigQuery when its time is over.
func (x *extraction) drop(ctx context.Context) {
	x.report.Pending, x.report.Answers = "", ""
	wait := dropTimeout
	if ctx.Err() != nil {
		wait = lastDropTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	for _, name := range []string{x.pending.Name, x.answers.Name} {
		if name == "" {
			continue
		}
		if err := x.table(name).Delete(ctx); err != nil && !HasStatus(err, http.StatusNotFound) {
			x.log.WarnContext(ctx, "contextgraph: a table of an extraction could not be dropped; it expires within three days", "table", name, "error", Brief(err))
		}
	}
}

// count returns the number of rows of a table.
func (x *extraction) count(ctx context.Context, name string) (uint64, error) {
	rows := x.table(name).Read(ctx)
	rows.PageInfo().MaxSize = 1
	var row []bq.Value
	if err := rows.Next(&row); err != nil && !errors.Is(err, iterator.Done) {
		return 0, fmt.Errorf("bigquery: extract: read table %s: %w", name, Brief(err))
	}
	return rows.TotalRows, nil
}
