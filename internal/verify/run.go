// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
)

const (
	// life is when BigQuery itself removes the tables of a run that could not.
	life = 24 * time.Hour
	// removeTimeout bounds the removal, also after the run was interrupted.
	removeTimeout = 2 * time.Minute
)

// Config says what is verified.
type Config struct {
	// BigQuery is the project, the location, the names and the labels. Its dataset is not used.
	BigQuery config.BigQuery
	// Options are those of the clients.
	Options bigquery.DatasetOptions
	// Only makes the checks of these names, and those that they need. Empty makes all.
	Only []string
	// Keep leaves the dataset for people to look at. Its tables expire by themselves.
	Keep bool
	// Progress, when set, hears of each check as soon as it ended.
	Progress func(Result)
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// scratch returns the configuration with a dataset of a random name, and with what a run sets.
func (c Config) scratch() config.BigQuery {
	b := c.BigQuery
	b.Dataset = "contextgraph_verify_" + strings.ToLower(rand.Text()[:12])
	return settings(b)
}

// settings returns b as a run uses it: nothing happens in the background.
func settings(b config.BigQuery) config.BigQuery {
	off := false
	b.Init, b.Graph.Sync = &off, &off
	b.CreateViews, b.PayloadColumnDenylist = nil, nil // what is compared has to be there
	b.MaxBytesBilled = config.Size(graph + least)
	return b.WithDefaults()
}

// run is one verification.
type run struct {
	cfg    Config
	report Report
	demo   *demo
	ds     *bigquery.Dataset
	// created says that there is something to remove.
	created bool
	// ended has the outcome of each check that others may need, and why.
	ended map[string]Result

	mu sync.Mutex
	// statements are those of the check that is made.
	statements []Statement
}

// Run makes all checks, and removes what it made also when ctx ends. A check that failed is no
// error: the report has it. The error is that of ctx, or says why nothing could be checked.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.BigQuery = cfg.scratch()
	r := &run{cfg: cfg, ended: make(map[string]Result)}
	r.report = Report{Version: bigquery.Version(), Started: cfg.Now().UTC(), Location: cfg.BigQuery.Location, project: cfg.BigQuery.Project}
	list, err := checks(cfg.BigQuery)
	if err == nil {
		list, err = only(list, cfg.Only)
	}
	if err != nil {
		return nil, err
	}
	if r.demo, err = newDemo(ctx, cfg.Now()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.demo.close(ctx)) }()
	o := cfg.Options
	o.Watch = &bigquery.Watch{Admit: admit, Done: r.ran}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler) // the report says it
	}
	if r.ds, err = bigquery.NewDataset(context.WithoutCancel(ctx), cfg.BigQuery, o); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.ds.Close()) }()
	r.cfg.Options = o

	for i := range list {
		r.make(ctx, &list[i])
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	r.make(last, &check{step: stepRemove, name: "the dataset", do: remove})
	r.report.Ended = cfg.Now().UTC()
	r.report.Passed = r.report.Count(Failed) == 0 && ctx.Err() == nil
	return &r.report, context.Cause(ctx)
}

// make makes one check and records how it ended.
func (r *run) make(ctx context.Context, c *check) {
	r.mu.Lock()
	r.statements = nil
	r.mu.Unlock()
	began := time.Now()
	err := r.missing(ctx, c)
	if err == nil {
		err = c.do(ctx, r)
		if err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = skip{"interrupted"}
		}
	}
	out := Result{Step: c.step, Name: c.name, Outcome: OK, Milliseconds: time.Since(began).Milliseconds()}
	var skipped skip
	switch {
	case errors.As(err, &skipped):
		out.Outcome, out.Reason = Skipped, skipped.reason
	case err != nil:
		out.Outcome, out.Reason, out.Remedy = Failed, err.Error(), r.remedy(c.step, err)
	}
	r.mu.Lock()
	out.Statements = r.statements
	r.mu.Unlock()
	for _, s := range out.Statements {
		out.Estimate += s.Estimate
		out.Billed += s.Billed
	}
	r.report.Billed += out.Billed
	r.report.Checks = append(r.report.Checks, out)
	r.ended[c.name] = out
	if r.cfg.Progress != nil {
		r.cfg.Progress(out)
	}
}

// missing returns why a check cannot be made.
func (r *run) missing(ctx context.Context, c *check) error {
	if ctx.Err() != nil {
		return skip{"interrupted"}
	}
	for _, need := range c.needs {
		switch on := r.ended[need]; {
		case on.Outcome == Failed:
			return skip{fmt.Sprintf("it needs %q, which failed", need)}
		case on.Outcome == Skipped:
			return skip{on.Reason}
		}
	}
	return nil
}

// ran records a statement.
func (r *run) ran(s bigquery.Ran) {
	bound, _ := Bound(s.Statement)
	line := Statement{Name: s.Statement, Estimate: s.Estimate, Bound: bound, Billed: s.Billed, Milliseconds: s.Took.Milliseconds()}
	if s.Err != nil {
		line.Error = s.Err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, line)
	if s.Edition != "" {
		r.report.Edition = s.Edition
	}
}
