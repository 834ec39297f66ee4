// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// extractFlags are the flags of extract.
type extractFlags struct {
	session record.Session
	since   duration
	answers string
	dryRun  bool
}

func (a *app) extractCommand() *cobra.Command {
	f := extractFlags{since: duration(24 * time.Hour)}
	c := &cobra.Command{
		Use:   "extract",
		Short: "Let a model find entities in rows of the dataset",
		Long: `extract asks a model (bigquery.extract.model) for the business entities in the rows of one
session or of a time, with AI.GENERATE in BigQuery, and adds them to the dataset, with the graphs of
these sessions, and to the journal. What rules and tools found is never changed or removed. Google bills the model for every row; bigquery.extract.max_rows bounds them. A row is sent
again only if its call failed, or if the answer held no list of entities.`,
		Example: `  contextgraph extract --session s-123 --app shop --user alice
  contextgraph extract --since 24h --dry-run`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			return a.extract(c.Context(), cfg, f)
		},
	}
	a.datasetFlags(c)
	flags := c.Flags()
	sessionFlag(c, &f.session, "id of the session (default all sessions)")
	flags.Var(&f.since, "since", "how far back rows are read, such as 7d or 36h")
	flags.StringVar(&f.answers, "answers", "", "go on with the answers of an extraction that failed: the table it named")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the statements and what choosing the rows would read; ask nothing")
	return c
}

func (a *app) extract(ctx context.Context, cfg config.Config, f extractFlags) (err error) {
	if f.session.ID == "" && (f.session.App != "" || f.session.User != "") {
		return usageError{errors.New("--app and --user belong to a session: give --session too")}
	}
	if _, err := warehouse.ExtractEndpoint(cfg.BigQuery, config.Default().BigQuery.Location); err != nil {
		return err
	}
	x, err := setup.Extractor(cfg)
	if err != nil {
		return err
	}
	d, err := a.dataset(ctx, cfg.BigQuery)
	if err != nil {
		return err
	}
	defer d.Close()
	now := time.Now()
	r := bigquery.ExtractRequest{From: f.since.before(now), To: now, Answers: f.answers, DryRun: f.dryRun}
	if f.session.ID != "" {
		sessions, err := datasetSessions(ctx, d, f.session, r.From, now)
		switch {
		case err != nil:
			return err
		case len(sessions) == 0:
			return fmt.Errorf("the dataset has no rows of session %q within %s; look further back with --since", f.session.ID, f.since.String())
		case len(sessions) > 1:
			return several(f.session.ID, sessions)
		}
		r.Session = sessions[0]
	}
	run := syncRun{app: a, dataset: d}
	if !f.dryRun && hasJournal(cfg) {
		if run.journal, err = openJournal(ctx, cfg, ""); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, run.journal.Close(context.WithoutCancel(ctx))) }()
	}
	report, err := d.Extract(ctx, r)
	if f.dryRun && err == nil {
		for _, text := range report.Statements {
			a.statement(text)
		}
		a.say("choosing the rows would read %d bytes; the model would be %s", report.BytesBilled, report.Endpoint)
		return nil
	}
	if err == nil || report.Sent > 0 {
		a.printExtraction(report)
	}
	if err != nil || len(report.Found) == 0 {
		return err
	}
	return run.found(ctx, x, report.Found, r.From)
}

func (a *app) printExtraction(r *bigquery.ExtractReport) {
	if r.Sent > 0 {
		fmt.Fprintf(a.stdout, "%d rows read: %d with entities, %d without, %d failed, %d not understood\n", r.Sent, r.OK, r.Empty, r.Failed, r.Unparseable)
	} else {
		fmt.Fprintln(a.stdout, "no rows to read")
	}
	for _, t := range slices.Sorted(maps.Keys(r.Entities)) {
		fmt.Fprintf(a.stdout, "  %s: %d\n", t, r.Entities[t])
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		a.note("%d rows: %s", r.Reasons[reason], reason)
	}
	if r.Dropped > 0 {
		a.note("%d answers were no entities of the configured types", r.Dropped)
	}
	if r.Truncated > 0 {
		a.note("of %d rows only the beginning was read", r.Truncated)
	}
	if r.Left > 0 {
		a.note("%d rows are left for the next extraction", r.Left)
	}
	fmt.Fprintf(a.stdout, "%d bytes billed in %d jobs\n", r.BytesBilled, len(r.Jobs))
}
