// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Where --from reads sessions, beside files.
const (
	fromJournal = "journal"
	fromDataset = "dataset"
)

// stdinName names the standard input.
const stdinName = "-"

// elsewhere is the advice for a source that lacks the session.
const elsewhere = "look elsewhere with --journal or --from."

// reads makes c read sessions: run gets the source that --from names.
func (a *app) reads(c *cobra.Command, run func(ctx context.Context, src opened, args []string) error) *cobra.Command {
	c.Flags().StringVar(&a.from, "from", fromJournal, "where sessions are read: journal, a database such as postgres://host/name, a file of rows such as rows.ndjson, or dataset, with --project, --dataset and so on")
	a.within = duration(ask.DefaultSince)
	c.Flags().Var(&a.within, withinFlag, "with --from dataset: how far back rows are read and billed, such as 7d or 36h")
	for _, name := range a.datasetFlags(c) {
		c.Flags().Lookup(name).Hidden = true // the help of each command would be about BigQuery
	}
	return over(c, a.source, run)
}

// readsOne makes c read the session that its argument names.
func (a *app) readsOne(c *cobra.Command, run func(ctx context.Context, src opened, key record.Session) error) *cobra.Command {
	var of record.Session
	ownerFlags(c, &of)
	c.Args = argCount(1, 1, "the id of one session")
	return a.reads(c, func(ctx context.Context, src opened, args []string) error {
		key, err := a.session(ctx, src, named(of, args[0]))
		if err != nil {
			return err
		}
		return run(ctx, src, key)
	})
}

// over makes c run over what open opens.
func over(c *cobra.Command, open func(context.Context) (opened, error), run func(ctx context.Context, src opened, args []string) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		src, err := open(c.Context())
		if err != nil {
			return err
		}
		defer src.close()
		return run(c.Context(), src, args)
	}
	return c
}

// withinFlag is a flag of the commands that [app.reads] makes, and of no others.
const withinFlag = "within"

// datasetFlags adds the flags that name the dataset, and returns their names.
func (a *app) datasetFlags(c *cobra.Command) []string {
	var names []string
	for _, f := range []struct {
		to          *string
		name, usage string
	}{
		{&a.flags.Project, "project", "project of the dataset"},
		{&a.flags.BillingProject, "billing-project", "project that runs and pays for the queries (default the project of the dataset)"},
		{&a.flags.Dataset, "dataset", "dataset"},
		{&a.flags.Location, "location", "where a new dataset is created, such as EU or europe-west3 (default US)"},
		{&a.flags.Table, "table", "table of events (default agent_events)"},
	} {
		names = append(names, f.name)
		c.Flags().StringVar(f.to, f.name, "", f.usage)
	}
	return names
}

// checkFrom refuses flags of the dataset where sessions are read elsewhere: they would do nothing.
func (a *app) checkFrom(c *cobra.Command) error {
	if a.from == fromDataset || c.Flags().Lookup(withinFlag) == nil {
		return nil
	}
	for _, name := range append(new(app).datasetFlags(new(cobra.Command)), withinFlag) {
		if c.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s goes with --from dataset", name)}
		}
	}
	return nil
}

// ofDataset adds to the error for an unknown flag which commands take it, if it names the dataset.
func ofDataset(c *cobra.Command, err error) error {
	for _, name := range append(new(app).datasetFlags(new(cobra.Command)), withinFlag) {
		if err.Error() == "unknown flag: --"+name {
			return fmt.Errorf("%w: it goes with init, sync, extract and dead-letters, and with --from dataset; %s reads no dataset", err, c.CommandPath())
		}
	}
	return err
}

// opened is where sessions are read from.
type opened struct {
	inspect.Source
	cfg config.Config
	// journal and dataset are nil where it is another source. The first is a store, which may be a database.
	journal store.Store
	dataset *bigquery.Dataset
	close   func()
}

// Records reads many sessions at a time where the source can.
func (o opened) Records(ctx context.Context, sessions []record.Session) iter.Seq2[inspect.Record, error] {
	return inspect.Records(ctx, o.Source, sessions)
}

// source opens what --from names. The caller closes it. Entities are found by the rules of the configuration, where
// the source does not have them.
func (a *app) source(ctx context.Context) (opened, error) {
	switch {
	case a.from == fromJournal:
		return a.recorded(ctx)
	case a.journalPath != "":
		return opened{}, usageError{errors.New("--journal does not go with --from: leave one of them out")}
	case isDatabase(a.from):
		cfg, err := a.fileConfig()
		if err != nil {
			return opened{}, err
		}
		cfg.Store.Postgres = config.Postgres{DSN: config.Secret(a.from)}
		return shared(ctx, cfg)
	case a.from != fromDataset && !isRowsFile(a.from):
		return opened{}, usageError{fmt.Errorf("--from is journal, dataset, a database or a file of rows, and there is no file %q", a.from)}
	}
	cfg, x, err := a.rules()
	if err != nil {
		return opened{}, err
	}
	if a.from != fromDataset {
		read, err := a.readRows(ctx, a.from, rowfile.Options{})
		if err != nil {
			return opened{}, err
		}
		rows := inspect.NewRows("file "+filepath.Base(a.from), read.Rows, inspect.WithExtractor(x), inspect.WithClock(a.now))
		return opened{Source: rows, cfg: cfg, close: func() {}}, nil
	}
	cfg, d, err := a.connect(ctx)
	if err != nil {
		return opened{}, err
	}
	o := bigquery.SourceOptions{Extractor: x, Since: time.Duration(a.within), Now: a.now}
	return opened{Source: d.Source(o), cfg: cfg, dataset: d, close: func() { d.Close() }}, nil
}

// rules returns the configuration of the file, and its rules.
func (a *app) rules() (config.Config, *graphsync.Extractor, error) {
	cfg, err := a.fileConfig()
	if err != nil {
		return cfg, nil, err
	}
	x, err := setup.Extractor(cfg)
	return cfg, x, err
}

// isRowsFile reports whether a value of --from is meant as a file.
func isRowsFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	if ext == ".ndjson" || ext == ".jsonl" || ext == ".json" || name == stdinName {
		return true
	}
	_, err := os.Stat(name)
	return err == nil
}

// recorded opens the journal for reading. It is not created.
func (a *app) recorded(ctx context.Context) (opened, error) {
	cfg, err := a.fileConfig()
	if err != nil {
		return opened{}, err
	}
	if cfg.Store.Postgres.DSN != "" && a.journalPath == "" {
		return shared(ctx, cfg)
	}
	j, err := openJournal(ctx, cfg, " or with --journal, or read elsewhere with --from")
	remove := func() {}
	if errors.Is(err, syscall.EROFS) {
		var copied string
		if copied, err = copyJournal(journalPath(cfg)); err != nil {
			return opened{}, err
		}
		remove = func() { _ = os.RemoveAll(filepath.Dir(copied)) }
		fmt.Fprintf(a.stderr, "the disk of %s cannot be written: a copy of the journal is read\n", journalPath(cfg))
		if j, err = journal.Open(ctx, journal.Config{Journal: config.Journal{Path: copied}}); err != nil {
			remove()
		}
	}
	if err != nil {
		return opened{}, err
	}
	return opened{Source: inspect.NewJournal(j), cfg: cfg, journal: j, close: func() {
		_ = j.Close(context.WithoutCancel(ctx)) // it wrote nothing
		remove()
	}}, nil
}

// session finds the one session that key names: its id, or the beginning of it, and application and
// user where they are given. One that is not there ends the command with exitNotFound, and the error
// names an id that was probably meant.
func (a *app) session(ctx context.Context, src opened, key record.Session) (record.Session, error) {
	id := key.ID
	found, err := src.Find(ctx, key)
	switch {
	case err != nil && !errors.Is(err, inspect.ErrNotFound):
		return record.Session{}, err
	case len(found) > 0:
		return oneSession(found, id)
	}
	if key.App+key.User != "" {
		if others, err := src.Find(ctx, record.Session{ID: id}); err == nil && len(others) > 0 {
			s := others[0]
			return record.Session{}, exit{exitNotFound, fmt.Errorf("%s has no session %q for these --app and --user; there is one with --app %q --user %q", src.Name(), id, s.App, s.User)}
		}
	}
	var known []string
	if page, err := src.Sessions(ctx, inspect.Query{Limit: inspect.MaxLimit}); err == nil {
		for _, s := range page.Sessions {
			known = append(known, s.Session.ID)
		}
	}
	return record.Session{}, notFound("session", id, src.Name(), known, `List them with "contextgraph sessions", or `+elsewhere)
}

// named returns the sessions that ids name, each once.
func (a *app) named(ctx context.Context, src opened, ids []string, of record.Session) (keys []record.Session, err error) {
	for _, id := range ids {
		key, err := a.session(ctx, src, named(of, id))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// sessionsLike returns the sessions that match the fields of a session that are not empty. Without an id they have rows
// after a time.
func sessionsLike(ctx context.Context, src inspect.Source, of record.Session, after time.Time) (all []record.Session, err error) {
	if of.ID != "" {
		return src.Find(ctx, of)
	}
	for s, err := range inspect.All(ctx, src, inspect.Query{App: of.App, User: of.User, From: after}) {
		if err != nil {
			return nil, err
		}
		all = append(all, s.Session)
	}
	return all, nil
}

// read returns all there is to see of the session that key names.
func (a *app) read(ctx context.Context, src opened, key record.Session) (*inspect.Session, error) {
	key, err := a.session(ctx, src, key)
	if err != nil {
		return nil, err
	}
	return inspect.Look(ctx, src, key, a.now())
}

// maxNamed is how many of those that one id names are listed.
const maxNamed = 10

// oneSession returns the only one of the sessions that an id names.
func oneSession(found []record.Session, id string) (record.Session, error) {
	if found[0].ID == id {
		return only(found, id, "sessions have the id %q; say which with --app and --user:", func(s record.Session) string {
			return fmt.Sprintf("--app %q --user %q", s.App, s.User)
		})
	}
	return only(found, id, "sessions"+moreOfTheID, func(s record.Session) string { return fmt.Sprintf("%s of %s in %s", s.ID, s.User, s.App) })
}

// moreOfTheID is said of things that the beginning of an id names.
const moreOfTheID = " have ids that begin with %q; give more of the id:"

// only returns the only one of the things that an id names, or the error that says what of them and lists the first.
func only[T any](things []T, id, what string, say func(T) string) (one T, err error) {
	if len(things) == 1 {
		return things[0], nil
	}
	text := fmt.Sprintf("%d "+what, len(things), id)
	for _, one := range things[:min(len(things), maxNamed)] {
		text += "\n  " + say(one)
	}
	if more := len(things) - maxNamed; more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return one, usageError{errors.New(text)}
}

// readRows reads the file of rows called name, and tells what it left out.
func (a *app) readRows(ctx context.Context, name string, o rowfile.Options) (*rowfile.Contents, error) {
	in, closeFile, err := a.openRows(ctx, name)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	got, err := rowfile.Read(ctx, in, name, o)
	if err != nil {
		return nil, err
	}
	for _, err := range got.Bad {
		a.note("left out: %v", err)
	}
	if n := got.Skipped - len(got.Bad); n > 0 {
		a.note("left out: %d more lines", n)
	}
	if len(got.Unknown) > 0 {
		a.note("members that are no columns were not read: %s", strings.Join(slices.Sorted(maps.Keys(got.Unknown)), ", "))
	}
	if got.Unnamed > 0 {
		a.note("%s without event_id: named by what they hold, so that reading them again finds them", count(got.Unnamed, "row", "rows"))
	}
	return got, nil
}

func (a *app) openRows(ctx context.Context, name string) (io.Reader, func(), error) {
	if name == stdinName {
		// Nothing ends a read of a terminal or of a pipe, so it is left to itself.
		in, given := io.Pipe()
		go func() {
			_, err := io.Copy(given, cmp.Or[io.Reader](a.stdin, os.Stdin))
			given.CloseWithError(err)
		}()
		stop := context.AfterFunc(ctx, func() { given.CloseWithError(context.Cause(ctx)) })
		return in, func() { stop(); _ = in.Close() }, nil // it always is nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // nothing was read
		return nil, nil, fmt.Errorf("%s is a directory: name a file of rows in it", name)
	}
	return f, func() { _ = f.Close() }, nil // only read
}

// journalPath returns where the journal of the configuration is.
func journalPath(cfg config.Config) string {
	return cfg.Journal.WithDefaults().Path
}

// hasJournal reports whether there is a journal where the configuration says.
func hasJournal(cfg config.Config) bool {
	_, err := os.Stat(journalPath(cfg))
	return err == nil
}

// openJournal opens the journal of the configuration, which must exist. instead ends the text of an
// error. The caller closes the journal.
func openJournal(ctx context.Context, cfg config.Config, instead string) (*journal.Journal, error) {
	path := journalPath(cfg)
	if err := journal.Missing(path); err != nil {
		return nil, fmt.Errorf("%w; name it with journal.path in the configuration%s", err, instead)
	}
	return journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path}})
}

// copyJournal copies a journal, with the rows in its log, into a new folder below that for temporary files. SQLite
// reads no file in WAL mode on a disk that it cannot write to.
func copyJournal(path string) (copied string, err error) {
	dir, err := os.MkdirTemp("", "contextgraph-")
	if err != nil {
		return "", err
	}
	copied = filepath.Join(dir, filepath.Base(path))
	for _, suffix := range []string{"", "-wal"} {
		from, err := os.Open(path + suffix)
		if errors.Is(err, fs.ErrNotExist) && suffix != "" {
			break
		}
		if err == nil {
			var to *os.File
			if to, err = os.OpenFile(copied+suffix, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				_, err = io.Copy(to, from)
				err = errors.Join(err, to.Close())
			}
			_ = from.Close() // it was only read
		}
		if err != nil {
			return "", errors.Join(fmt.Errorf("copy the journal: %w", err), os.RemoveAll(dir))
		}
	}
	return copied, nil
}
