// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// ErrNoDataset is returned where the configuration names no dataset.
var ErrNoDataset = errors.New("no BigQuery dataset is configured: set project and dataset in the section bigquery of the configuration")

// Dataset is one dataset of contextgraph. Its methods are safe for concurrent use; each
// returns when its jobs are done or its context ends, which cancels them. The caller
// closes it.
type Dataset struct {
	cfg    config.BigQuery
	names  warehouse.Names
	client *bq.Client
	write  []option.ClientOption
	log    *slog.Logger
	now    func() time.Time
	labels map[string]string
	// batchAge and ackTimeout are for streaming.
	batchAge, ackTimeout time.Duration
	place                place
	watch                *Watch
}

// DatasetOptions are what [NewDataset] takes beside the configuration. The zero value
// is usable.
type DatasetOptions struct {
	// Client are options of the BigQuery client, such as credentials. Defaults to what
	// the environment says.
	Client []option.ClientOption
	// Write are options of the clients of the Storage Write API, which streams over
	// gRPC. Defaults to Client, which will not do where that has an endpoint or an HTTP
	// client.
	Write []option.ClientOption
	// Surface says in the labels of jobs what runs them. Defaults to "go".
	Surface string
	// Logger hears what is worth knowing. Defaults to slog.Default().
	Logger *slog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Watch, when set, hears of the statements that run, each of which has a dry run before it.
	Watch *Watch
	// BatchAge and AckTimeout are those of [replicate.Config], with the same defaults.
	BatchAge, AckTimeout time.Duration
}

// NewDataset checks cfg and makes a client. It sends nothing yet.
func NewDataset(ctx context.Context, cfg config.BigQuery, o DatasetOptions) (*Dataset, error) {
	if !cfg.Enabled() {
		return nil, ErrNoDataset
	}
	names, err := warehouse.NamesOf(cfg)
	if err != nil {
		return nil, fmt.Errorf("bigquery: %w", err)
	}
	cfg = cfg.WithDefaults()
	client, err := bq.NewClient(ctx, cfg.BillingProject, o.Client...)
	if err != nil {
		return nil, fmt.Errorf("bigquery: no client: run gcloud auth application-default login, name a file of credentials in GOOGLE_APPLICATION_CREDENTIALS, or run where a service account is attached: %w", Brief(err))
	}
	d := &Dataset{cfg: cfg, names: names, client: client, place: newPlace(), log: o.Logger, now: o.Now, watch: o.Watch,
		batchAge: o.BatchAge, ackTimeout: cmp.Or(o.AckTimeout, replicate.DefaultAckTimeout)}
	if d.write = o.Write; d.write == nil {
		d.write = o.Client
	}
	if d.log == nil {
		d.log = slog.Default()
	}
	if d.now == nil {
		d.now = time.Now
	}
	d.labels = map[string]string{"sdk": "contextgraph", "sdk_version": Version(), "sdk_surface": cmp.Or(o.Surface, "go")}
	maps.Copy(d.labels, cfg.Labels)
	return d, nil
}

// Close ends the client. Calls under way fail.
func (d *Dataset) Close() error { return d.client.Close() }

// Names returns the names of what the dataset holds.
func (d *Dataset) Names() warehouse.Names { return d.names }

// features of jobs, for the label sdk_feature. That of the graph is the one the Python
// implementation uses, so that costs of both add up in one report.
const (
	featureInit  = "init"
	featureGraph = "context-graph"
)

// job is one query job.
type job struct {
	// statement names a file of package warehouse, data is for its template.
	statement string
	data      any
	params    []bq.QueryParameter
	feature   string
	// labels are set beside those of every job.
	labels map[string]string
}

// param makes a named query parameter.
func param(name string, value any) bq.QueryParameter {
	return bq.QueryParameter{Name: name, Value: value}
}

// prepare makes the query of j, bounded in cost, labelled and placed.
func (d *Dataset) prepare(ctx context.Context, j job) (*bq.Query, error) {
	text, err := d.names.Statement(j.statement, j.data)
	if err != nil {
		return nil, err
	}
	location, err := d.jobLocation(ctx)
	if err != nil {
		return nil, err
	}
	q := d.client.Query(text)
	q.Location = location
	q.Parameters = j.params
	q.MaxBytesBilled = int64(d.cfg.MaxBytesBilled)
	q.Labels = maps.Clone(d.labels)
	q.Labels["sdk_feature"] = j.feature
	maps.Copy(q.Labels, j.labels)
	return q, nil
}

// exec runs a statement that returns nothing of interest and gives its statistics.
func (d *Dataset) exec(ctx context.Context, j job) (*bq.QueryStatistics, error) {
	_, status, err := d.finish(ctx, j)
	return statisticsOf(status), err
}

// statisticsOf returns what BigQuery says of a query that ended; all is zero where it says nothing.
func statisticsOf(status *bq.JobStatus) *bq.QueryStatistics {
	if status != nil && status.Statistics != nil {
		if q, ok := status.Statistics.Details.(*bq.QueryStatistics); ok {
			return q
		}
	}
	return new(bq.QueryStatistics)
}

// maxLabelValue is how long the value of a label may be.
const maxLabelValue = 63

// notLabel is what a label may not hold.
var notLabel = regexp.MustCompile(`[^a-z0-9_-]+`)

// Version returns the version of this module as a label value.
func Version() string {
	v := "devel"
	if info, ok := debug.ReadBuildInfo(); ok {
		const module = "github.com/adk-contextgraph/contextgraph"
		if info.Main.Path == module && info.Main.Version != "" {
			v = info.Main.Version
		}
		for _, m := range info.Deps {
			if m.Path == module {
				v = m.Version
			}
		}
	}
	v = strings.Trim(notLabel.ReplaceAllString(strings.ToLower(v), "_"), "_")
	return v[:min(len(v), maxLabelValue)]
}
