// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

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
	since := duration(7 * 24 * time.Hour)
	c := &cobra.Command{
		Use:   "would-have-blocked",
		Short: "List confirmed calls that only ran because guard.mode is observe",
		Long: `would-have-blocked looks at the requests that were only observed: guard.mode is observe, or
nothing guards the tool. It lists those that a human confirmed and that the gate would have
blocked, with the changes and failures of the check. It is the second of three steps:

  1. guard.mode: observe     record verdicts, block nothing
  2. would-have-blocked      read what enforcement would do; correct rules, checkers and policy
  3. guard.mode: enforce     when the list has only calls that should not have run`,
		Example: `  contextgraph would-have-blocked
  contextgraph would-have-blocked --since 30d --output json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.wouldHaveBlocked(c.Context(), since) },
	}
	c.Flags().Var(&since, "since", "how far back requests are read, such as 7d or 36h")
	a.fromFlag(c)
	return c
}

func (a *app) wouldHaveBlocked(ctx context.Context, since duration) error {
	src, err := a.source(ctx)
	if err != nil {
		return err
	}
	defer src.close()
	out := observed{Blocked: []blocked{}}
	enforced := 0
	for q, err := range inspect.AllRequests(ctx, src, inspect.Query{From: since.before(a.now())}, a.now()) {
		switch {
		case err != nil:
			return err
		case q.ID == "":
			continue
		case q.Enforced:
			enforced++
			continue
		}
		out.add(q)
	}
	switch {
	case out.Requests == 0 && enforced > 0:
		a.note("%d requests were enforced, so none was only observed: contextgraph approvals --status drift,check_failed lists those that were blocked", enforced)
	case out.Requests == 0:
		a.note("%s has no request of the last %s that was only observed", src.Name(), since.String())
	}
	return a.print(out, func(t *table) { out.table(t) })
}

func (o *observed) add(q inspect.Approval) {
	o.Requests++
	if !slices.ContainsFunc(q.Answers, func(a inspect.Answer) bool { return a.Confirmed }) {
		return
	}
	o.Confirmed++
	b := blocked{ID: q.ID, Session: q.Session, Tool: q.Tool, RequestedAt: q.RequestedAt, Why: []string{}}
	if len(q.Checks) == 0 {
		b.Verdict, b.Why = safety.CheckFailed.String(), append(b.Why, "no check is on record")
		o.Blocked = append(o.Blocked, b)
		return
	}
	last := q.Checks[len(q.Checks)-1]
	if last.Verdict == safety.Safe.String() {
		o.Safe++
		return
	}
	b.Verdict = last.Verdict
	for _, f := range last.Findings {
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
	if len(o.Blocked) == 0 {
		return
	}
	ids := make([]string, len(o.Blocked))
	for i := range o.Blocked {
		ids[i] = o.Blocked[i].ID
	}
	for i, id := range inspect.ShortIDs(ids) {
		b := &o.Blocked[i]
		t.line()
		t.clipped(chip(inspect.Status(b.Verdict)), "  ", cell{b.Tool, bold}, "  ", id, "  ", cell{text: sessionID(b.Session.ID)}, "  asked ", t.at(b.RequestedAt))
		for _, why := range b.Why {
			t.clipped("  ", cell{text: why})
		}
	}
}
