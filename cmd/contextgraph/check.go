// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
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
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func (a *app) checkCommand() *cobra.Command {
	var s record.Session
	var approval string
	c := &cobra.Command{
		Use:   "check SESSION",
		Short: "Check whether the world is still as it was when a human was asked",
		Long: `check compares the entities that an approval rests on with the world as it is now. It asks
the checkers that the configuration declares. Without --approval it takes the latest open
request of the session, else the latest request, else everything that the session rests on.

It changes nothing and permits nothing: the gate of the agent checks again before anything
runs. Some checkers exist only in the process of the agent: its tools, its databases, its
functions. Entities that only they know "need the agent". The check is then not complete,
and so not safe.

The command ends with 0 only if the check is complete and nothing changed. It ends with 3 if
something changed, with 4 if the check failed, and with 5 if the request has ended.`,
		Example: `  contextgraph check s-123
  contextgraph check s-123 --approval 0123456789abcdef0123456789abcdef
  contextgraph check s-123 --config agents/contextgraph.yaml --output json`,
		Args:              argCount(1, 1, "the id of a session"),
		ValidArgsFunction: a.complete(1, sessionChoices),
		RunE: func(c *cobra.Command, args []string) error {
			s.ID = args[0]
			return a.check(c.Context(), s, approval)
		},
	}
	ownerFlags(c, &s)
	c.Flags().StringVar(&approval, "approval", "", "id of the approval (default the latest open one of the session)")
	return c
}

// checked is what check prints.
type checked struct{ inspect.Recheck }

func (a *app) check(ctx context.Context, s record.Session, approval string) error {
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
	result, err := a.checkNow(ctx, cfg, src, key, approval)
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

// checkNow checks the world for a request of a session, "" for the latest.
func (a *app) checkNow(ctx context.Context, cfg config.Config, src opened, key record.Session, approval string) (checked, error) {
	found, err := setup.CheckRecorded(ctx, cfg, src.journal, key, approval)
	if err != nil {
		return checked{}, err
	}
	seen, err := inspect.Look(ctx, src, key, a.now())
	if err != nil {
		return checked{}, err
	}
	result := checked{inspect.Recheck{Report: found.Report, Approval: found.Approval, NeedsAgent: found.NeedsAgent}}
	if result.Approval != nil {
		i := slices.IndexFunc(seen.Approvals, func(p inspect.Approval) bool { return p.ID == result.Approval.ID })
		if i < 0 {
			return checked{}, fmt.Errorf("session %q has the approval %s in its ledger and not on record: the journal is not whole; see \"contextgraph doctor\"", key.ID, result.Approval.ID)
		}
		result.Request = &seen.Approvals[i]
	}
	return result, nil
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
	report, err := json.Marshal(r.Report)
	if err != nil {
		return nil, err
	}
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
	return slices.Concat(report[:len(report)-1], []byte{','}, rest[1:]), nil
}

func (r *checked) table(t *table) {
	s := r.Report.Session()
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
	t.line("world     ", verdictChip(r.Report.Verdict()), fmt.Sprintf(", %d of %d entities changed", r.Report.StaleEntities(), r.Report.TotalEntities()))
	t.line("result    ", chip(r.Status()), ": ", printable(r.Explanation()))
	if entities := r.Report.Entities(); len(entities) > 0 {
		t.line()
		t.columns([]string{"", "TYPE", "ENTITY", "SEEN", "NOW", t.zoned("AS OF")}, 3, 4)
		for _, e := range entities {
			t.row(r.outcome(e), e.Type, e.Value, attributes(e.Seen, nil), attributes(e.Now, e.Conditions), t.when(e.AsOf))
		}
	}
	if n := r.Report.NotChosen(); n.Total > 0 {
		t.line("not chosen ", cell{text: safety.NotChosenNames(n) + ", which do not count"})
	}
	for _, list := range [][]safety.Alert{r.Report.Alerts(), r.Report.Warnings()} {
		for _, al := range list {
			t.line(alertChip(al), ": ", cell{text: fmt.Sprintf("%s %s, %s: %s → %s%s, severity %.2f", al.EntityType, al.Entity, al.Attribute, al.Before, al.After, needed(al, "%+.4g"), al.Severity)})
			t.line("  ", cell{al.Recommendation, dim})
		}
	}
	for _, failure := range r.Report.Failures() {
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
func (r *checked) outcome(e safety.EntityResult) cell {
	if r.NeedsAgent[e.Type] != "" {
		return cell{"? needs the agent", yellow}
	}
	switch e.Outcome {
	case safety.EntityUnchanged:
		return cell{"✓ unchanged", green}
	case safety.EntityWarned:
		return cell{"~ changed, a warning", yellow}
	case safety.EntityChanged:
		return cell{"≠ changed", red}
	case safety.EntitySkipped:
		return cell{"- skipped", dim}
	}
	return cell{"! failed", red}
}

func verdictChip(v safety.Verdict) cell {
	switch v {
	case safety.Safe:
		return cell{"✓ unchanged", green}
	case safety.Drift:
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
