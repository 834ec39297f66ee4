// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	bq "cloud.google.com/go/bigquery"
)

// scratchLabel is the label of a dataset that may be removed with all that it holds.
const (
	scratchLabel = "contextgraph"
	scratchValue = "verify"
)

// ErrNotScratch is returned for a dataset that [Dataset.CreateScratch] did not make.
var ErrNotScratch = errors.New("the dataset was not made for a verification: it was left as it is")

// CreateScratch creates the dataset for a short time: BigQuery itself removes each of its tables
// after life. A dataset of that name is an error.
func (d *Dataset) CreateScratch(ctx context.Context, life time.Duration) error {
	dataset := d.client.DatasetInProject(d.names.Project(), d.names.Dataset())
	err := dataset.Create(ctx, &bq.DatasetMetadata{
		Location: d.cfg.Location, DefaultTableExpiration: life, Labels: map[string]string{scratchLabel: scratchValue},
		Description: "Made by contextgraph verify, which removes it.",
	})
	switch {
	case err == nil:
		d.place.set(d.cfg.Location)
		return nil
	case HasStatus(err, http.StatusBadRequest):
		return fmt.Errorf("bigquery: dataset %s cannot be created in location %q: %w", d.names.Dataset(), d.cfg.Location, Brief(err))
	}
	return d.explain("dataset "+d.names.Dataset(), Brief(err))
}

// RemoveScratch removes the dataset that [Dataset.CreateScratch] made, with all that it holds.
// Another one is [ErrNotScratch], and one that is not there is no error.
func (d *Dataset) RemoveScratch(ctx context.Context) error {
	dataset := d.client.DatasetInProject(d.names.Project(), d.names.Dataset())
	md, err := dataset.Metadata(ctx)
	if err == nil && md.Labels[scratchLabel] != scratchValue {
		return fmt.Errorf("bigquery: dataset %s: %w", d.names.Dataset(), ErrNotScratch)
	}
	if err == nil {
		err = dataset.DeleteWithContents(ctx)
	}
	if err == nil || HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return d.explain("dataset "+d.names.Dataset(), Brief(err))
}
