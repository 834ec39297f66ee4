// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/verify"
)

// verifyTimeout bounds a verification where --timeout does not.
const verifyTimeout = 30 * time.Minute

// verifyFlags are the flags of verify.
type verifyFlags struct {
	plan, yes, keep bool
	report          string
	only            []string
	timeout         duration
}

func (a *app) verifyCommand() *cobra.Command {
	f := verifyFlags{timeout: duration(verifyTimeout)}
	c := &cobra.Command{
		Use:   "verify",
		Short: "Try a project of BigQuery out, in a dataset that is removed afterwards",
		Long: `verify tells whether contextgraph works in your project as it says. It creates a dataset with
a random name, streams a small record to it, and compares what a session answers there with the
journal. It runs every statement over many sessions and every query. Then it removes the dataset,
also after Ctrl-C. It touches nothing else.

It says first what that costs at most, and asks; --plan prints all of it without a connection. The
account needs roles/bigquery.user on the project. The report does not have the id of the project.`,
		Example: `  contextgraph verify --plan
  contextgraph verify --project my-project --location EU --yes --report verify.json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := a.flaggedConfig()
			if err != nil {
				return err
			}
			if f.plan {
				return a.verifyPlan(cfg.BigQuery, f.only)
			}
			return a.verify(c.Context(), cfg.BigQuery, f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&a.flags.Project, "project", "", "project in which the dataset is created")
	flags.StringVar(&a.flags.BillingProject, "billing-project", "", "project that runs and pays for the queries (default the project of the dataset)")
	flags.StringVar(&a.flags.Location, "location", "", "where the dataset is created, such as EU or europe-west3 (default US)")
	flags.BoolVar(&f.plan, "plan", false, "print the checks, the statements and the greatest cost, and do nothing")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.keep, "keep", false, "leave the dataset, to look at a failure; its tables expire after a day")
	flags.StringSliceVar(&f.only, "only", nil, "make these checks alone, and those that they need; may be repeated")
	flags.StringVar(&f.report, "report", "", "write what was found to this file, as JSON")
	flags.Var(&f.timeout, "timeout", "give up after this time")
	return c
}

// verifyPlan prints what verify does.
func (a *app) verifyPlan(b config.BigQuery, only []string) error {
	p, err := verify.NewPlan(b, only...)
	if err != nil {
		return usageError{err}
	}
	for _, c := range p.Checks {
		fmt.Fprintf(a.stdout, "-- %-9s %-35s  %s", c.Step, c.Name, c.About)
		if c.Bytes > 0 {
			fmt.Fprintf(a.stdout, " (%s at most)", verify.Size(c.Bytes))
		}
		fmt.Fprintln(a.stdout)
	}
	fmt.Fprintf(a.stdout, "--\n-- %s\n\n", cost(p))
	texts, err := p.Texts(b)
	if err != nil {
		return err
	}
	for _, text := range texts {
		a.statement(text)
	}
	return nil
}

// cost says what a run costs at most.
func cost(p *verify.Plan) string {
	return fmt.Sprintf("at most %d statements, which read %s at most: %.2f USD on demand in US, where a TiB is 6.25 USD; other places cost more", p.Statements, verify.Size(p.Bytes), p.Dollars())
}

func (a *app) verify(ctx context.Context, b config.BigQuery, f verifyFlags) error {
	if b.Project == "" {
		return usageError{errors.New("no project is named: use --project, or the section bigquery of " + cmp.Or(a.configPath, defaultConfig))}
	}
	p, err := verify.NewPlan(b, f.only...)
	if err != nil {
		return usageError{err}
	}
	if f.report != "" {
		if _, err := os.Stat(filepath.Dir(f.report)); err != nil {
			return usageError{fmt.Errorf("--report %s: %w", f.report, err)}
		}
	}
	a.say("verify creates a dataset contextgraph_verify_… in %s of project %s, makes %d checks in it, and removes it.", b.WithDefaults().Location, b.Project, len(p.Checks))
	a.say("It runs %s.", cost(p))
	if !f.yes {
		if !a.attended() {
			return usageError{errors.New("nobody is at a terminal to be asked: look at --plan, then add --yes")}
		}
		switch yes, err := a.confirmed(ctx, "Go on?"); {
		case err != nil:
			return err
		case !yes:
			return errors.New("nothing was done")
		}
	}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(f.timeout))
	defer cancel()
	report, err := verify.Run(bounded, verify.Config{
		BigQuery: b, Options: bigquery.DatasetOptions{Client: a.client, Write: a.write, Surface: "cli"}, Only: f.only, Keep: f.keep, Progress: a.verified, Now: a.now,
	})
	if report == nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%d ok, %d failed, %d skipped; %s billed\n", report.Count(verify.OK), report.Count(verify.Failed), report.Count(verify.Skipped), verify.Size(report.Billed))
	if f.report != "" {
		err = errors.Join(err, writeAtomically(f.report, func(w io.Writer) error { return report.WriteJSON(w) }))
	}
	if n := report.Count(verify.Failed); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d checks failed", n, len(report.Checks)))
	}
	return err
}

// verified prints how a check ended.
func (a *app) verified(r verify.Result) {
	fmt.Fprintf(a.stdout, "%-7s  %-9s  %-35s  %10s  %6d ms\n", r.Outcome, r.Step, r.Name, verify.Size(r.Estimate), r.Milliseconds)
	a.indented("", r.Reason)
	a.indented("do: ", r.Remedy)
}

// indented prints a text below a line.
func (a *app) indented(what, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(what + text) {
		fmt.Fprintf(a.stdout, "         %s\n", printable(strings.TrimRight(line, "\n")))
	}
}
