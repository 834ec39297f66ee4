// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"net/http"
	"sync/atomic"

	bq "cloud.google.com/go/bigquery"
)

// place is the location of the dataset, as soon as it is known. It never changes:
// nobody can move a dataset.
type place struct {
	known atomic.Pointer[string]
	// asking is held by the call that asks for it, so that others wait for the answer.
	asking chan struct{}
}

func newPlace() place { return place{asking: make(chan struct{}, 1)} }

func (p *place) set(location string) {
	if location != "" {
		p.known.Store(&location)
	}
}

func (p *place) get() string {
	if l := p.known.Load(); l != nil {
		return *l
	}
	return ""
}

// metadata reads the dataset and notes where it is.
func (d *Dataset) metadata(ctx context.Context) (*bq.DatasetMetadata, error) {
	md, err := d.client.DatasetInProject(d.names.Project(), d.names.Dataset()).Metadata(ctx)
	if err == nil {
		d.place.set(md.Location)
	}
	return md, err
}

// location returns where the dataset is. It asks once; what fails is asked again by the
// next call.
func (d *Dataset) location(ctx context.Context) (string, error) {
	if l := d.place.get(); l != "" {
		return l, nil
	}
	select {
	case d.place.asking <- struct{}{}:
		defer func() { <-d.place.asking }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if l := d.place.get(); l != "" {
		return l, nil
	}
	md, err := d.metadata(ctx)
	if err != nil {
		return "", err
	}
	return md.Location, nil
}

// jobLocation returns where jobs run. Without a location BigQuery takes that of the tables
// that it finds in a statement, and US where it finds none. Where there
// is no dataset yet it is the location that init creates one in. An account that may not
// read the dataset gets no location, and BigQuery chooses.
func (d *Dataset) jobLocation(ctx context.Context) (string, error) {
	l, err := d.location(ctx)
	switch {
	case HasStatus(err, http.StatusNotFound):
		return d.cfg.Location, nil
	case HasStatus(err, http.StatusForbidden):
		return "", nil
	case err != nil:
		return "", d.explain("dataset "+d.names.Dataset(), err)
	}
	return l, nil
}
