// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// exportFlags are the flags of export.
type exportFlags struct {
	session record.Session
	all     bool
	since   duration
	file    string
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export [SESSION...]",
		Short: "Write the rows of sessions as NDJSON",
		Long: `export writes the rows of sessions, one JSON object a line, in the columns of agent_events (see
docs/row-contract.md). contextgraph import, --from FILE, bq load and the Python tools read such a
file. Rows hold the words of users, models and tools; secrets were removed when they were recorded.

--file writes the whole file or none. It replaces a file of that name.`,
		Example: `  contextgraph export s-123 s-124 --app shop --file rows.ndjson
  contextgraph export --all --since 7d --file week.ndjson`,
		Args: argCount(0, -1, "ids of sessions"),
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch {
			case (len(args) == 0) != f.all:
				return usageError{errors.New("give either ids of sessions or --all")}
			case f.since > 0 && !f.all:
				return usageError{errors.New("--since goes with --all")}
			case a.output == outputJSON:
				return usageError{errors.New("export writes one JSON object a line: leave --output out, or use --output ndjson")}
			}
			return nil
		},
	}
	ownerFlags(c, &f.session)
	c.Flags().BoolVar(&f.all, "all", false, "all sessions, or those of --app, --user and --since")
	sinceFlag(c, &f.since, "with --all: sessions with rows")
	c.Flags().StringVar(&f.file, "file", "", "file to write (default stdout, as -)")
	return a.reads(c, func(ctx context.Context, src opened, ids []string) error { return a.export(ctx, src, ids, f) })
}

func (a *app) export(ctx context.Context, src opened, ids []string, f exportFlags) error {
	sessions, err := a.exported(ctx, src, ids, f)
	if err != nil {
		return err
	}
	if len(sessions) == 0 {
		a.note("%s has no such sessions", src.Name())
	}
	rows := 0
	write := func(w io.Writer) error {
		rows, err = writeSessions(ctx, src, sessions, w)
		return err
	}
	if f.file == "" || f.file == stdinName {
		return write(a.stdout)
	}
	if err := writeAtomically(f.file, write); err != nil {
		return err
	}
	a.say("%s: %s of %s", f.file, count(rows, "row", "rows"), count(len(sessions), "session", "sessions"))
	return nil
}

// exported returns the sessions to export. Of all, the one with the oldest row is first:
// who imports them has them in the order of the original.
func (a *app) exported(ctx context.Context, src opened, ids []string, f exportFlags) ([]record.Session, error) {
	if !f.all {
		return a.named(ctx, src, ids, f.session)
	}
	out, err := sessionsLike(ctx, src, f.session, f.since.before(a.now()))
	slices.Reverse(out)
	return out, err
}

func writeSessions(ctx context.Context, src inspect.Source, sessions []record.Session, w io.Writer) (rows int, err error) {
	out := rowfile.NewWriter(w)
	for r, err := range inspect.Records(ctx, src, sessions) { // without those that were removed meanwhile
		if err != nil {
			return rows, err
		}
		for i := range r.Rows {
			if err := out.Write(&r.Rows[i]); err != nil {
				return rows, err
			}
			rows++
		}
	}
	return rows, out.Flush()
}

// writeAtomically makes a file of the output of write: the whole output, or the file stays as it
// was. Only its owner can read it, because it holds payloads.
func writeAtomically(name string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file, so it is not replaced: name another one with --file", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// imported is the result of an import, for programs.
type imported struct {
	File    string `json:"file"`
	Journal string `json:"journal"`
	// Rows were in the file; Stored are new in the journal, Duplicates were there already
	// or twice in the file, Skipped are lines that hold no row.
	Rows       int               `json:"rows"`
	Stored     int               `json:"stored"`
	Duplicates int               `json:"duplicates"`
	Skipped    int               `json:"skipped"`
	Sessions   []importedSession `json:"sessions"`
}

// importedSession is a session that had rows in the file.
type importedSession struct {
	Session  record.Session    `json:"session"`
	Rows     int               `json:"rows"`
	Spans    int               `json:"spans"`
	Entities int               `json:"entities"`
	Problems []inspect.Problem `json:"problems"`
}

func (a *app) importCommand() *cobra.Command {
	var o rowfile.Options
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Read rows of this plugin or of the Python plugin into a journal",
		Long: `import reads a file of rows, one JSON object a line, into the journal, which it creates if there
is none. - reads stdin. It takes the columns of agent_events as contextgraph export, BigQuery's
exports and the Python plugin write them. It stores the rules of the configuration with them.

A line without a row is an error with line and column, and nothing is stored; --skip-bad leaves
such lines out. A row is not stored twice. An imported approval cannot be used: rows do not hold
the ledger.`,
		Example: `  contextgraph import rows.ndjson
  contextgraph import python.ndjson --journal python.db --app shop --skip-bad`,
		Args: argCount(1, 1, "one file of rows"),
		RunE: func(c *cobra.Command, args []string) error {
			o.NeedApp = "say whose row it is with --app"
			return a.importRows(c.Context(), args[0], o)
		},
	}
	c.Flags().StringVar(&o.App, "app", "", "application of rows that do not name theirs")
	c.Flags().BoolVar(&o.SkipBad, "skip-bad", false, "leave lines out that hold no row")
	return c
}

func (a *app) importRows(ctx context.Context, name string, o rowfile.Options) (err error) {
	cfg, x, err := a.rules()
	if err != nil {
		return err
	}
	read, err := a.readRows(ctx, name, o)
	if err != nil {
		return err
	}
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: journalPath(cfg), OnFull: config.Block}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	if err := store.Import(ctx, j, read.Rows); err != nil {
		return err
	}
	stats := j.Stats()
	report := imported{
		File: filepath.Base(name), Journal: filepath.Base(j.Path()), Rows: len(read.Rows),
		Stored: int(stats.Stored), Duplicates: int(stats.Duplicates), Skipped: read.Skipped, Sessions: []importedSession{},
	}
	if len(cfg.Extract) > 0 {
		if err := setup.StoreRules(ctx, j, x); err != nil {
			return err
		}
	}
	sessions := sessionsOf(read.Rows)
	for i, s := range sessions {
		full, err := inspect.Look(ctx, inspect.NewJournal(j), s.Session, a.now())
		if err != nil {
			return fmt.Errorf("the rows are stored, but not all sessions could be read: %w", err)
		}
		s.Spans, s.Entities, s.Problems = len(full.Spans), len(full.Entities), full.Problems
		report.Sessions = append(report.Sessions, s)
		a.progress("sessions", i+1, len(sessions))
	}
	return a.print(report, func(t *table) { importTable(t, &report) })
}

// sessionsOf returns the sessions of rows in the order of their first rows.
func sessionsOf(rows []record.Event) []importedSession {
	var out []importedSession
	at := make(map[record.Session]int)
	for i := range rows {
		key := rows[i].Session()
		n, ok := at[key]
		if !ok {
			n = len(out)
			at[key] = n
			out = append(out, importedSession{Session: key, Problems: []inspect.Problem{}})
		}
		out[n].Rows++
	}
	return out
}

func importTable(t *table, r *imported) {
	t.line(cell{text: r.File}, " → ", cell{text: r.Journal}, fmt.Sprintf(": %d rows, %d stored, %d were there already, %d lines left out", r.Rows, r.Stored, r.Duplicates, r.Skipped))
	if len(r.Sessions) == 0 {
		return
	}
	t.columns("SESSION", "APP", "USER", "ROWS", "SPANS", "ENTITIES", "PROBLEMS")
	for _, s := range r.Sessions {
		n := 0
		for _, p := range s.Problems {
			n += p.Count
		}
		t.row(sessionID(s.Session.ID), s.Session.App, s.Session.User, s.Rows, s.Spans, s.Entities, n)
	}
	for _, s := range r.Sessions {
		for _, p := range s.Problems {
			t.line(cell{text: s.Session.ID}, ": ", cell{p.Kind, yellow}, fmt.Sprintf(" (%d) ", p.Count), cell{text: p.Detail})
		}
	}
}
