// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/doctor"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// statsFlags are the flags of stats.
type statsFlags struct {
	app   string
	since duration
}

// recordStats is what there is in a journal or a file of rows.
type recordStats struct {
	Source   string         `json:"source"`
	Rows     int64          `json:"rows"`
	Errors   int64          `json:"errors"`
	Sessions int            `json:"sessions"`
	First    time.Time      `json:"first,omitzero"`
	Last     time.Time      `json:"last,omitzero"`
	Turns    int            `json:"turns"`
	Tokens   inspect.Tokens `json:"tokens"`
	// Approvals counts requests to humans by status, Verdicts checks by verdict.
	Approvals map[inspect.Status]int `json:"approvals"`
	Verdicts  map[string]int         `json:"verdicts"`
	// WaitedMS is how long humans were waited for, LongestMS the longest of it.
	WaitedMS  int64 `json:"waited_ms"`
	LongestMS int64 `json:"longest_wait_ms"`
	// Incomplete are sessions whose record is known to lack something.
	Incomplete []incomplete `json:"incomplete"`
	// Files are the bytes of the files of a journal, Destination what a dataset that is
	// configured has not taken; absent without one.
	Files       map[string]int64 `json:"files,omitempty"`
	Destination *destinationJSON `json:"destination,omitempty"`
}

// incomplete is a session with gaps, in words.
type incomplete struct {
	Session record.Session `json:"session"`
	Gaps    []string       `json:"gaps"`
}

// destinationJSON is what a dataset has not taken.
type destinationJSON struct {
	Name        string    `json:"name"`
	Waiting     int64     `json:"waiting_rows"`
	Oldest      time.Time `json:"oldest,omitzero"`
	DeadLetters int64     `json:"dead_letters"`
}

func (a *app) statsCommand() *cobra.Command {
	var f statsFlags
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count rows, sessions, losses, approvals and the time spent waiting",
		Long: `stats says what is in a journal: rows, sessions, the sizes of its files, sessions whose
record lacks rows, rows that a configured dataset has not taken or has refused, requests
to humans by where they stand, checks by verdict, and how long humans were waited for. It
reads every row of the sessions that it counts.

With --from dataset it asks BigQuery instead what the checks found and how long humans
were waited for, of the last 30 days unless --since says otherwise. BigQuery bills that.`,
		Example: `  contextgraph stats
  contextgraph stats --app shop --since 7d --output json
  contextgraph stats --from rows.ndjson
  contextgraph stats --from dataset --since 90d`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.from == fromDataset {
				return a.datasetStats(c.Context(), f)
			}
			return a.stats(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.app, "app", "", "one application")
	c.Flags().Var(&f.since, "since", "sessions with rows in this time, such as 7d or 36h")
	c.Flags().Lookup("since").DefValue = "" // no bound
	a.fromFlag(c)
	return c
}

func (a *app) stats(ctx context.Context, f statsFlags) (err error) {
	q := inspect.Query{App: f.app}
	if f.since > 0 {
		q.From = a.now().Add(-time.Duration(f.since))
	}
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	src, done, err := a.source(ctx)
	if err != nil {
		return err
	}
	defer done()
	s := recordStats{
		Source: src.Name(), Approvals: make(map[inspect.Status]int), Verdicts: make(map[string]int), Incomplete: []incomplete{},
	}
	err = everySession(ctx, src, q, func(one inspect.Summary) error {
		s.add(one)
		return s.look(ctx, src, one.Session, a.now())
	})
	if err != nil {
		return err
	}
	if a.from == "" || a.from == fromJournal {
		if err := s.files(journalPath(cfg)); err != nil {
			return err
		}
		if cfg.BigQuery.Enabled() {
			if err := s.backlog(ctx, cfg); err != nil {
				return err
			}
		}
	}
	return a.print(s, s.table)
}

func (s *recordStats) add(one inspect.Summary) {
	s.Sessions++
	s.Rows += int64(one.Events)
	s.Errors += int64(one.Errors)
	s.Turns += one.Turns
	s.Tokens.Prompt += one.Tokens.Prompt
	s.Tokens.Completion += one.Tokens.Completion
	s.Tokens.Total += one.Tokens.Total
	s.WaitedMS += one.WaitedMS
	if !one.Start.IsZero() && (s.First.IsZero() || one.Start.Before(s.First)) {
		s.First = one.Start
	}
	if one.End.After(s.Last) {
		s.Last = one.End
	}
}

// look counts what only the rows of a session say.
func (s *recordStats) look(ctx context.Context, src inspect.Source, key record.Session, now time.Time) error {
	r, err := src.Record(ctx, key)
	if errors.Is(err, inspect.ErrNotFound) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	if len(r.Gaps) > 0 {
		s.Incomplete = append(s.Incomplete, incomplete{key, r.Gaps})
	}
	asks := slices.ContainsFunc(r.Rows, func(e record.Event) bool { return asked(e.EventType) })
	if !asks && len(r.Approvals) == 0 {
		return nil
	}
	full, err := inspect.New(r, now)
	if err != nil {
		return err
	}
	for _, p := range full.Approvals {
		s.Approvals[p.Status]++
		s.LongestMS = max(s.LongestMS, p.WaitedMS)
		for _, k := range p.Checks {
			s.Verdicts[k.Verdict]++
		}
	}
	return nil
}

func asked(eventType string) bool {
	switch eventType {
	case record.HITLConfirmationRequest, record.HITLInputRequest, record.HITLCredentialRequest:
		return true
	}
	return false
}

// files sets the sizes of the files of a journal.
func (s *recordStats) files(path string) error {
	s.Files = make(map[string]int64)
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + end)
		switch {
		case err == nil:
			s.Files[filepath.Base(path)+end] = info.Size()
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	return nil
}

// backlog sets what the configured dataset has not taken.
func (s *recordStats) backlog(ctx context.Context, cfg config.Config) (err error) {
	names, err := warehouse.NamesOf(cfg.BigQuery)
	if err != nil {
		return err
	}
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: journalPath(cfg)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	l, err := j.Outbox(names.Destination()).Backlog(ctx)
	s.Destination = &destinationJSON{names.Destination(), l.Rows, l.Oldest, l.DeadLetters}
	return err
}

// maxIncomplete is how many sessions with gaps are listed for people.
const maxIncomplete = 20

func (s *recordStats) table(t *table) {
	t.line(cell{s.Source, bold})
	fact := func(name string, value any) { t.row(cell{name, dim}, value) }
	fact("sessions", s.Sessions)
	fact("rows", fmt.Sprintf("%d, %d of them errors", s.Rows, s.Errors))
	if s.Sessions > 0 {
		fact("time (UTC)", clock(s.First)+" to "+clock(s.Last))
	}
	fact("turns", s.Turns)
	fact("tokens", fmt.Sprintf("%d prompt, %d completion, %d total", s.Tokens.Prompt, s.Tokens.Completion, s.Tokens.Total))
	fact("waited", fmt.Sprintf("%s for humans, longest %s", waited(s.WaitedMS), waited(s.LongestMS)))
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		fact("file "+name, doctor.Bytes(s.Files[name]))
	}
	if d := s.Destination; d != nil {
		fact("to send", fmt.Sprintf("%d rows to %s", d.Waiting, d.Name))
		fact("dead letters", d.DeadLetters)
	}
	if len(s.Approvals) > 0 {
		t.line()
		t.columns([]string{"REQUESTS TO HUMANS", "COUNT"})
		for _, status := range inspect.Statuses() {
			if n := s.Approvals[status]; n > 0 {
				t.row(chip(status), n)
			}
		}
	}
	if len(s.Verdicts) > 0 {
		t.line()
		t.columns([]string{"CHECKS", "COUNT"})
		for _, v := range slices.Sorted(maps.Keys(s.Verdicts)) {
			t.row(v, s.Verdicts[v])
		}
	}
	if len(s.Incomplete) > 0 {
		t.line()
		t.line(cell{count(len(s.Incomplete), "session lacks something", "sessions lack something"), yellow})
	}
	for i, one := range s.Incomplete {
		if i == maxIncomplete {
			t.line("  ", cell{fmt.Sprintf("… %d more: see --output json", len(s.Incomplete)-i), dim})
			break
		}
		for _, gap := range one.Gaps {
			t.line("  ", cell{text: one.Session.ID}, ": ", cell{text: gap})
		}
	}
}
