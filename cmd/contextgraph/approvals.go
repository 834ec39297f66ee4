// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

func (a *app) approvalsCommand() *cobra.Command {
	f := listFlags{limit: inspect.DefaultLimit}
	var id string
	var watch bool
	c := &cobra.Command{
		Use:   "approvals [SESSION|APPROVAL]",
		Short: "List requests for an approval, or show all about one",
		Long: `approvals lists the requests to humans of all sessions, or of one, the newest first: the
tool that would run, the number of entities that it rests on, the time that it waited, and
its status.

With the id of an approval or of a confirmation, as the argument or with --approval, it
shows all about that request: the question, the entities as the human saw them and as the
last check found them, the alerts with their severity, the failures, the verdict, the
fingerprint, the approver, the time at which it expires, and its history.

--watch prints the open requests, then each new one and each change of a status as it
happens, a line each. It knows the requests that a guard looks at.

The exit code is 0 whatever it shows. To have the world checked now, use contextgraph check.`,
		Example: `  contextgraph approvals
  contextgraph approvals --status drift,check_failed --since 7d
  contextgraph approvals s-123
  contextgraph approvals --watch --output ndjson
  contextgraph approvals 0123456789abcdef0123456789abcdef
  contextgraph approvals s-123 --approval adk-4711 --output json`,
		Args:              argCount(0, 1, "the id of a session or of an approval, or nothing"),
		ValidArgsFunction: a.complete(1, sessionChoices, approvalChoices),
		RunE: func(c *cobra.Command, args []string) error {
			if watch && (len(args) > 0 || id != "") {
				return usageError{errors.New("--watch follows all requests: leave the id out")}
			}
			if watch {
				return a.watch(c.Context(), f)
			}
			return a.approvals(c.Context(), append(args, "")[0], id, f)
		},
	}
	f.add(c, "requests")
	c.Flags().BoolVar(&watch, "watch", false, "print open requests and each change of their status, until Ctrl-C")
	c.Flags().StringVar(&id, "approval", "", "show all about the request with this id: of the approval or of the confirmation")
	a.fromFlag(c)
	return c
}

func (a *app) approvals(ctx context.Context, arg, id string, f listFlags) error {
	q, err := f.query(a.now())
	if err != nil {
		return err
	}
	src, err := a.source(ctx)
	if err != nil {
		return err
	}
	defer src.close()
	of := record.Session{App: f.app, User: f.user}
	var found []record.Session
	if arg != "" {
		if found, err = src.Find(ctx, named(of, arg)); err != nil && !errors.Is(err, inspect.ErrNotFound) {
			return err
		}
	}
	switch {
	case arg == "" && id == "":
		list := []inspect.Approval{}
		all := 0
		for p, err := range inspect.AllRequests(ctx, src, q, a.now()) {
			if err != nil {
				return err
			}
			if all++; len(list) < f.limit {
				list = append(list, p)
			}
		}
		return a.listApprovals(list, all, src.Name())
	case arg == "" || len(found) == 0 && id == "":
		one, err := a.findApproval(ctx, src, cmp.Or(id, arg), of, arg != "")
		if err != nil {
			return err
		}
		return a.card(one)
	}
	s, err := a.read(ctx, src, named(of, arg))
	if err != nil {
		return err
	}
	if id == "" {
		list := slices.DeleteFunc(s.Approvals, func(p inspect.Approval) bool { return !q.SelectsRequest(&p) })
		slices.Reverse(list)
		return a.listApprovals(list[:min(len(list), f.limit)], len(list), src.Name())
	}
	one, err := oneApproval(s.Approvals, id, fmt.Sprintf("session %q", arg))
	if err != nil {
		return err
	}
	return a.card(one)
}

// findApproval looks for a request in all sessions. session says that the user may have given the
// id of a session.
func (a *app) findApproval(ctx context.Context, src opened, id string, of record.Session, session bool) (inspect.Approval, error) {
	found, err := inspect.FindRequests(ctx, src.Source, of, id, a.now())
	if err != nil {
		return inspect.Approval{}, err
	}
	if len(found) > 0 {
		return oneApproval(found, id, src.Name())
	}
	what := "approval"
	if session {
		what = "session or approval"
	}
	var known []string
	var sessions []inspect.Summary
	for s, err := range inspect.All(ctx, src, inspect.Query{App: of.App, User: of.User}) {
		if err != nil {
			return inspect.Approval{}, err
		}
		if session {
			known = append(known, s.Session.ID)
		}
		sessions = append(sessions, s)
	}
	for list, err := range inspect.Requests(ctx, src, sessions, a.now()) {
		if err != nil {
			return inspect.Approval{}, err
		}
		known = append(known, approvalIDs(list)...)
	}
	return inspect.Approval{}, notFound(what, id, src.Name(), known, `List them with "contextgraph approvals", or `+elsewhere)
}

// listApprovals prints some of all.
func (a *app) listApprovals(list []inspect.Approval, all int, where string) error {
	if err := a.print(list, func(t *table) { approvalsTable(t, list) }); err != nil {
		return err
	}
	switch {
	case all == 0:
		a.note("%s has no such requests to a human", where)
	case all > len(list):
		a.note("%d more are not listed: use --limit, --since or --status", all-len(list))
	}
	return nil
}

// statusOf is the status of a request, and that people overrode its check.
func statusOf(p *inspect.Approval) cell {
	c := chip(p.Status)
	if p.Overridden {
		c.text, c.style = c.text+", OVERRIDDEN", red
	}
	return c
}

func approvalsTable(t *table, list []inspect.Approval) {
	if len(list) == 0 {
		return
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ShownID()
	}
	t.columns([]string{t.zoned("ASKED"), "APPROVAL", "SESSION", "TOOL", "AGENT", "ENTITIES", "WAITED", "STATUS"}, 4, 3, 2, 1)
	for i, id := range inspect.ShortIDs(ids) {
		p := &list[i]
		t.row(t.when(p.RequestedAt), id, sessionID(p.Session.ID), p.Tool, p.Agent, len(p.Entities), waited(p.WaitedMS), statusOf(p))
	}
}
