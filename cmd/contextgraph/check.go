// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func (a *app) checkCommand() *cobra.Command {
	var s record.Session
	var approval string
	var f decideFlags
	c := &cobra.Command{
		Use:   "check SESSION",
		Short: "Check whether the world is still as it was when a human was asked",
		Long: `check compares the entities that an approval rests on with the world as it is now. It asks
the checkers that the configuration declares. Without --approval it takes the latest open
request of the session, else the latest request, else everything that the session rests on.

It changes nothing and permits nothing: the gate of the agent checks again before anything
runs. Some checkers exist only in the process of the agent: its tools, its databases, its
functions. Entities that only they know "need the agent". The check is then not complete,
and so not safe. With --agent-check the agent is asked instead: the URL is the place at which
its program mounted Instance.CheckHandler.

The command ends with 0 only if the check is complete and nothing changed. It ends with 3 if
something changed, with 4 if the check failed, and with 5 if the request has ended.`,
		Example: `  contextgraph check s-123
  contextgraph check s-123 --approval 0123456789abcdef0123456789abcdef
  contextgraph check s-123 --config agents/contextgraph.yaml --output json
  contextgraph check s-123 --agent-check http://localhost:8080/contextgraph/check`,
		Args:              argCount(1, 1, "the id of a session"),
		ValidArgsFunction: a.complete(1, sessionChoices),
		RunE: func(c *cobra.Command, args []string) error {
			s.ID = args[0]
			return a.check(c.Context(), s, approval, f)
		},
	}
	ownerFlags(c, &s)
	c.Flags().StringVar(&approval, "approval", "", "id of the approval (default the latest open one of the session)")
	agentCheckFlag(c, &f.agentCheck)
	agentHeaderFlag(c, &f.headers)
	return c
}

// checked is what check prints: a report, and what it means for the request.
type checked struct {
	inspect.Recheck
	report []byte
	told   told
}

// told is the JSON of a [safety.Report]. It is for people, and permits nothing.
type told struct {
	ApprovalID string           `json:"approval_id"`
	Session    record.Session   `json:"session"`
	Verdict    string           `json:"verdict"`
	Total      int              `json:"total_entities"`
	Stale      int              `json:"stale_entities"`
	Entities   []result         `json:"entities"`
	Alerts     []safety.Alert   `json:"alerts"`
	Warnings   []safety.Alert   `json:"warnings"`
	Failures   []safety.Failure `json:"failures"`
	NotChosen  entity.NotChosen `json:"not_chosen"`
}

// result is the result of the check of one entity.
type result struct {
	Type       string                  `json:"type"`
	Value      string                  `json:"value"`
	Outcome    string                  `json:"outcome"`
	Seen       map[string]entity.Value `json:"seen"`
	Now        map[string]entity.Value `json:"now"`
	Conditions map[string]string       `json:"conditions"`
	AsOf       time.Time               `json:"as_of"`
}

// newChecked reads the report of a check.
func newChecked(report []byte, needsAgent map[string]string) (checked, error) {
	c := checked{report: report}
	if err := json.Unmarshal(report, &c.told); err != nil || c.told.Verdict == "" {
		return c, errors.Join(errors.New("the check has no report that can be read"), err)
	}
	c.Verdict, c.NeedsAgent = c.told.Verdict, needsAgent
	for _, e := range c.told.Entities {
		if e.Outcome == safety.EntitySkipped.String() {
			c.Skipped++
		}
	}
	return c, nil
}

func (a *app) check(ctx context.Context, s record.Session, approval string, f decideFlags) error {
	agent, err := f.asked()
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
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if missing := a.missingConfig(); missing != "" {
		a.note("there is no %s here, so no rule and no checker is known; run the command beside it, or name it with --config", missing)
	}
	if err := a.print(result, result.table); err != nil {
		return err
	}
	if code := result.exitCode(); code != exitOK {
		return exit{code: code}
	}
	return nil
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
	c, err := newChecked(report, needs)
	if err != nil || c.told.ApprovalID == "" {
		return c, err
	}
	now, err := safety.Get(ctx, src.journal.Ledger(), c.told.ApprovalID)
	if err != nil {
		return checked{}, err
	}
	if seen, err = inspect.Look(ctx, src, key, a.now()); err != nil {
		return checked{}, err
	}
	i := slices.IndexFunc(seen.Approvals, func(p inspect.Approval) bool { return p.ID == now.ID })
	if i < 0 {
		return checked{}, fmt.Errorf("session %q has the approval %s in its ledger and not on record: the journal is not whole; see \"contextgraph doctor\"", key.ID, now.ID)
	}
	c.Approval, c.Request = &now, &seen.Approvals[i]
	return c, nil
}

func (r *checked) exitCode() int {
	switch status := r.Status(); {
	case status == inspect.StatusDrift:
		return exitChanged
	case r.Over():
		return exitOver
	case status == inspect.StatusSafe:
		return exitOK
	}
	return exitCheckFailed
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
	}{Status: r.Status(), Approvable: r.Request != nil && !r.Over(), Explanation: r.Explanation(), NeedsAgent: r.NeedsAgent, ExitCode: r.exitCode()}
	if r.Request != nil {
		more.State, more.ExpiresAt, more.Confirmation = string(r.Approval.State), r.Request.ExpiresAt, r.Request.ConfirmationID
	}
	rest, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	return slices.Concat(r.report[:len(r.report)-1], []byte{','}, rest[1:]), nil
}

func (r *checked) table(t *table) {
	s := r.told.Session
	t.line("session   ", cell{s.ID + " · " + s.App + " / " + s.User, bold})
	if q := r.Request; q != nil {
		said := []any{"request   ", cell{text: q.Tool}, " · ", cell{text: q.ID}, " · ", chip(q.Status)}
		if !r.Over() && !q.ExpiresAt.IsZero() {
			said = append(said, ", expires "+t.when(q.ExpiresAt))
		}
		t.line(said...)
	} else {
		t.line("request   none: all that the session rests on is checked")
	}
	t.line("world     ", verdictChip(r.Verdict), fmt.Sprintf(", %d of %d entities changed", r.told.Stale, r.told.Total))
	t.line("result    ", chip(r.Status()), ": ", printable(r.Explanation()))
	if entities := r.told.Entities; len(entities) > 0 {
		t.line()
		t.columns([]string{"", "TYPE", "ENTITY", "SEEN", "NOW", t.zoned("AS OF")}, 3, 4)
		for _, e := range entities {
			t.row(r.outcome(e), e.Type, e.Value, attributes(e.Seen, nil), attributes(e.Now, e.Conditions), t.when(e.AsOf))
		}
	}
	if n := r.told.NotChosen; n.Total > 0 {
		t.line("not chosen ", cell{text: safety.NotChosenNames(n) + ", which do not count"})
	}
	for _, list := range [][]safety.Alert{r.told.Alerts, r.told.Warnings} {
		for _, al := range list {
			t.line(alertChip(al), ": ", cell{text: fmt.Sprintf("%s %s, %s: %s → %s%s, severity %.2f", al.EntityType, al.Entity, al.Attribute, al.Before, al.After, needed(al, "%+.4g"), al.Severity)})
			t.line("  ", cell{al.Recommendation, dim})
		}
	}
	for _, failure := range r.told.Failures {
		if failure.Reason == safety.ReasonNeedsAgent {
			continue // said once for each type, below
		}
		t.line(cell{"! " + failure.Reason, red}, ": ", printable(strings.TrimPrefix(failure.String(), failure.Reason+": ")))
	}
	for _, typ := range slices.Sorted(maps.Keys(r.NeedsAgent)) {
		t.line(cell{"? needs the agent", yellow}, ": ", cell{text: typ + ": " + r.NeedsAgent[typ]})
	}
}

// outcome is the result of the check of one entity.
func (r *checked) outcome(e result) cell {
	if r.NeedsAgent[e.Type] != "" {
		return cell{"? needs the agent", yellow}
	}
	switch e.Outcome {
	case safety.EntityUnchanged.String():
		return cell{"✓ unchanged", green}
	case safety.EntityWarned.String():
		return cell{"~ changed, a warning", yellow}
	case safety.EntityChanged.String():
		return cell{"≠ changed", red}
	case safety.EntitySkipped.String():
		return cell{"- skipped", dim}
	}
	return cell{"! failed", red}
}

func verdictChip(verdict string) cell {
	switch verdict {
	case safety.Safe.String():
		return cell{"✓ unchanged", green}
	case safety.Drift.String():
		return cell{"≠ changed", red}
	}
	return cell{"! not known", red}
}

func alertChip(al safety.Alert) cell {
	if al.Effect == config.EffectWarn {
		return cell{"~ " + string(al.Drift), yellow}
	}
	return cell{"≠ " + string(al.Drift), red}
}

// needed returns the condition on the value of an alert, and the change in percent.
func needed(al safety.Alert, percent string) string {
	text := ""
	if al.Condition != "" {
		text = ", " + al.Condition + " needed"
	}
	if al.ChangePercent != nil {
		text += fmt.Sprintf(" ("+percent+"%%)", *al.ChangePercent)
	}
	return text
}

// attributes puts values into a line, each with its condition.
func attributes(values map[string]entity.Value, conditions map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		word := name + " " + values[name].String()
		if c := conditions[name]; c != "" {
			word += " (" + c + " needed)"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
