// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func (a *app) checkCommand() *cobra.Command {
	var s record.Session
	var approval string
	var f agentFlags
	c := &cobra.Command{
		Use:   "check SESSION",
		Short: "Check whether the world is still as it was when a human was asked",
		Long: `check compares the entities that an approval rests on with the world as it is now, by the
checkers that the configuration declares. Without --approval it takes the latest open request
of the session, else the latest request, else everything that the session rests on. It permits
nothing: the gate of the agent checks again before anything runs.

What only the process of the agent can check "needs the agent", and is not safe. With
--agent-check that process is asked instead, where it mounted Instance.CheckHandler.

It ends with 0 only if the check is complete and nothing changed, with 3 if something changed,
with 4 if the check failed, and with 5 if the request has ended.`,
		Example: `  contextgraph check s-123 --approval 0123456789abcdef0123456789abcdef
  contextgraph check s-123 --agent-check http://localhost:8080/contextgraph/check`,
		Args: argCount(1, 1, "the id of a session"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.check(c.Context(), named(s, args[0]), approval, f)
		},
	}
	ownerFlags(c, &s)
	c.Flags().StringVar(&approval, "approval", "", "id of the approval (default the latest open one of the session)")
	f.addCheck(c)
	f.addHeaders(c)
	return c
}

// checked is what check prints: a report, and what it means for the request.
type checked struct {
	inspect.Checked
	report []byte
	// request is the request that was checked, as it is after the check; nil where the session has none.
	request *inspect.Approval
}

// over reports whether the request can lead to nothing any more. The ledger has one open that expired, or that was only
// observed and has run.
func (r *checked) over() bool {
	return r.request != nil && (!r.request.Status.Open() || !safety.ApprovalState(r.request.State).Open())
}

// status is what the check came to: the status of the request if it has ended.
func (r *checked) status() inspect.Status {
	if r.over() {
		return r.request.Status
	}
	return cmp.Or(r.Verdict, inspect.StatusCheckFailed)
}

// explanation says what the status means.
func (r *checked) explanation() string {
	switch {
	case !r.over():
		return r.Explanation
	case r.request.State == string(safety.StatePermitted) && r.request.Status == inspect.StatusSafe:
		return "It was approved, and a permit for one run was handed out: nothing is left to approve."
	}
	return r.request.Explanation
}

func (r *checked) exitCode() int {
	switch status := r.status(); {
	case status == inspect.StatusDrift:
		return exitChanged
	case r.over():
		return exitOver
	case status == inspect.StatusSafe:
		return exitOK
	}
	return exitCheckFailed
}

func (a *app) check(ctx context.Context, s record.Session, approval string, f agentFlags) error {
	agent, err := f.checker()
	if err != nil {
		return err
	}
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	src, err := a.recorded(ctx, cfg)
	if err != nil {
		return err
	}
	defer src.close()
	key, err := a.session(ctx, src, s)
	if err != nil {
		return err
	}
	if approval != "" {
		seen, err := inspect.Look(ctx, src, key, a.now())
		if err != nil {
			return err
		}
		one, err := oneApproval(seen.Approvals, approval, fmt.Sprintf("session %q", key.ID))
		if err != nil {
			return err
		}
		approval = one.ShownID()
	}
	result, err := a.checkNow(ctx, cfg, src, key, approval, agent)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	if missing := a.missingConfig(); missing != "" {
		a.note("there is no %s here, so no rule and no checker is known; run the command beside it, or name it with --config", missing)
	}
	if err := a.print(result, result.table); err != nil {
		return err
	}
	return exitWith(result.exitCode())
}

// checkNow checks the world for a request of a session, "" for the latest. agent checks an open request; without one, or
// for one that has ended, this process asks the checkers that the configuration declares.
func (a *app) checkNow(ctx context.Context, cfg config.Config, src opened, key record.Session, approval string, agent viewer.Checker) (checked, error) {
	seen, err := inspect.Look(ctx, src, key, a.now())
	if err != nil {
		return checked{}, err
	}
	checker := viewer.Checker(setup.RecordedChecker{Config: cfg, Journal: src.journal})
	if agent != nil {
		for _, p := range slices.Backward(seen.Approvals) {
			if p.Status.Open() && p.ID != "" && (approval == "" || p.ID == approval) {
				checker, approval = agent, p.ID
				break
			}
		}
	}
	report, needs, err := checker.Check(ctx, key, approval)
	if err != nil {
		return checked{}, err
	}
	c := checked{report: report}
	if c.Checked, err = inspect.NewChecked(report, needs); err != nil || c.ApprovalID == "" {
		return c, err
	}
	if seen, err = inspect.Look(ctx, src, key, a.now()); err != nil {
		return checked{}, err
	}
	i := slices.IndexFunc(seen.Approvals, func(p inspect.Approval) bool { return p.ID == c.ApprovalID })
	if i < 0 {
		return checked{}, fmt.Errorf("session %q has the approval %s in its ledger and not on record: the journal is not whole; see \"contextgraph doctor\"", key.ID, c.ApprovalID)
	}
	c.request = &seen.Approvals[i]
	return c, nil
}

// MarshalJSON encodes the report, with the fields that the command adds.
func (r checked) MarshalJSON() ([]byte, error) {
	more := struct {
		Status       inspect.Status    `json:"status"`
		Approvable   bool              `json:"approvable"`
		Explanation  string            `json:"explanation"`
		State        string            `json:"state,omitempty"`
		ExpiresAt    time.Time         `json:"expires_at,omitzero"`
		NeedsAgent   map[string]string `json:"needs_agent"`
		ExitCode     int               `json:"exit_code"`
		Confirmation string            `json:"confirmation_id,omitempty"`
	}{Status: r.status(), Explanation: r.explanation(), NeedsAgent: r.NeedsAgent, ExitCode: r.exitCode()}
	if q := r.request; q != nil {
		more.Approvable, more.State, more.ExpiresAt, more.Confirmation = !r.over(), q.State, q.ExpiresAt, q.ConfirmationID
	}
	rest, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	return slices.Concat(r.report[:len(r.report)-1], []byte{','}, rest[1:]), nil
}

func (r *checked) table(t *table) {
	s := r.Session
	t.line("session   ", cell{s.ID + " · " + s.App + " / " + s.User, bold})
	if q := r.request; q != nil {
		said := []any{"request   ", cell{text: q.Tool}, " · ", cell{text: q.ID}, " · ", chip(q.Status)}
		if !r.over() && !q.ExpiresAt.IsZero() {
			said = append(said, ", expires "+t.when(q.ExpiresAt))
		}
		t.line(said...)
	} else {
		t.line("request   none: all that the session rests on is checked")
	}
	t.line("result    ", chip(r.status()), ": ", cell{text: r.explanation()})
	if len(r.Check.Entities) > 0 {
		t.line()
		t.entities(r.Check.Entities)
	}
	if n := r.NotChosen; n.Total > 0 {
		t.line("not chosen ", cell{text: safety.NotChosenNames(n) + ", which do not count"})
	}
	t.findings(slices.DeleteFunc(slices.Clone(r.Check.Findings), func(f safety.Finding) bool {
		return f.Reason == safety.ReasonNeedsAgent // said once for each type, below
	}))
	for _, typ := range slices.Sorted(maps.Keys(r.NeedsAgent)) {
		t.line(cell{"? needs the agent", yellow}, ": ", cell{text: typ + ": " + r.NeedsAgent[typ]})
	}
}
