// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/internal/doctor"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// statsFlags are the flags of stats.
type statsFlags struct {
	app   string
	since duration
}

// recordStats counts the content of a journal or a file of rows.
type recordStats struct {
	inspect.Totals
	// Files are the bytes of the files of a journal, Destination what a dataset that is
	// configured has not taken; absent without one.
	Files       map[string]int64 `json:"files,omitempty"`
	Destination *destinationJSON `json:"destination,omitempty"`
}

// destinationJSON counts the rows and graphs that a dataset has not taken.
type destinationJSON struct {
	Name        string    `json:"name"`
	Waiting     int64     `json:"waiting_rows"`
	Oldest      time.Time `json:"oldest,omitzero"`
	Graphs      int64     `json:"waiting_graphs"`
	DeadLetters int64     `json:"dead_letters"`
}

func (a *app) statsCommand() *cobra.Command {
	var f statsFlags
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count rows, sessions, losses, approvals and the time spent waiting",
		Long: `stats counts rows, sessions, files, gaps, what a dataset has not taken or has refused, requests by
status, checks by verdict, and the time spent waiting for humans. What it read of a session it
keeps as a summary, so only the first time takes long.

With --from dataset it asks BigQuery for the checks and the waiting times of the last 30 days, or
of --since. BigQuery bills that.`,
		Example: `  contextgraph stats --app shop --since 7d --output json
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
	sinceFlag(c, &f.since, "sessions with rows")
	a.fromFlag(c)
	return c
}

func (a *app) stats(ctx context.Context, f statsFlags) error {
	src, err := a.source(ctx)
	if err != nil {
		return err
	}
	defer src.close()
	var s recordStats
	if s.Totals, err = inspect.Count(ctx, src.Source, inspect.Query{App: f.app, From: f.since.before(a.now())}, a.now(), a.note); err != nil {
		return err
	}
	if j, is := src.journal.(*journal.Journal); is {
		if err := a.ofJournal(ctx, j, &s); err != nil {
			return err
		}
	}
	return a.print(s, s.table)
}

// ofJournal sets what only a journal has.
func (a *app) ofJournal(ctx context.Context, j *journal.Journal, s *recordStats) error {
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	if s.Files, err = journal.Sizes(j.Path()); err != nil || !cfg.BigQuery.Enabled() {
		return err
	}
	names, err := warehouse.NamesOf(cfg.BigQuery)
	if err != nil {
		return err
	}
	l, err := j.Outbox(names.Destination()).Backlog(ctx)
	s.Destination = &destinationJSON{names.Destination(), l.Rows, l.Oldest, l.Graphs, l.DeadLetters}
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
		fact(t.zoned("time"), t.when(s.First)+" to "+t.when(s.Last))
	}
	fact("turns", s.Turns)
	fact("tokens", fmt.Sprintf("%d prompt, %d completion, %d total", s.Tokens.Prompt, s.Tokens.Completion, s.Tokens.Total))
	fact("waited", fmt.Sprintf("%s for humans, longest %s", waited(s.WaitedMS), waited(s.LongestMS)))
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		fact("file "+name, doctor.Bytes(s.Files[name]))
	}
	if d := s.Destination; d != nil {
		fact("to send", fmt.Sprintf("%d rows to %s", d.Waiting, d.Name))
		fact("to sync", fmt.Sprintf("the graphs after %d requests for approval, answers and verdicts", d.Graphs))
		fact("dead letters", d.DeadLetters)
	}
	if len(s.Approvals) > 0 {
		t.line()
		t.columns("REQUESTS TO HUMANS", "COUNT")
		for _, status := range inspect.Statuses() {
			if n := s.Approvals[status]; n > 0 {
				t.row(chip(status), n)
			}
		}
	}
	if len(s.Verdicts) > 0 {
		t.line()
		t.columns("CHECKS", "COUNT")
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

// datasetStatsJSON has the counts of BigQuery, for programs.
type datasetStatsJSON struct {
	From     time.Time           `json:"from"`
	To       time.Time           `json:"to"`
	Verdicts []ask.DriftVerdicts `json:"verdicts"`
	Changes  []ask.DriftChange   `json:"changes"`
	Waiting  []waitingJSON       `json:"waiting"`
	// Truncated says that there is more of one of the lists.
	Truncated bool `json:"truncated"`
}

// waitingJSON is the waiting for humans in one group of requests.
type waitingJSON struct {
	Kind      string `json:"kind"`
	Agent     string `json:"agent"`
	Tool      string `json:"tool"`
	Requests  int    `json:"requests"`
	Unpaired  int    `json:"unpaired"`
	Answered  int    `json:"answered"`
	Confirmed int    `json:"confirmed"`
	Rejected  int    `json:"rejected"`
	Accepted  int    `json:"accepted"`
	Average   int64  `json:"average_ms"`
	P50       int64  `json:"p50_ms"`
	P95       int64  `json:"p95_ms"`
	Max       int64  `json:"max_ms"`
}

// defaultWindow is the time that BigQuery is asked about.
const defaultWindow = duration(30 * 24 * time.Hour)

func (a *app) datasetStats(ctx context.Context, f statsFlags) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	d, err := a.dataset(ctx, cfg.BigQuery)
	if err != nil {
		return err
	}
	defer d.Close()
	to := a.now().UTC()
	w := ask.Window{App: f.app, From: cmp.Or(f.since, defaultWindow).before(to), To: to}
	drift, err := d.DriftStatistics(ctx, w)
	if err != nil {
		return err
	}
	times, err := d.WaitingTimes(ctx, w)
	if err != nil {
		return err
	}
	s := datasetStatsJSON{
		From: w.From, To: w.To, Verdicts: append([]ask.DriftVerdicts{}, drift.Verdicts...), Changes: append([]ask.DriftChange{}, drift.Changes...),
		Waiting: []waitingJSON{}, Truncated: drift.Truncated || times.Truncated,
	}
	for _, v := range times.Groups {
		s.Waiting = append(s.Waiting, waitingJSON{
			v.Kind, v.Agent, v.Tool, v.Requests, v.Unpaired, v.Answered, v.Confirmed, v.Rejected, v.Accepted,
			v.Average.Milliseconds(), v.P50.Milliseconds(), v.P95.Milliseconds(), v.Max.Milliseconds(),
		})
	}
	if err := a.print(s, s.table); err != nil {
		return err
	}
	if s.Truncated {
		a.note("there is more: ask about less time with --since, or about one application with --app")
	}
	return nil
}

func (s *datasetStatsJSON) table(t *table) {
	t.line(t.at(s.From), " to ", t.at(s.To))
	t.line()
	t.columns("DAY", "TOOL", "STAGE", "CHECKS", "SAFE", "DRIFT", "FAILED", "ENTITIES", "CHANGED")
	for _, v := range s.Verdicts {
		t.row(v.Day.Format(time.DateOnly), v.Tool, v.Stage, v.Checks, v.Safe, v.Drift, v.Failed, v.Entities, v.Stale)
	}
	t.line()
	t.columns("CHANGED", "VALUE", "HOW", "ALERTS", "SESSIONS", "SEVERITY", t.zoned("LAST"))
	for _, v := range s.Changes {
		t.row(v.EntityType, v.Value, v.DriftType, v.Alerts, v.Sessions, v.Severity, t.when(v.Last))
	}
	t.line()
	t.columns("KIND", "AGENT", "TOOL", "ASKED", "UNPAIRED", "ANSWERED", "APPROVED", "REJECTED", "P50", "P95", "MAX")
	for _, v := range s.Waiting {
		t.row(v.Kind, v.Agent, v.Tool, v.Requests, v.Unpaired, v.Answered, v.Confirmed, v.Rejected, waited(v.P50), waited(v.P95), waited(v.Max))
	}
}
