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

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
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
	var out []record.Session
	for _, id := range ids {
		s, err := a.session(ctx, src, named(f.session, id))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if f.all {
		q := inspect.Query{App: f.session.App, User: f.session.User, From: f.since.before(a.now())}
		for s, err := range inspect.All(ctx, src, q) {
			if err != nil {
				return nil, err
			}
			out = append(out, s.Session)
		}
		slices.Reverse(out)
	}
	return out, nil
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
