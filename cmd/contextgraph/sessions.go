// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// listFlags select sessions or approvals.
type listFlags struct {
	inspect.Query
	status []string
	since  duration
}

// add adds the flags that all lists have.
func (f *listFlags) add(c *cobra.Command, what string) {
	flags := c.Flags()
	flags.StringVar(&f.App, "app", "", "those of one application")
	flags.StringVar(&f.User, "user", "", "those of one user")
	flags.StringSliceVar(&f.status, "status", nil, "those with one of these: "+statusNames())
	sinceFlag(c, &f.since, "those with rows")
	flags.IntVar(&f.Limit, "limit", inspect.DefaultLimit, fmt.Sprintf("how many %s are listed, at most %d", what, inspect.MaxLimit))
}

func statusNames() string {
	var names []string
	for _, s := range inspect.Statuses() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// query returns what the flags ask for.
func (f *listFlags) query(now time.Time) (inspect.Query, error) {
	if f.Limit < 1 || f.Limit > inspect.MaxLimit {
		return inspect.Query{}, usageError{fmt.Errorf("--limit %d: use 1 to %d", f.Limit, inspect.MaxLimit)}
	}
	q := f.Query
	q.From = f.since.before(now)
	for _, name := range f.status {
		s := inspect.Status(strings.ReplaceAll(name, "-", "_"))
		if !slices.Contains(inspect.Statuses(), s) {
			return inspect.Query{}, meant(fmt.Errorf("--status %q: use %s", name, statusNames()), string(s), strings.Split(statusNames(), ", "))
		}
		q.Status = append(q.Status, s)
	}
	return q, nil
}

func (a *app) sessionsCommand() *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List sessions, the one with the newest row first",
		Long: `sessions lists sessions: the time of the last row, the user, the number of turns, the time spent
waiting for humans, the status of the latest request to a human, and the first message. It lists
one page; the end of stderr says how to get the next one.`,
		Example: `  contextgraph sessions --app shop --user alice --since 24h
  contextgraph sessions --status pending,in_doubt --search campaign
  contextgraph sessions --from rows.ndjson --limit 500 --output ndjson`,
		Args: noArgs,
	}
	f.add(c, "sessions")
	c.Flags().StringVar(&f.Search, "search", "", "those whose id, user, application, agents or first message contain this")
	c.Flags().StringVar(&f.After, "after", "", "go on after a page: what the command said at its end")
	return a.reads(c, func(ctx context.Context, src opened, _ []string) error {
		q, err := f.query(a.now())
		if err != nil {
			return err
		}
		page, err := src.Sessions(ctx, q)
		if err != nil {
			return err
		}
		if err := a.printWith(page, page.Sessions, func(t *table) { sessionsTable(t, page.Sessions) }); err != nil {
			return err
		}
		switch {
		case len(page.Sessions) == 0:
			a.note("%s has no such sessions", src.Name())
		case page.Next != "":
			a.note("there are more: the next page is that of the same command with --after %s", page.Next)
		}
		return nil
	})
}

func sessionsTable(t *table, list []inspect.Summary) {
	if len(list) == 0 {
		return
	}
	t.columns(t.zoned("LAST"), "SESSION", "USER", "TURNS", "WAITED", "STATUS", "TITLE")
	for _, s := range list {
		t.row(t.when(s.End), sessionID(s.Session.ID), s.Session.User, s.Turns, waited(s.WaitedMS), chip(s.Status), cell{s.Title, dim})
	}
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
	var application string
	var since duration
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
	}
	c.Flags().StringVar(&application, "app", "", "one application")
	sinceFlag(c, &since, "sessions with rows")
	return a.reads(c, func(ctx context.Context, src opened, _ []string) error {
		if src.dataset != nil {
			to := a.now().UTC()
			return a.datasetStats(ctx, src, ask.Window{App: application, From: cmp.Or(since, defaultWindow).before(to), To: to})
		}
		var s recordStats
		var err error
		if s.Totals, err = inspect.Count(ctx, src.Source, inspect.Query{App: application, From: since.before(a.now())}, a.now(), a.note); err != nil {
			return err
		}
		if j, is := src.journal.(*journal.Journal); is {
			if err := s.ofJournal(ctx, j, src.cfg); err != nil {
				return err
			}
		}
		return a.print(s, s.table)
	})
}

// ofJournal sets what only a journal has.
func (s *recordStats) ofJournal(ctx context.Context, j *journal.Journal, cfg config.Config) (err error) {
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
		fact("file "+name, text.Bytes(s.Files[name]))
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

func (a *app) datasetStats(ctx context.Context, src opened, w ask.Window) error {
	drift, err := src.dataset.DriftStatistics(ctx, w)
	if err != nil {
		return err
	}
	times, err := src.dataset.WaitingTimes(ctx, w)
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
