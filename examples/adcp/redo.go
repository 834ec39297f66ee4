// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// redo has the turn of a session done again whose approval met drift, approves the new plan, and prints both plans on
// one card. It fails unless the new plan went live within its budget.
func (d *demo) redo(ctx context.Context, s scenario, out io.Writer) error {
	key := record.Session{App: appName, User: userID, ID: s.session}
	fail := func(err error) error { return fmt.Errorf("session %s, done again: %w", s.session, err) }
	approvals, err := d.instance.Approvals(ctx, key)
	if err != nil {
		return fail(err)
	}
	plan, err := d.checkpoints.Plan(ctx, approvals[0].ID)
	if err != nil {
		return fail(err)
	}
	var again reply
	for event, err := range d.checkpoints.Redo(ctx, d.buyer.runner, plan) {
		if err == nil {
			err = again.add(event)
		}
		if err != nil {
			return fail(err)
		}
	}
	if len(again.asks) != 1 {
		return fail(fmt.Errorf("%d requests for approval, want 1; the agents said: %s", len(again.asks), again.text))
	}
	if approvals, err = d.instance.Approvals(ctx, key); err != nil {
		return fail(err)
	}
	last, err := d.buyer.answer(ctx, s.session, again.asks[0], true)
	if err != nil {
		return fail(err)
	}
	before, now := linesOf(approvals[0]), linesOf(approvals[len(approvals)-1])
	live := d.liveCampaign(s.brief.Account)
	if live == "" || approvals[len(approvals)-1].Replaces != approvals[0].ID {
		return fail(fmt.Errorf("the new plan did not go live; the agents said: %s", last.text))
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s · %s · %s, done again\n", s.session, s.brief.Advertiser, s.brief.Budget)
	var steps [][]string
	for _, step := range plan.Steps {
		steps = append(steps, []string{step.What, step.Tool, step.Reason})
	}
	section(w, "plan", table(steps))
	section(w, "card", card(before, now))
	section(w, "verdict", []string{"SAFE: provisioned as " + live + ", after one more yes"})
	section(w, "agent", agentLines(last.text))
	fmt.Fprintln(w)
	return w.Flush()
}

// linesOf returns the lines of the plan that a request is for.
func linesOf(a safety.Approval) []adserver.Line {
	var args provisionArgs
	_ = json.Unmarshal(a.Args, &args) // the arguments of a call are JSON
	return args.Lines
}

// card sets two plans side by side.
func card(before, now []adserver.Line) []string {
	rows := [][]string{{"", "first plan", "new plan"}}
	spend := func(lines []adserver.Line, placement string) string {
		for _, l := range lines {
			if l.Placement == placement {
				return dollars(l.Spend)
			}
		}
		return "-"
	}
	total := func(lines []adserver.Line) (sum int64) {
		for _, l := range lines {
			sum += l.Spend
		}
		return sum
	}
	seen := make(map[string]bool)
	for _, l := range append(before, now...) {
		if !seen[l.Placement] {
			seen[l.Placement] = true
			rows = append(rows, []string{l.Placement, spend(before, l.Placement), spend(now, l.Placement)})
		}
	}
	return table(append(rows, []string{"in all", dollars(total(before)), dollars(total(now))}))
}

// dollars writes a whole amount as "$52,000".
func dollars(n int64) string {
	digits := fmt.Sprint(n)
	var groups []string
	for ; len(digits) > 3; digits = digits[:len(digits)-3] {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
	}
	return "$" + strings.Join(append([]string{digits}, groups...), ",")
}
