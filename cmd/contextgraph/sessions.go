// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// listFlags select sessions or approvals.
type listFlags struct {
	app, user, search string
	status            []string
	since             duration
	limit             int
	after             string
}

func (a *app) sessionsCommand() *cobra.Command {
	f := listFlags{limit: inspect.DefaultLimit}
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
	c.Flags().StringVar(&f.search, "search", "", "those whose id, user, application, agents or first message contain this")
	c.Flags().StringVar(&f.after, "after", "", "go on after a page: what the command said at its end")
	return a.reads(c, func(ctx context.Context, src opened, _ []string) error { return a.sessions(ctx, src, f) })
}

// add adds the flags that all lists have.
func (f *listFlags) add(c *cobra.Command, what string) {
	flags := c.Flags()
	flags.StringVar(&f.app, "app", "", "those of one application")
	flags.StringVar(&f.user, "user", "", "those of one user")
	flags.StringSliceVar(&f.status, "status", nil, "those with one of these: "+statusNames())
	sinceFlag(c, &f.since, "those with rows")
	flags.IntVar(&f.limit, "limit", f.limit, fmt.Sprintf("how many %s are listed, at most %d", what, inspect.MaxLimit))
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
	if f.limit < 1 || f.limit > inspect.MaxLimit {
		return inspect.Query{}, usageError{fmt.Errorf("--limit %d: use 1 to %d", f.limit, inspect.MaxLimit)}
	}
	q := inspect.Query{App: f.app, User: f.user, Search: f.search, From: f.since.before(now), Limit: f.limit, After: f.after}
	for _, name := range f.status {
		s := inspect.Status(strings.ReplaceAll(name, "-", "_"))
		if !slices.Contains(inspect.Statuses(), s) {
			return inspect.Query{}, meant(fmt.Errorf("--status %q: use %s", name, statusNames()), string(s), strings.Split(statusNames(), ", "))
		}
		q.Status = append(q.Status, s)
	}
	return q, nil
}

func (a *app) sessions(ctx context.Context, src opened, f listFlags) error {
	q, err := f.query(a.now())
	if err != nil {
		return err
	}
	page, err := src.Sessions(ctx, q)
	if err != nil {
		return err
	}
	var v any = page
	if a.output == outputNDJSON {
		v = page.Sessions
	}
	if err := a.print(v, func(t *table) { sessionsTable(t, page.Sessions) }); err != nil {
		return err
	}
	switch {
	case len(page.Sessions) == 0:
		a.note("%s has no such sessions", src.Name())
	case page.Next != "":
		a.note("there are more: the next page is that of the same command with --after %s", page.Next)
	}
	return nil
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
