// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// deadLetterFlags are the flags of dead-letters.
type deadLetterFlags struct {
	limit, width int
	json         bool

	show                    string
	resend, discard, forget bool
	events                  []string
	all, yes                bool
}

func (a *app) deadLettersCommand() *cobra.Command {
	f := deadLetterFlags{limit: 100, width: 100}
	c := &cobra.Command{
		Use:   "dead-letters",
		Short: "Look at rows that BigQuery refused, send them again or give them up",
		Long: `dead-letters lists the rows of the journal that BigQuery refused for their content, with the
words of the server. Such a row and its session stay in the journal until you decide:

  --resend   sends rows again, after you removed the reason
  --discard  gives rows up: they are never sent
  --forget   gives up the dataset: the journal no longer waits for it, so retention may remove sessions
             with rows that were never sent. The command refuses while a program streams.

A step that cannot be undone needs --yes.`,
		Example: `  contextgraph dead-letters --show 0123456789abcdef0123456789abcdef
  contextgraph dead-letters --resend --all
  contextgraph dead-letters --discard --event 0123456789abcdef0123456789abcdef --yes`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return usageError{err}
			}
			cfg, err := a.config()
			if err != nil {
				return err
			}
			switch {
			case f.show != "":
				a.output = outputJSON
			case f.json:
				a.output = outputNDJSON
			}
			return a.deadLetters(c.Context(), cfg, f)
		},
	}
	a.datasetFlags(c)
	flags := c.Flags()
	flags.IntVar(&f.limit, "limit", f.limit, "how many are listed, the oldest first")
	flags.IntVar(&f.width, "width", f.width, "columns of the table; longer words of the server are cut")
	flags.BoolVar(&f.json, "json", false, "list one JSON object a line, with all of the words")
	flags.StringVar(&f.show, "show", "", "print the row with this event id, whole, and the words of the server")
	flags.BoolVar(&f.resend, "resend", false, "send rows again: those of --event, or --all")
	flags.BoolVar(&f.discard, "discard", false, "give up rows: those of --event, or --all; needs --yes")
	flags.BoolVar(&f.forget, "forget", false, "give up the dataset; needs --yes")
	flags.StringSliceVar(&f.events, "event", nil, "event id of a row to send or to give up; may be repeated")
	flags.BoolVar(&f.all, "all", false, "all rows that are dead letters now")
	flags.BoolVar(&f.yes, "yes", false, "do what cannot be undone")
	return c
}

// check refuses flags that do not go together.
func (f *deadLetterFlags) check() error {
	actions := 0
	for _, set := range []bool{f.show != "", f.resend, f.discard, f.forget} {
		if set {
			actions++
		}
	}
	choice := f.all || len(f.events) > 0
	switch {
	case actions > 1:
		return errors.New("--show, --resend, --discard and --forget are one thing each: give one of them")
	case (f.resend || f.discard) && f.all == (len(f.events) > 0):
		return errors.New("say which rows: give either --event or --all")
	case choice && !f.resend && !f.discard:
		return errors.New("--event and --all go with --resend or --discard")
	case f.discard && !f.yes:
		return errors.New("a row that is given up is never sent: look at it with --show, then add --yes")
	case f.forget && !f.yes:
		return errors.New("retention is then free to remove rows that were never sent, and all dead letters are given up: see --help, then add --yes")
	case f.limit < 1:
		return fmt.Errorf("--limit %d: it must be positive", f.limit)
	case f.width < 1:
		return fmt.Errorf("--width %d: it must be positive", f.width)
	case f.json && actions > 0:
		return errors.New("--json goes with the list; --show prints JSON anyway")
	}
	return nil
}

func (a *app) deadLetters(ctx context.Context, cfg config.Config, f deadLetterFlags) (err error) {
	names, err := warehouse.NamesOf(cfg.BigQuery)
	if err != nil {
		return usageError{err}
	}
	j, err := openJournal(ctx, cfg, ": dead letters stand nowhere else")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	o := j.Outbox(names.Destination())
	l, err := o.Backlog(ctx)
	if err != nil {
		return err
	}
	if f.forget {
		return a.forget(ctx, o, l)
	}
	most := max(1, int(l.DeadLetters))
	if !f.resend && !f.discard && f.show == "" {
		most = f.limit
	}
	letters, err := o.DeadLetters(ctx, most)
	if err != nil {
		return err
	}
	if err := f.whole(letters); err != nil {
		return err
	}
	switch {
	case f.show != "":
		return a.showDeadLetter(ctx, o, letters, f.show)
	case f.resend:
		return a.resend(ctx, cfg, j, f.events)
	case f.discard:
		return a.discard(ctx, o, letters, f.events)
	}
	if err := a.print(letters, func(t *table) { letterTable(t, letters, f.width) }); err != nil {
		return err
	}
	if len(letters) == 0 {
		a.say("%s has no dead letters in this journal", o.Destination())
	}
	if more := l.DeadLetters - int64(len(letters)); more > 0 {
		a.note("%d more are not listed; use --limit", more)
	}
	return nil
}

// letterTable prints letters, in lines of width characters at most.
func letterTable(t *table, letters []store.DeadLetter, width int) {
	if len(letters) == 0 {
		return
	}
	t.color, t.width = false, width
	t.columns("SEQ", t.zoned("TIME"), "SESSION", "TYPE", "BYTES", "CODE", "EVENT", "REASON")
	for i, id := range shortIDs(letters, func(l *store.DeadLetter) string { return l.EventID }) {
		l := &letters[i]
		t.row(l.Seq, t.when(l.At), sessionID(l.Session.ID), l.EventType, l.Bytes, l.Code, id, l.Reason)
	}
}

// whole puts whole event ids in the place of their beginnings. Any other text stays as it is.
func (f *deadLetterFlags) whole(letters []store.DeadLetter) error {
	ids := []*string{&f.show}
	for i := range f.events {
		ids = append(ids, &f.events[i])
	}
	for _, id := range ids {
		if *id == "" {
			continue
		}
		found := inspect.Named(letters, *id, func(l store.DeadLetter) string { return l.EventID })
		if len(found) == 0 || found[0].EventID == *id {
			continue
		}
		one, err := only(found, *id, "dead letters have event ids that begin with %q; give more of the id:", func(l store.DeadLetter) string { return l.EventID })
		if err != nil {
			return err
		}
		*id = one.EventID
	}
	return nil
}

// showDeadLetter prints one row and the server's words about it.
func (a *app) showDeadLetter(ctx context.Context, o store.Outbox, letters []store.DeadLetter, id string) error {
	i := slices.IndexFunc(letters, func(l store.DeadLetter) bool { return l.EventID == id })
	if i < 0 {
		return fmt.Errorf("%s has no dead letter with the event id %q", o.Destination(), id)
	}
	rows, err := o.DeadRows(ctx, letters[i].Seq-1, 1, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].EventID != id {
		return fmt.Errorf("the row %q was removed meanwhile", id)
	}
	return a.print(map[string]any{"dead_letter": letters[i], "row": rowfile.Row(&rows[0])}, nil)
}

// resend sends the rows with the event ids again; none stands for all.
func (a *app) resend(ctx context.Context, cfg config.Config, j store.Publisher, events []string) error {
	d, err := a.dataset(ctx, cfg.BigQuery)
	if err != nil {
		return err
	}
	defer d.Close()
	o := bigquery.ResendOptions{EventIDs: events, Refused: func(l store.DeadLetter) {
		a.say("%s: refused again: %s: %s", l.EventID, l.Code, l.Reason)
	}}
	parts, err := setup.OpenParts(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if parts != nil {
		o.Parts = warehouse.Parts{Store: parts, Connection: cfg.Record.Artifacts.Connection}
	}
	report, err := d.Resend(ctx, j, o)
	if parts != nil {
		err = errors.Join(err, parts.Close(context.WithoutCancel(ctx)))
	}
	fmt.Fprintf(a.stdout, "%d rows sent, %d refused again, %d bytes\n", report.Acknowledged, report.Refused, report.Bytes)
	for _, id := range report.Missing {
		a.say("%s: there is no dead letter with this event id", id)
	}
	switch {
	case err != nil:
		return err
	case report.Refused+len(report.Missing) > 0:
		return fmt.Errorf("%d rows were not sent", report.Refused+len(report.Missing))
	}
	return nil
}

// maxDiscard is how many dead letters are given up at a time.
const maxDiscard = 1000

// discard gives up the dead letters with the event ids; none stands for all of letters, for those that come from now on
// were seen by nobody.
func (a *app) discard(ctx context.Context, o store.Outbox, letters []store.DeadLetter, events []string) error {
	ids := slices.Compact(slices.Sorted(slices.Values(events)))
	if len(events) == 0 {
		for _, l := range letters {
			ids = append(ids, l.EventID)
		}
	}
	total := 0
	for page := range slices.Chunk(ids, maxDiscard) {
		n, err := o.Discard(ctx, page)
		if err != nil {
			return fmt.Errorf("after %d were discarded: %w", total, err)
		}
		total += n
	}
	fmt.Fprintf(a.stdout, "%d dead letters discarded\n", total)
	if len(events) > 0 && total < len(ids) {
		return fmt.Errorf("of %d event ids %d have no dead letter", len(ids), len(ids)-total)
	}
	return nil
}

// forget gives up the destination.
func (a *app) forget(ctx context.Context, o store.Outbox, l store.Backlog) error {
	err := o.Forget(ctx)
	switch {
	case errors.Is(err, store.ErrLeased):
		return fmt.Errorf("a program streams to it: end the program, or take the dataset out of its configuration, and wait until the lease is over: %w", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(a.stdout, "%s is forgotten, with %d dead letters; %d rows of the journal were not sent to it, and retention does not wait for them any more\n",
		o.Destination(), l.DeadLetters, l.Rows)
	return nil
}
