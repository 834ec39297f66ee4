// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/propose"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// initTimeout bounds init where --timeout does not: some forty objects take a second
// each at most, and the client repeats requests that failed for as long as it may.
const initTimeout = 10 * time.Minute

func (a *app) initCommand() *cobra.Command {
	var dryRun, offline, inStore bool
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

With --store, it makes the schema of the database of the section store, or brings it up to date.

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
			ctx, cancel := context.WithTimeout(c.Context(), time.Duration(timeout))
			defer cancel()
			if inStore {
				return a.initStore(ctx)
			}
			if offline && !dryRun {
				return usageError{errors.New("--offline goes with --dry-run")}
			}
			if dryRun {
				return a.plan(ctx, offline)
			}
			return a.runInit(ctx, o)
		},
	}
	a.datasetFlags(c)
	f := c.Flags()
	f.StringVar(&from.ID, "from", "", "draft a configuration from the calls of this session of the journal")
	ownerFlags(c, &from)
	f.StringVar(&flows, "flows", "", "with --from: write an honest flow and an attack into this folder, for contextgraph test")
	f.BoolVar(&inStore, "store", false, "make the schema of the database of the section store, or bring it up to date; no dataset")
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
func (a *app) runInit(ctx context.Context, o bigquery.InitOptions) error {
	_, d, err := a.connect(ctx)
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
func (a *app) plan(ctx context.Context, offline bool) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	var statements []warehouse.Definition
	var failed error
	if !offline {
		d, err := a.dataset(ctx, cfg.BigQuery)
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
		if statements, err = warehouse.Definitions(cfg.BigQuery); err != nil {
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
	src, err := a.recorded(ctx)
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
		cfg := src.cfg
		if len(cfg.Extract) == 0 {
			if cfg, err = config.Parse("the draft", draft, nil); err != nil {
				return err
			}
		}
		x, err := setup.Extractor(cfg)
		if err != nil {
			return err
		}
		unchanged, changed, err := propose.Flows(rec.Rows, guarded, x)
		if err != nil {
			return err
		}
		if err := a.writeFlows(flows, map[string][]byte{"unchanged.yaml": unchanged, "changed.yaml": changed}); err != nil {
			return err
		}
	}
	_, err = a.stdout.Write(draft)
	return err
}

// writeFlows writes flows into a folder. It replaces no file. A flow without a text is not written.
func (a *app) writeFlows(dir string, flows map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name := range flows {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%s is there already: remove it, or name another folder with --flows", path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(flows)) {
		path := filepath.Join(dir, name)
		if flows[name] == nil {
			a.note("no flow %s: the guarded call names nothing that the rules read; correct the rules, then run this again", path)
			continue
		}
		if err := os.WriteFile(path, flows[name], 0o644); err != nil {
			return err
		}
		a.note("wrote %s; try it with contextgraph test %s", path, dir)
	}
	return nil
}

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
			return a.sync(c.Context(), f)
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

func (a *app) sync(ctx context.Context, f syncFlags) (err error) {
	_, x, err := a.rules()
	if err != nil {
		return err
	}
	cfg, d, err := a.connect(ctx)
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
	default:
		sessions, err = sessionsLike(ctx, inspect.NewJournal(j), f.session, after)
	}
	switch {
	case err != nil:
		return err
	case len(sessions) == 0 && f.all:
		a.say("no session has rows within %s in the %s", f.since.String(), f.from)
		return nil
	case len(sessions) == 0:
		return fmt.Errorf("the %s has no rows of session %q%s", f.from, f.session.ID, hint)
	case !f.all:
		if _, err := oneSession(sessions, f.session.ID); err != nil {
			return err
		}
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
		RunE: func(c *cobra.Command, _ []string) error { return a.extract(c.Context(), f) },
	}
	a.datasetFlags(c)
	flags := c.Flags()
	sessionFlag(c, &f.session, "id of the session (default all sessions)")
	flags.Var(&f.since, "since", "how far back rows are read, such as 7d or 36h")
	flags.StringVar(&f.answers, "answers", "", "go on with the answers of an extraction that failed: the table it named")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the statements and what choosing the rows would read; ask nothing")
	return c
}

func (a *app) extract(ctx context.Context, f extractFlags) (err error) {
	if f.session.ID == "" && (f.session.App != "" || f.session.User != "") {
		return usageError{errors.New("--app and --user belong to a session: give --session too")}
	}
	_, x, err := a.rules()
	if err != nil {
		return err
	}
	cfg, d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := warehouse.ExtractEndpoint(cfg.BigQuery, config.Default().BigQuery.Location); err != nil {
		return err
	}
	now := time.Now()
	r := bigquery.ExtractRequest{From: f.since.before(now), To: now, Answers: f.answers, DryRun: f.dryRun}
	if f.session.ID != "" {
		sessions, err := datasetSessions(ctx, d, f.session, r.From, now)
		switch {
		case err != nil:
			return err
		case len(sessions) == 0:
			return fmt.Errorf("the dataset has no rows of session %q within %s; look further back with --since", f.session.ID, f.since.String())
		}
		if r.Session, err = oneSession(sessions, f.session.ID); err != nil {
			return err
		}
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
