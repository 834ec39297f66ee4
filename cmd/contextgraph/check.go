// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/doctor"
	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
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
	}
	ownerFlags(c, &s)
	c.Flags().StringVar(&approval, "approval", "", "id of the approval (default the latest open one of the session)")
	f.addCheck(c)
	f.addHeaders(c)
	return over(c, a.recorded, func(ctx context.Context, src opened, args []string) error {
		agent, err := f.checker()
		if err != nil {
			return err
		}
		seen, err := a.read(ctx, src, named(s, args[0]))
		if err != nil {
			return err
		}
		if approval != "" {
			one, err := approvalOf(seen, approval)
			if err != nil {
				return err
			}
			approval = one.ShownID()
		}
		result, err := a.checkNow(ctx, src, seen, approval, agent)
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
	})
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

// checkNow checks the world for a request of a session, "" for the latest. agent checks an open request; without one, or
// for one that has ended, this process asks the checkers that the configuration declares.
func (a *app) checkNow(ctx context.Context, src opened, seen *inspect.Session, approval string, agent viewer.Checker) (checked, error) {
	checker := viewer.Checker(setup.RecordedChecker{Config: src.cfg, Journal: src.journal})
	if agent != nil {
		for _, p := range slices.Backward(seen.Approvals) {
			if p.Status.Open() && p.ID != "" && (approval == "" || p.ID == approval) {
				checker, approval = agent, p.ID
				break
			}
		}
	}
	report, needs, err := checker.Check(ctx, seen.Session, approval)
	if err != nil {
		return checked{}, err
	}
	c := checked{report: report}
	if c.Checked, err = inspect.NewChecked(report, needs); err != nil || c.ApprovalID == "" {
		return c, err
	}
	if seen, err = inspect.Look(ctx, src, seen.Session, a.now()); err != nil {
		return checked{}, err
	}
	i := slices.IndexFunc(seen.Approvals, func(p inspect.Approval) bool { return p.ID == c.ApprovalID })
	if i < 0 {
		return checked{}, fmt.Errorf("session %q has the approval %s in its ledger and not on record: the journal is not whole; see \"contextgraph doctor\"", seen.Session.ID, c.ApprovalID)
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

// ruleFound is one rule and what it found, as programs read it.
type ruleFound struct {
	// Reads is what the rule reads: "result of search", "arguments of buy", "content of NODE_OUTPUT".
	Reads string `json:"reads"`
	Type  string `json:"type"`
	graphsync.Tally
	// Remark says why the rule found nothing, "" if it found something.
	Remark string `json:"remark,omitempty"`
}

func (a *app) rulesCommand() *cobra.Command {
	return a.readsOne(&cobra.Command{
		Use:   "rules SESSION",
		Short: "Show what each extraction rule read and found in a session",
		Long: `rules applies the rules of the configuration (section extract) to the rows of one session. For
each rule it prints what it read, found and nearly found. It changes nothing, so a rule can be
corrected and tried again.`,
		Example: `  contextgraph rules s-123 --config new.yaml`,
	}, func(ctx context.Context, src opened, key record.Session) error {
		cfg, x, err := a.rules()
		if err != nil {
			return err
		}
		rec, err := src.Record(ctx, key)
		if err != nil {
			return err
		}
		counts := graphsync.Fold(x, rec.Rows).Counts()
		list := make([]ruleFound, len(cfg.Extract))
		for i, r := range cfg.Extract {
			r, t := r.WithDefaults(), counts.Rule(r.Name)
			_, why := doctor.Remark(r, t, counts.Tools)
			list[i] = ruleFound{Reads: reads(r), Type: r.Type, Tally: t, Remark: why}
		}
		if len(list) == 0 {
			a.note("%s, so there are no rules; contextgraph init --from %s proposes some", a.noRules(), key.ID)
		}
		unread := graphsync.NotChecked(rec.Rows)
		for _, tool := range slices.Sorted(maps.Keys(unread)) {
			a.note("no rule and no condition reads these arguments of %s: %s; add a rule with in: action for each that says what a call acts on", tool, strings.Join(unread[tool], ", "))
		}
		return a.print(list, func(t *table) { rulesTable(t, list) })
	})
}

// noRules says why there are no rules.
func (a *app) noRules() string {
	if path := a.missingConfig(); path != "" {
		return "there is no " + path + " here"
	}
	return "the configuration has no section extract"
}

// missingConfig returns the path of the configuration if there is no file, else "".
func (a *app) missingConfig() string {
	if a.configPath != "" {
		return ""
	}
	if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
		return defaultConfig
	}
	return ""
}

// reads says what a rule reads.
func reads(r config.Extract) string {
	switch r.In {
	case config.InResult:
		return "result of " + r.Tool
	case config.InContent:
		return "content of " + r.Event
	}
	return "arguments of " + r.Tool
}

func rulesTable(t *table, list []ruleFound) {
	if len(list) == 0 {
		return
	}
	t.columns("RULE", "READS", "TYPE", "ROWS", "FOUND")
	for _, r := range list {
		found := cell{text: fmt.Sprint(r.Found)}
		if r.Found == 0 {
			found.style = yellow
		}
		t.row(r.Rule, r.Reads, r.Type, r.Rows, found)
	}
	for _, r := range list {
		if r.Remark != "" {
			t.line(cell{r.Rule + ":", bold}, " ", cell{text: r.Remark})
		}
		if r.Unrepeated > 0 {
			t.line(cell{r.Rule + ":", bold}, " ", cell{text: setup.Unrepeated})
		}
	}
}

func (a *app) doctorCommand() *cobra.Command {
	timeout := duration(30 * time.Second)
	full := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find faults of the configuration, the journal and the connections",
		Long: fmt.Sprintf(`doctor examines the configuration, the journal, the clock, the checkers and, if one is
configured, the dataset in BigQuery. It changes nothing and runs no query. The server of a checker
gets a connection and at most one HEAD request for its root. A journal larger than %d MiB is
searched for damage only with --full. The command ends with 1 if a finding is an error.`, journal.CheckedBytes>>20),
		Example: `  contextgraph doctor --config agents/contextgraph.yaml --output json`,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), time.Duration(timeout))
			defer cancel()
			found := doctor.Examine(ctx, doctor.Options{
				Path: cmp.Or(a.configPath, defaultConfig), Load: a.fileConfig, Dataset: a.dataset, Whole: full, Now: a.now,
			})
			if errors.Is(ctx.Err(), context.Canceled) { // an area that was not examined is no finding
				return context.Cause(ctx)
			}
			if err := a.print(found, func(t *table) { findingsTable(t, found) }); err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Level == doctor.Error }) {
				return exitWith(exitError)
			}
			return nil
		},
	}
	c.Flags().Var(&timeout, "timeout", "give up after this time")
	c.Flags().BoolVar(&full, "full", false, "search the whole journal for damage, whatever its size")
	return c
}

// levelCell is a level as people read it: a shape and a word, the colour beside them.
func levelCell(l doctor.Level) cell {
	switch l {
	case doctor.OK:
		return cell{"✓ ok", green}
	case doctor.Note:
		return cell{"· note", blue}
	case doctor.Warning:
		return cell{"! warning", yellow}
	}
	return cell{"✗ error", red}
}

func findingsTable(t *table, found []doctor.Finding) {
	counts := make(map[doctor.Level]int)
	area := ""
	for _, one := range found {
		counts[one.Level]++
		if one.Area != area {
			area = one.Area
			t.line(cell{area, bold})
		}
		t.line("  ", levelCell(one.Level), "  ", printable(one.Text))
		if one.Remedy != "" {
			t.line("      → ", printable(one.Remedy))
		}
	}
	t.line(fmt.Sprintf("ok: %d, notes: %d, warnings: %d, errors: %d", counts[doctor.OK], counts[doctor.Note], counts[doctor.Warning], counts[doctor.Error]))
}

// flowRun is how one flow ended, as programs read it.
type flowRun struct {
	Flow     string   `json:"flow"`
	About    string   `json:"about"`
	Expected []string `json:"expected"`
	Ended    []string `json:"ended"`
	// WrongSafe says that an effect ran, or a verdict is safe, against the expectation.
	WrongSafe bool     `json:"wrong_safe"`
	Faults    []string `json:"faults"` // nothing if the flow ended as expected
	// Error says why the flow could not be run.
	Error string `json:"error,omitempty"`
	trace string
}

func (a *app) testCommand() *cobra.Command {
	var trace bool
	c := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run flows against a configuration, and say what its policy would have done",
		Long: `test runs flows: files that say what an agent reads and does, what a person answers, what changes
in between, and how each guarded call has to end (docs/try-your-policy.md). It needs no agent, no
model and no source. The configuration is that of --config, or contextgraph.yaml in the folder of
the flow or in one above it. It ends with
  0    each flow ended as it says
  1    a flow could not be run: it has a mistake
  3    a guarded tool ran, or a check was safe, where the flow says that it must not
  4    a flow ended otherwise than it says, such as a needless no`,
		Example: `  contextgraph test flows/
  contextgraph test flows/price_rises.yaml --trace`,
		Args: argCount(1, -1, "files of flows"),
		RunE: func(c *cobra.Command, args []string) error { return a.test(c.Context(), args, trace) },
	}
	c.Flags().BoolVar(&trace, "trace", false, "print what happens in each flow")
	return c
}

func (a *app) test(ctx context.Context, names []string, trace bool) error {
	paths, err := flowFiles(names)
	if err != nil {
		return err
	}
	list := make([]flowRun, len(paths))
	code := exitOK
	for i, path := range paths {
		list[i] = a.runFlow(ctx, path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case list[i].Error != "" || code == exitError:
			code = exitError
		case list[i].WrongSafe:
			code = exitChanged
		case len(list[i].Faults) > 0 && code == exitOK:
			code = exitCheckFailed
		}
	}
	if err := a.print(list, func(t *table) { flowsTable(t, list, trace) }); err != nil {
		return err
	}
	return exitWith(code)
}

// flowFiles returns the files that arguments stand for.
func flowFiles(names []string) (paths []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, err
		case !info.IsDir():
			paths = append(paths, name)
			continue
		}
		found, err := flowtest.Files(name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, usageError{fmt.Errorf("%s has no flow: flows are files that end in .yaml", name)}
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// runFlow runs one flow over a store of its own, in memory.
func (a *app) runFlow(ctx context.Context, path string) flowRun {
	out := flowRun{Flow: path, Expected: []string{}, Ended: []string{}, Faults: []string{}}
	f, err := flowtest.Load(path, cmp.Or(a.configPath, configBeside(path)))
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.About, out.Expected = f.About, f.Expect
	r, err := f.Run(ctx, "")
	if err != nil {
		out.Error = err.Error()
		return out
	}
	for _, c := range r.Calls {
		out.Ended = append(out.Ended, c.String())
	}
	out.WrongSafe, out.trace = f.WrongSafe(r), strings.Join(r.Trace, "\n")
	out.Faults = append(out.Faults, f.Faults(r)...)
	return out
}

// configBeside returns the configuration in the folder of a flow or in the nearest one above it, "" if
// there is none.
func configBeside(flow string) string {
	dir, err := filepath.Abs(filepath.Dir(flow))
	for err == nil {
		path := filepath.Join(dir, defaultConfig)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	return ""
}

func flowsTable(t *table, list []flowRun, trace bool) {
	t.columns("", "FLOW", "EXPECTED", "ENDED")
	for _, r := range list {
		mark := cell{"ok", green}
		switch {
		case r.Error != "":
			mark = cell{"mistake", red}
		case r.WrongSafe:
			mark = cell{"WRONG SAFE", red}
		case len(r.Faults) > 0:
			mark = cell{"otherwise", yellow}
		}
		t.row(mark, r.Flow, strings.Join(r.Expected, ", "), strings.Join(r.Ended, ", "))
	}
	for _, r := range list {
		if r.Error != "" {
			t.line(r.Error)
		} else if len(r.Faults) > 0 || trace {
			t.line(cell{r.Flow + ":", bold}, " ", strings.Join(append([]string{r.About}, r.Faults...), "; "))
		}
		if trace {
			for line := range strings.Lines(r.trace) {
				t.line("  ", strings.TrimSuffix(line, "\n"))
			}
		}
	}
}
