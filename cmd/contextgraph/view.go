// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// defaultPage is the file that view writes.
	defaultPage = "contextgraph.html"
	// viewNewest is how many sessions are on a page that names none.
	viewNewest = 20
)

// viewFlags are the flags of view.
type viewFlags struct {
	session record.Session
	all     bool
	last    int
	file    string
}

func (a *app) viewCommand() *cobra.Command {
	f := viewFlags{file: defaultPage}
	c := &cobra.Command{
		Use:   "view [SESSION...]",
		Short: "Write sessions to one HTML page that works without a server and a network",
		Long: fmt.Sprintf(`view writes one HTML file with the named sessions, or with the newest %d: the graph of why, the
thoughts, the timeline, and every approval. The file fetches nothing. It holds all payloads of its
sessions, up to %d MiB, so treat it like the journal. It replaces an earlier page and no other file.`, viewNewest, viewer.MaxBytes>>20),
		Example: `  contextgraph view s-123 s-124 --file review.html
  contextgraph view --all --from rows.ndjson --file all.html`,
		Args: argCount(0, -1, "the ids of sessions"),
		PreRunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("last") {
				f.last = viewNewest
			} else if f.last < 1 {
				return usageError{fmt.Errorf("--last %d: it must be positive", f.last)}
			}
			if n := len(args); n > 0 && (f.all || c.Flags().Changed("last")) || f.all && c.Flags().Changed("last") {
				return usageError{errors.New("sessions by their ids, --last and --all are one thing each: give one of them")}
			}
			if f.file == "" {
				return usageError{errors.New("--file is empty: name a file such as " + defaultPage)}
			}
			return replaceable(f.file)
		},
	}
	ownerFlags(c, &f.session)
	flags := c.Flags()
	flags.BoolVar(&f.all, "all", false, "all sessions")
	flags.IntVar(&f.last, "last", 0, fmt.Sprintf("how many of the newest sessions (default %d)", viewNewest))
	flags.StringVar(&f.file, "file", f.file, "file to write")
	return a.reads(c, func(ctx context.Context, src opened, ids []string) error { return a.view(ctx, src, ids, f) })
}

// viewed is what view prints.
type viewed struct {
	File     string           `json:"file"`
	Sessions []record.Session `json:"sessions"`
	Complete bool             `json:"complete"`
	Note     string           `json:"note"`
}

func (a *app) view(ctx context.Context, src opened, ids []string, f viewFlags) error {
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	doc, err := a.document(cfg)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		err = a.chosen(ctx, &doc, src, ids, f.session)
	} else {
		choice := viewer.Choice{App: f.session.App, User: f.session.User, Last: f.last}
		if f.all {
			choice.Last = 0
		}
		err = doc.Newest(ctx, src, choice)
	}
	if err != nil {
		return err
	}
	if len(doc.Sessions) == 0 {
		return exit{exitNotFound, fmt.Errorf("%s has no sessions to show: run the agent first, or look elsewhere with --journal or --from", src.Name())}
	}
	if err := writeAtomically(f.file, func(w io.Writer) error { return viewer.Write(w, doc) }); err != nil {
		return err
	}
	out := viewed{File: f.file, Complete: doc.Complete, Note: doc.Note}
	for _, s := range doc.Sessions {
		out.Sessions = append(out.Sessions, s.Session)
	}
	if a.output == outputTable {
		a.note("%s", doc.Note)
	}
	return a.print(out, func(t *table) { t.line(out.File) })
}

// document returns a page without its sessions.
func (a *app) document(cfg config.Config) (viewer.Document, error) {
	queries, err := viewer.Queries(cfg.BigQuery)
	return viewer.Document{Generated: a.now(), Queries: queries, Names: a.codeNames(cfg), Version: buildVersion()}, err
}

// codeNames are the names that fill in the code on a page.
func (a *app) codeNames(cfg config.Config) viewer.CodeNames {
	b := cfg.BigQuery.WithDefaults()
	names := viewer.CodeNames{Config: cmp.Or(a.configPath, defaultConfig)}
	if cfg.BigQuery.Enabled() {
		names.Project, names.Dataset, names.Location = b.Project, b.Dataset, b.Location
	}
	return names
}

// chosen puts the sessions with the ids on the page, each once.
func (a *app) chosen(ctx context.Context, doc *viewer.Document, src opened, ids []string, of record.Session) error {
	var out []*inspect.Session
	known := make(map[record.Session]bool)
	for _, id := range ids {
		s, err := a.read(ctx, src, named(of, id))
		if err != nil {
			return err
		}
		if !known[s.Session] {
			known[s.Session] = true
			out = append(out, s)
		}
	}
	doc.Chosen(src, out)
	return nil
}

// replaceable reports why a file must not be written: one that is there and is no page.
func replaceable(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s cannot be replaced: %w; name another one with --file", name, err)
	}
	if n > 0 && !bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(head[:n])), []byte("<!doctype html>")) {
		return fmt.Errorf("%s is there and is no page: name another one with --file, or remove it", name)
	}
	return nil
}
