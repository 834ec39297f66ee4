// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
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

// source gives the graphs that sync brings to the dataset.
type source interface {
	// find returns the sessions with rows after a time that match the fields of s that
	// are not empty.
	find(ctx context.Context, s record.Session, after time.Time) ([]record.Session, error)
	// graphs returns the graphs of each session, or why there are none. After an error without a
	// session nothing comes.
	graphs(ctx context.Context, sessions []record.Session) iter.Seq2[bigquery.SessionGraphs, error]
	// back gives a journal what only the dataset has of a session, and counts it.
	back(ctx context.Context, s record.Session) (int, error)
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
	now := time.Now()
	after := f.since.before(now)
	rows := &datasetSource{dataset: d, extractor: x, from: after, to: now}
	var from source = rows
	if f.from == fromJournal || hasJournal(cfg) {
		j, err := openJournal(ctx, cfg, ", or use --from dataset")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
		recorded := &journalSource{journal: j, folds: graphsync.NewSessions(j, x)}
		if f.from == fromJournal {
			from = recorded
			if !f.all {
				after = time.Time{} // the journal finds any session that it has
			}
		} else if err := rows.giveTo(ctx, recorded, f.session); err != nil {
			return err
		}
	}
	sessions, err := from.find(ctx, f.session, after)
	switch {
	case err != nil:
		return err
	case len(sessions) == 0 && f.all:
		a.say("no session has rows within %s in the %s", f.since.String(), f.from)
		return nil
	case len(sessions) == 0:
		return fmt.Errorf("the %s has no rows of session %q%s", f.from, f.session.ID, hint(f))
	case len(sessions) > 1 && !f.all:
		return usageError{several(f.session.ID, sessions)}
	}
	return a.syncAll(ctx, d, from, sessions)
}

// hint is the advice for a session that was not found.
func hint(f syncFlags) string {
	if f.from == fromJournal {
		return "; it may have been recorded elsewhere: try --from dataset"
	}
	return " within " + f.since.String() + "; look further back with --since"
}

// syncAll syncs one session after another and goes on after one that failed.
func (a *app) syncAll(ctx context.Context, d *bigquery.Dataset, from source, sessions []record.Session) error {
	w := d.GraphWriter()
	defer w.Close()
	var failed int
	var bytes int64
	i := 0
	for g, err := range from.graphs(ctx, sessions) {
		s := g.Session
		if s == (record.Session{}) {
			return fmt.Errorf("stopped after %d of %d sessions: %w", i, len(sessions), err)
		}
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("stopped after %d of %d sessions: %w", i, len(sessions), err)
		}
		i++
		which := fmt.Sprintf("%d/%d %s of %s in %s", i, len(sessions), printable(s.ID), printable(s.User), printable(s.App))
		var r bigquery.SyncReport
		if err == nil {
			r, err = w.Write(ctx, g.Graphs...)
		}
		if err != nil {
			failed++
			a.say("%s: %v", which, err)
			continue
		}
		bytes += r.Bytes
		fmt.Fprintf(a.stdout, "%s: %d steps, %d edges, %d entities, %d checks\n", which, r.Nodes, r.Edges, r.Entities, r.Checks)
		switch n, err := from.back(ctx, s); {
		case err != nil:
			failed++
			a.say("%s: what models found did not get to the journal: %v", which, err)
			continue
		case n > 0:
			fmt.Fprintf(a.stdout, "%d/%d %s: %d entities that models found are in the journal\n", i, len(sessions), printable(s.ID), n)
		}
		if n := g.Graphs[0].Failed; n > 0 {
			a.note("%d rows of %s could not be read by the rules, and give no entities", n, s.ID)
		}
	}
	fmt.Fprintf(a.stdout, "%d sessions, %d bytes sent\n", len(sessions)-failed, bytes)
	if failed > 0 {
		return fmt.Errorf("%d of %d sessions failed", failed, len(sessions))
	}
	return nil
}

// datasetSource makes graphs of the rows in the dataset.
type datasetSource struct {
	dataset   *bigquery.Dataset
	extractor *graphsync.Extractor
	from, to  time.Time
	// journal takes what models found in the sessions that it has; nil without one.
	journal *journal.Journal
	has     map[record.Session]bool
	// models are the entities that models found in the sessions that are read, and in has; or why
	// that is not known.
	models    map[record.Session][]entity.Entity
	modelsErr error
}

// giveTo makes back give entities of models to a journal, for the sessions that match s.
func (d *datasetSource) giveTo(ctx context.Context, j *journalSource, s record.Session) error {
	sessions, err := j.find(ctx, s, time.Time{})
	d.journal, d.has = j.journal, make(map[record.Session]bool, len(sessions))
	for _, s := range sessions {
		d.has[s] = true
	}
	return err
}

func (d *datasetSource) back(ctx context.Context, s record.Session) (int, error) {
	es := d.models[s]
	if d.modelsErr != nil || len(es) == 0 {
		return 0, d.modelsErr
	}
	return bigquery.StoreFound(ctx, d.journal, s, es)
}

func (d *datasetSource) find(ctx context.Context, s record.Session, after time.Time) ([]record.Session, error) {
	found, err := d.dataset.FindSessions(ctx, s, after, d.to)
	sessions := make([]record.Session, len(found))
	for i := range found {
		sessions[i] = found[i].Session
	}
	return sessions, err
}

func (d *datasetSource) graphs(ctx context.Context, sessions []record.Session) iter.Seq2[bigquery.SessionGraphs, error] {
	has := slices.DeleteFunc(slices.Clone(sessions), func(s record.Session) bool { return !d.has[s] })
	d.models, d.modelsErr = d.dataset.ModelEntitiesOf(ctx, has, d.from, d.to)
	return d.dataset.SessionGraphs(ctx, sessions, d.extractor, d.from, d.to)
}

// journalSource reads graphs from a journal, for a dataset.
type journalSource struct {
	journal *journal.Journal
	folds   *graphsync.Sessions
}

// pageSize is how many sessions or dead letters are listed at a time.
const pageSize = 1000

func (j *journalSource) find(ctx context.Context, s record.Session, after time.Time) ([]record.Session, error) {
	if s.ID != "" {
		return inspect.NewJournal(j.journal).Find(ctx, s)
	}
	var found []record.Session
	for offset := 0; ; offset += pageSize {
		page, err := j.journal.Sessions(ctx, store.Query{App: s.App, User: s.User, Limit: pageSize, Offset: offset})
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

func (j *journalSource) graphs(ctx context.Context, sessions []record.Session) iter.Seq2[bigquery.SessionGraphs, error] {
	return func(yield func(bigquery.SessionGraphs, error) bool) {
		for _, s := range sessions {
			g, err := bigquery.JournalGraph(ctx, j.journal, j.folds, s)
			if !yield(bigquery.SessionGraphs{Session: s, Graphs: []warehouse.SessionGraph{g}}, err) {
				return
			}
		}
	}
}

// back does nothing: the graph was made of the journal.
func (*journalSource) back(context.Context, record.Session) (int, error) { return 0, nil }
