// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// watchEvery is how often the journal is asked whether it has new rows.
const watchEvery = time.Second

func (a *app) approvalsCommand() *cobra.Command {
	var f listFlags
	var id string
	var watch bool
	c := &cobra.Command{
		Use:   "approvals [SESSION|APPROVAL]",
		Short: "List requests for an approval, or show all about one",
		Long: `approvals lists the requests to humans of all sessions, or of one, the newest first. With the id
of an approval or of a confirmation it shows all about that request: the question, the entities
as seen and as the last check found them, what happened, and the history of the ledger.

--watch prints the open requests, then each change as it happens, a line each. It knows the
requests that a guard looks at. The exit code is 0 whatever it shows: contextgraph check checks.`,
		Example: `  contextgraph approvals --status drift,check_failed --since 7d
  contextgraph approvals --watch --output ndjson
  contextgraph approvals s-123 --approval adk-4711 --output json`,
		Args: argCount(0, 1, "the id of a session or of an approval, or nothing"),
	}
	f.add(c, "requests")
	c.Flags().BoolVar(&watch, "watch", false, "print open requests and each change of their status, until Ctrl-C")
	c.Flags().StringVar(&id, "approval", "", "show all about the request with this id: of the approval or of the confirmation")
	c.PreRunE = func(_ *cobra.Command, args []string) error {
		switch {
		case !watch:
			return nil
		case len(args) > 0 || id != "":
			return usageError{errors.New("--watch follows all requests: leave the id out")}
		case a.output == outputJSON:
			return usageError{errors.New("--watch prints line by line: use --output ndjson")}
		case a.from != fromJournal && !isDatabase(a.from):
			return usageError{errors.New("--watch goes with the journal: leave --from out")}
		}
		return nil
	}
	return a.reads(c, func(ctx context.Context, src opened, args []string) error {
		q, err := f.query(a.now())
		switch {
		case err != nil:
			return err
		case watch:
			return a.watch(ctx, src, q)
		}
		return a.approvals(ctx, src, append(args, "")[0], id, q)
	})
}

// approvals shows the requests that q selects: of all sessions, or of the one that arg names. It shows all about the one
// request that id, or else arg, names.
func (a *app) approvals(ctx context.Context, src opened, arg, id string, q inspect.Query) error {
	of := record.Session{App: q.App, User: q.User}
	var found []record.Session
	if arg != "" {
		var err error
		if found, err = src.Find(ctx, named(of, arg)); err != nil && !errors.Is(err, inspect.ErrNotFound) {
			return err
		}
	}
	list := []inspect.Approval{}
	all := 0
	switch {
	case arg == "" && id == "":
		for p, err := range inspect.AllRequests(ctx, src, q, a.now()) {
			if err != nil {
				return err
			}
			if all++; len(list) < q.Limit {
				list = append(list, p)
			}
		}
	case arg == "" || len(found) == 0 && id == "":
		return a.card(a.findApproval(ctx, src, cmp.Or(id, arg), of, arg != ""))
	default:
		s, err := a.read(ctx, src, named(of, arg))
		if err != nil {
			return err
		}
		if id != "" {
			return a.card(approvalOf(s, id))
		}
		list = slices.DeleteFunc(s.Approvals, func(p inspect.Approval) bool { return !q.SelectsRequest(&p) })
		slices.Reverse(list)
		all = len(list)
		list = list[:min(all, q.Limit)]
	}
	if err := a.print(list, func(t *table) { approvalsTable(t, list) }); err != nil {
		return err
	}
	switch {
	case all == 0:
		a.note("%s has no such requests to a human", src.Name())
	case all > len(list):
		a.note("%d more are not listed: use --limit, --since or --status", all-len(list))
	}
	return nil
}

// findApproval looks for a request in all sessions. session says that the user may have given the
// id of a session.
func (a *app) findApproval(ctx context.Context, src opened, id string, of record.Session, session bool) (inspect.Approval, error) {
	found, err := inspect.FindRequests(ctx, src.Source, of, id, a.now())
	switch {
	case err != nil:
		return inspect.Approval{}, err
	case len(found) > 0:
		return onlyApproval(found, id)
	}
	what := "approval"
	if session {
		what = "session or approval"
	}
	var known []string
	for p, err := range inspect.AllRequests(ctx, src, inspect.Query{App: of.App, User: of.User}, a.now()) {
		if err != nil {
			return inspect.Approval{}, err
		}
		known = append(known, p.ID, p.ConfirmationID)
		if session {
			known = append(known, p.Session.ID)
		}
	}
	return inspect.Approval{}, notFound(what, id, src.Name(), known, `List them with "contextgraph approvals", or `+elsewhere)
}

// approvalOf returns the one request of a session that an id names.
func approvalOf(s *inspect.Session, id string) (inspect.Approval, error) {
	if found := inspect.NamedRequests(s.Approvals, id); len(found) > 0 {
		return onlyApproval(found, id)
	}
	var known []string
	for _, p := range s.Approvals {
		known = append(known, p.ID, p.ConfirmationID)
	}
	return inspect.Approval{}, notFound("approval", id, fmt.Sprintf("session %q", s.Session.ID), known, `List them with "contextgraph approvals".`)
}

func onlyApproval(found []inspect.Approval, id string) (inspect.Approval, error) {
	return only(found, id, "requests"+moreOfTheID, func(p inspect.Approval) string {
		return fmt.Sprintf("%s of %s in session %s (%s)", p.ShownID(), p.Tool, p.Session.ID, p.Status)
	})
}

// statusOf is the status of a request, and that people overrode its check.
func statusOf(p *inspect.Approval) cell {
	c := chip(p.Status)
	if p.Overridden {
		c.text, c.style = c.text+", OVERRIDDEN", red
	}
	return c
}

// shortIDs returns the ids of the elements of a list, as short as they are different.
func shortIDs[T any](list []T, id func(*T) string) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = id(&list[i])
	}
	return inspect.ShortIDs(ids)
}

func approvalsTable(t *table, list []inspect.Approval) {
	if len(list) == 0 {
		return
	}
	t.columns(t.zoned("ASKED"), "APPROVAL", "SESSION", "TOOL", "AGENT", "ENTITIES", "WAITED", "STATUS")
	for i, id := range shortIDs(list, (*inspect.Approval).ShownID) {
		p := &list[i]
		t.row(t.when(p.RequestedAt), id, sessionID(p.Session.ID), p.Tool, p.Agent, len(p.Entities), waited(p.WaitedMS), statusOf(p))
	}
}

// watch prints open requests and each change of their status, until ctx ends.
func (a *app) watch(ctx context.Context, src opened, q inspect.Query) error {
	tick, stop := a.ticks(watchEvery)
	defer stop()
	var w inspect.Watcher
	for last := int64(-1); ; {
		seq, err := src.journal.Changes(ctx)
		if err == nil && (seq != last || w.Due(a.now())) {
			last = seq
			err = a.tellChanges(ctx, &w, src, q)
		}
		if ctx.Err() != nil {
			return nil // who watches ends it
		}
		if err != nil {
			return err
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return nil
		}
	}
}

// tellChanges prints what changed since w looked last.
func (a *app) tellChanges(ctx context.Context, w *inspect.Watcher, src opened, q inspect.Query) error {
	changed, err := w.Look(ctx, src.Source, record.Session{App: q.App, User: q.User}, a.now())
	if err != nil {
		return err
	}
	changed = slices.DeleteFunc(changed, func(p inspect.Approval) bool { return !q.SelectsRequest(&p) })
	return a.print(changed, func(t *table) {
		for i, id := range shortIDs(changed, (*inspect.Approval).ShownID) {
			p := &changed[i]
			t.line(a.now().UTC().Format("15:04:05Z"), "  ", statusOf(p), "  ", id, "  ", cell{p.Tool, bold}, "  ",
				sessionID(p.Session.ID), "  ", cell{cut(p.Action, maxCell), dim})
		}
	})
}

// ticks returns a channel that ticks, and what ends that.
func (a *app) ticks(every time.Duration) (<-chan time.Time, func()) {
	if a.tick != nil {
		return a.tick, func() {}
	}
	t := time.NewTicker(every)
	return t.C, t.Stop
}

// blocked is a request that was only observed, and that the gate would have blocked.
type blocked struct {
	ID          string         `json:"id"`
	Session     record.Session `json:"session"`
	Tool        string         `json:"tool"`
	RequestedAt time.Time      `json:"requested_at"`
	Verdict     string         `json:"verdict"`
	// Why has the changes and the failures, in sentences.
	Why []string `json:"why"`
}

// observed is what would-have-blocked prints.
type observed struct {
	// Requests counts the requests that were only observed, Confirmed those that a human confirmed,
	// Safe the confirmed ones that the gate would have let run.
	Requests  int       `json:"requests"`
	Confirmed int       `json:"confirmed"`
	Safe      int       `json:"safe"`
	Blocked   []blocked `json:"blocked"`
}

func (a *app) wouldHaveBlockedCommand() *cobra.Command {
	since := duration(7 * day)
	c := &cobra.Command{
		Use:   "would-have-blocked",
		Short: "List confirmed calls that only ran because guard.mode is observe",
		Long: `would-have-blocked lists the requests that were only observed (guard.mode is observe, or nothing
guards the tool), that a human confirmed, and that the gate would have blocked, with the reasons.
Correct rules, checkers and policy until the list has only calls that should not have run; then
write guard.mode: enforce.`,
		Example: `  contextgraph would-have-blocked --since 30d --output json`,
		Args:    noArgs,
	}
	c.Flags().Var(&since, "since", "how far back requests are read, such as 7d or 36h")
	return a.reads(c, func(ctx context.Context, src opened, _ []string) error {
		out := observed{Blocked: []blocked{}}
		enforced := 0
		for q, err := range inspect.AllRequests(ctx, src, inspect.Query{From: since.before(a.now())}, a.now()) {
			switch {
			case err != nil:
				return err
			case q.ID == "":
			case q.Enforced:
				enforced++
			default:
				out.add(q)
			}
		}
		switch {
		case out.Requests == 0 && enforced > 0:
			a.note("%d requests were enforced, so none was only observed: contextgraph approvals --status drift,check_failed lists those that were blocked", enforced)
		case out.Requests == 0:
			a.note("%s has no request of the last %s that was only observed", src.Name(), since.String())
		}
		return a.print(out, out.table)
	})
}

func (o *observed) add(q inspect.Approval) {
	o.Requests++
	if !slices.ContainsFunc(q.Answers, func(a inspect.Answer) bool { return a.Confirmed }) {
		return
	}
	o.Confirmed++
	b := blocked{ID: q.ID, Session: q.Session, Tool: q.Tool, RequestedAt: q.RequestedAt, Why: []string{}}
	if n := len(q.Checks); n == 0 {
		b.Verdict, b.Why = safety.CheckFailed.String(), append(b.Why, "no check is on record")
	} else if b.Verdict = q.Checks[n-1].Verdict; b.Verdict == safety.Safe.String() {
		o.Safe++
		return
	}
	for _, f := range q.Findings {
		if f.Effect != string(config.EffectWarn) {
			b.Why = append(b.Why, f.Text)
		}
	}
	o.Blocked = append(o.Blocked, b)
}

func (o *observed) table(t *table) {
	if o.Requests == 0 {
		return
	}
	t.line(fmt.Sprintf("observed requests: %d, confirmed: %d, of these safe: %d, would have been blocked: %d", o.Requests, o.Confirmed, o.Safe, len(o.Blocked)))
	for i, id := range shortIDs(o.Blocked, func(b *blocked) string { return b.ID }) {
		b := &o.Blocked[i]
		t.line()
		t.line(chip(inspect.Status(b.Verdict)), "  ", cell{b.Tool, bold}, "  ", id, "  ", cell{text: sessionID(b.Session.ID)}, "  asked ", t.at(b.RequestedAt))
		for _, why := range b.Why {
			t.line("  ", cell{text: why})
		}
	}
}
