// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// syncFlags are the flags of sync.
type syncFlags struct {
	session record.Session
	all     bool
	from    string
	since   duration
}

func (a *app) syncCommand() *cobra.Command {
	f := syncFlags{from: fromJournal, since: duration(7 * 24 * time.Hour)}
	c := &cobra.Command{
		Use:   "sync",
		Short: "Bring the graph of sessions to the dataset",
		Long: `sync appends the graph of one session, or of all recent ones, to the table session_graphs, as
a new version. With --from dataset it makes the graph of the rows that all hosts streamed: for a
session with runs on several hosts, or for rows that another program wrote. The journal, if there
is one, then gets the entities that models found.`,
		Example: `  contextgraph sync --session s-123
  contextgraph sync --all --from dataset --since 7d`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case f.from != fromJournal && f.from != fromDataset:
				return usageError{fmt.Errorf("--from is journal or dataset, not %q", f.from)}
			case (f.session.ID == "") != f.all:
				return usageError{errors.New("give either --session or --all")}
			}
			cfg, err := a.config()
			if err != nil {
				return err
			}
			return a.sync(c.Context(), cfg, f)
		},
	}
	a.datasetFlags(c)
	flags := c.Flags()
	sessionFlag(c, &f.session, "id of the session")
	flags.BoolVar(&f.all, "all", false, "all sessions with rows within --since")
	flags.StringVar(&f.from, "from", f.from, "where the rows are read: journal or dataset")
	flags.Var(&f.since, "since", "how far back sessions are looked for, and with --from dataset rows that have no graph yet, such as 7d or 36h")
	return c
}

func (a *app) sync(ctx context.Context, cfg config.Config, f syncFlags) (err error) {
	x, err := setup.Extractor(cfg)
	if err != nil {
		return err
	}
	d, err := a.dataset(ctx, cfg.BigQuery)
	if err != nil {
		return err
	}
	defer d.Close()
	var j *journal.Journal
	if f.from == fromJournal || hasJournal(cfg) {
		if j, err = openJournal(ctx, cfg, ", or use --from dataset"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	}
	now := time.Now()
	after := f.since.before(now)
	var sessions []record.Session
	hint := "; it may have been recorded elsewhere: try --from dataset"
	switch {
	case f.from == fromDataset:
		hint = " within " + f.since.String() + "; look further back with --since"
		sessions, err = datasetSessions(ctx, d, f.session, after, now)
	case f.all:
		sessions, err = journalSessions(ctx, j, f.session, after)
	default:
		sessions, err = journalSessions(ctx, j, f.session, time.Time{}) // it finds any session that it has
	}
	switch {
	case err != nil:
		return err
	case len(sessions) == 0 && f.all:
		a.say("no session has rows within %s in the %s", f.since.String(), f.from)
		return nil
	case len(sessions) == 0:
		return fmt.Errorf("the %s has no rows of session %q%s", f.from, f.session.ID, hint)
	case len(sessions) > 1 && !f.all:
		return several(f.session.ID, sessions)
	}
	run := syncRun{app: a, dataset: d, all: len(sessions)}
	if f.from == fromJournal {
		return run.sync(ctx, journalGraphs(ctx, j, x, sessions))
	}
	run.journal = j
	return run.sync(ctx, d.SessionGraphs(ctx, sessions, x, after, now))
}

// syncRun brings graphs to the dataset, and what models found there to the journal, if there is one.
type syncRun struct {
	*app
	dataset *bigquery.Dataset
	journal *journal.Journal
	all     int
}

// found brings the graphs of the sessions of rows that say what a model found, and these rows to the journal.
func (r *syncRun) found(ctx context.Context, x *graphsync.Extractor, rows []record.Event, from time.Time) error {
	var sessions []record.Session
	for _, e := range rows {
		if !slices.Contains(sessions, e.Session()) {
			sessions = append(sessions, e.Session())
		}
	}
	r.all = len(sessions)
	return r.sync(ctx, r.dataset.SessionGraphs(ctx, sessions, x, from, time.Now()))
}

// sync syncs one session after another and goes on after one that failed. After an error without a session no graph
// comes.
func (r *syncRun) sync(ctx context.Context, graphs iter.Seq2[bigquery.SessionGraphs, error]) error {
	w := r.dataset.GraphWriter()
	defer w.Close()
	var i, failed int
	var bytes int64
	for g, err := range graphs {
		s := g.Session
		if err = cmp.Or(context.Cause(ctx), err); s == (record.Session{}) || ctx.Err() != nil {
			return fmt.Errorf("stopped after %d of %d sessions: %w", i, r.all, err)
		}
		i++
		which := fmt.Sprintf("%d/%d %s of %s in %s", i, r.all, printable(s.ID), printable(s.User), printable(s.App))
		var report bigquery.SyncReport
		if err == nil {
			report, err = w.Write(ctx, g.Graphs...)
		}
		if err != nil {
			failed++
			r.say("%s: %v", which, err)
			continue
		}
		bytes += report.Bytes
		fmt.Fprintf(r.stdout, "%s: %d steps, %d edges, %d entities, %d checks\n", which, report.Nodes, report.Edges, report.Entities, report.Checks)
		n := 0
		if r.journal != nil {
			n, err = bigquery.StoreFound(ctx, r.journal, g.Found)
		}
		if err != nil {
			failed++
			r.say("%s: what models found did not get to the journal: %v", which, err)
			continue
		}
		if n > 0 {
			fmt.Fprintf(r.stdout, "%d/%d %s: what models found in %d rows is in the journal\n", i, r.all, printable(s.ID), n)
		}
		if n := g.Graphs[0].Failed; n > 0 {
			r.note("%d rows of %s could not be read by the rules, and give no entities", n, s.ID)
		}
	}
	fmt.Fprintf(r.stdout, "%d sessions, %d bytes sent\n", r.all-failed, bytes)
	if failed > 0 {
		return fmt.Errorf("%d of %d sessions failed", failed, r.all)
	}
	return nil
}

// datasetSessions returns the sessions of a dataset with rows in a time that match the fields of s that are not empty.
func datasetSessions(ctx context.Context, d *bigquery.Dataset, s record.Session, after, to time.Time) ([]record.Session, error) {
	found, err := d.FindSessions(ctx, s, after, to)
	sessions := make([]record.Session, len(found))
	for i := range found {
		sessions[i] = found[i].Session
	}
	return sessions, err
}

// pageSize is how many sessions or dead letters are listed at a time.
const pageSize = 1000

// journalSessions is datasetSessions for a journal.
func journalSessions(ctx context.Context, j *journal.Journal, s record.Session, after time.Time) (found []record.Session, err error) {
	if s.ID != "" {
		return inspect.NewJournal(j).Find(ctx, s)
	}
	for offset := 0; ; offset += pageSize {
		page, err := j.Sessions(ctx, store.Query{App: s.App, User: s.User, Limit: pageSize, Offset: offset})
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if !one.Last.Before(after) {
				found = append(found, one.Session)
			}
		}
		if len(page) < pageSize {
			return found, nil
		}
	}
}

// journalGraphs makes graphs of the rows of a journal.
func journalGraphs(ctx context.Context, j *journal.Journal, x *graphsync.Extractor, sessions []record.Session) iter.Seq2[bigquery.SessionGraphs, error] {
	folds := graphsync.NewSessions(j, x)
	return func(yield func(bigquery.SessionGraphs, error) bool) {
		for _, s := range sessions {
			g, err := bigquery.JournalGraph(ctx, j, folds, s)
			if !yield(bigquery.SessionGraphs{Session: s, Graphs: []warehouse.SessionGraph{g}}, err) {
				return
			}
		}
	}
}
