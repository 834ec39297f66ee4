// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/propose"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// initTimeout bounds init where --timeout does not: some forty objects take a second
// each at most, and the client repeats requests that failed for as long as it may.
const initTimeout = 10 * time.Minute

func (a *app) initCommand() *cobra.Command {
	var dryRun, offline bool
	var from record.Session
	var flows string
	timeout := duration(initTimeout)
	var o bigquery.InitOptions
	c := &cobra.Command{
		Use:   "init",
		Short: "Create the tables, views and the graph, or draft a configuration",
		Long: `init creates the parts of the dataset that are missing: the dataset, the table of events, the tables
of the graph, the views and the property graph. Nothing is dropped or retyped, and no row is
touched. It can be run again at any time.

With --from, it drafts a configuration from the calls of a recorded session instead: rules, and a
checker for each type, as YAML to be read and corrected.`,
		Example: `  contextgraph init --project my-project --dataset agents --location EU
  contextgraph init --dry-run            # the statements for what is missing
  contextgraph init --from s-123 --flows flows`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if from.ID != "" {
				return a.propose(c.Context(), from, flows)
			}
			if offline && !dryRun {
				return usageError{errors.New("--offline goes with --dry-run")}
			}
			cfg, err := a.config()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), time.Duration(timeout))
			defer cancel()
			if dryRun {
				return a.plan(ctx, cfg.BigQuery, offline)
			}
			return a.runInit(ctx, cfg.BigQuery, o)
		},
	}
	a.datasetFlags(c)
	f := c.Flags()
	f.StringVar(&from.ID, "from", "", "draft a configuration from the calls of this session of the journal")
	ownerFlags(c, &from)
	f.StringVar(&flows, "flows", "", "with --from: write an honest flow and an attack into this folder, for contextgraph test")
	f.BoolVar(&dryRun, "dry-run", false, "print the statements and change nothing")
	f.BoolVar(&offline, "offline", false, "with --dry-run: do not look at the dataset")
	f.BoolVar(&o.NoDataset, "no-dataset", false, "do not create the dataset")
	f.Var(&timeout, "timeout", "give up after this time")
	f.StringVar(&a.flags.ViewPrefix, "view-prefix", "", "prefix of the typed views (default v)")
	f.StringVar(&a.flags.Graph.Name, "graph", "", "name of the property graph (default contextgraph)")
	f.BoolVar(&a.noGraph, "no-graph", false, "do not create the property graph, which only queries in GQL need")
	return c
}

// runInit brings the dataset up to date and prints a line for each object.
func (a *app) runInit(ctx context.Context, cfg config.BigQuery, o bigquery.InitOptions) error {
	d, err := a.dataset(ctx, cfg)
	if err != nil {
		return err
	}
	defer d.Close()
	o.Progress = func(obj bigquery.InitObject) {
		fmt.Fprintf(a.stdout, "%-9s %-7s %s", obj.Outcome, obj.Kind, obj.Name)
		if len(obj.Added) > 0 {
			fmt.Fprintf(a.stdout, " (new: %s)", strings.Join(obj.Added, ", "))
		}
		fmt.Fprintln(a.stdout)
	}
	r, err := d.Init(ctx, o)
	for _, n := range r.Notes {
		a.note("%s", n)
	}
	return err
}

// plan prints what init would do. Where the dataset cannot be looked at, it prints what
// makes one from nothing, and says so.
func (a *app) plan(ctx context.Context, cfg config.BigQuery, offline bool) error {
	var statements []warehouse.Definition
	var failed error
	if !offline {
		d, err := a.dataset(ctx, cfg)
		if err == nil {
			defer d.Close()
			var notes []string
			statements, notes, err = d.Plan(ctx)
			for _, n := range notes {
				a.note("%s", n)
			}
		}
		switch failed = err; {
		case statements == nil:
			a.note("the dataset could not be looked at, so these are the statements for a new one: %v", err)
			failed = nil
		case len(statements) == 0 && err == nil:
			fmt.Fprintln(a.stdout, "-- Nothing is to be done.")
		}
	}
	if statements == nil {
		var err error
		if statements, err = warehouse.Definitions(cfg); err != nil {
			return err
		}
	}
	for _, s := range statements {
		a.statement(s.SQL)
	}
	return failed
}

// propose prints a draft of a configuration, made from the calls of a recorded session. If flows is not
// "", it writes two flows into that folder.
func (a *app) propose(ctx context.Context, s record.Session, flows string) error {
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	src, err := a.recorded(ctx, cfg)
	if err != nil {
		return err
	}
	defer src.close()
	seen, err := a.read(ctx, src, s)
	if err != nil {
		return err
	}
	rec, err := src.Record(ctx, seen.Session)
	if err != nil {
		return err
	}
	var guarded []string
	for _, q := range seen.Approvals {
		if q.Kind == "confirmation" && !slices.Contains(guarded, q.Tool) {
			guarded = append(guarded, q.Tool)
		}
	}
	draft := propose.From(rec.Rows, guarded)
	if flows != "" {
		if len(cfg.Extract) == 0 {
			if cfg, err = config.Parse("the draft", draft, nil); err != nil {
				return err
			}
		}
		if err := a.writeFlows(flows, cfg, rec.Rows, guarded); err != nil {
			return err
		}
	}
	_, err = a.stdout.Write(draft)
	return err
}

// writeFlows writes an honest flow and an attack, made from a session, into a folder. It replaces no
// file.
func (a *app) writeFlows(dir string, cfg config.Config, rows []record.Event, guarded []string) error {
	x, err := setup.Extractor(cfg)
	if err != nil {
		return err
	}
	unchanged, changed, err := propose.Flows(rows, guarded, x)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names, texts := []string{"unchanged.yaml", "changed.yaml"}, [][]byte{unchanged, changed}
	for _, name := range names {
		if path := filepath.Join(dir, name); exists(path) {
			return fmt.Errorf("%s is there already: remove it, or name another folder with --flows", path)
		}
	}
	for i, name := range names {
		path := filepath.Join(dir, name)
		if texts[i] == nil {
			a.note("no flow %s: the guarded call names nothing that the rules read; correct the rules, then run this again", path)
			continue
		}
		if err := os.WriteFile(path, texts[i], 0o644); err != nil {
			return err
		}
		a.note("wrote %s; try it with contextgraph test %s", path, dir)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
