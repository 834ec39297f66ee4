// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

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
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	x, err := setup.Extractor(cfg)
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
