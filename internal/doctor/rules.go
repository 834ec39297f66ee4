// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// newestSessions is how many sessions the rules are tried on.
const newestSessions = 20

// rules tries the rules on the newest sessions of the journal. It names rules that found nothing, and
// tools of the configuration that did not run there.
func (x *examination) rules(ctx context.Context, cfg config.Config) {
	const area = "rules"
	if len(cfg.Extract) == 0 && len(cfg.Guard.Tools) == 0 {
		return
	}
	of, err := tried(ctx, cfg)
	switch {
	case err != nil:
		x.add(area, Error, "see the journal above", "the rules could not be tried on the sessions of the journal: %v", err)
		return
	case len(of.tools) == 0:
		return // nothing ran yet
	}
	vain := false
	for i, t := range of.total {
		if t.Unrepeated > 0 {
			x.add(area, Note, "register it, or write others: ignore", "rule %q: %s", t.Rule, setup.Unrepeated)
		}
		if level, why := Remark(cfg.Extract[i].WithDefaults(), t, of.tools); level != OK {
			vain = vain || level == Warning
			x.add(area, level, "contextgraph rules SESSION shows it for one session", "rule %q: %s, in the newest %s", t.Rule, why, of.sessions)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Guard.Tools)) {
		if !slices.ContainsFunc(of.tools, func(tool string) bool { return name == tool || text.MatchName(name, tool) }) {
			level, which := absent(name, of.tools)
			x.add(area, level, which, "guard.tools names the tool %q, which did not run in the newest %s", name, of.sessions)
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(of.notChecked)) {
		x.add(area, Note, "add a rule with in: action for each that says what a call acts on; arguments: strict denies the others",
			"no rule and no condition reads these arguments of %s: %s", tool, strings.Join(of.notChecked[tool], ", "))
	}
	if len(of.bare) > 0 {
		x.add(area, Note, "wrap those with Protect that read any; the log of the program names all such tools when it starts",
			"in the newest %s, approvals were asked without Protect around the tool, so what the call reads of the state and of artifacts is not compared: %s",
			of.sessions, strings.Join(of.bare, ", "))
	}
	if !vain {
		x.ok(area, "no rule read rows in vain, in the newest %s", of.sessions)
	}
}

// Remark says why a rule found nothing, and how bad that is: [OK] if it found something or had nothing to find. tools
// are those that ran.
func Remark(r config.Extract, t graphsync.Tally, tools []string) (level Level, why string) {
	switch {
	case t.Failed > 0:
		return Warning, fmt.Sprintf("%d of %d rows contradict it: %s", t.Failed, t.Rows, t.Nearly)
	case t.Idle():
		return Warning, "it read rows and found nothing: " + t.Nearly
	case t.Found > 0:
		return OK, ""
	case t.Rows > 0:
		return OK, "the list that it reads was empty"
	case r.Tool == "":
		return OK, "no row of that event is on record"
	case slices.Contains(tools, r.Tool):
		return OK, fmt.Sprintf("no call of %s with such a part is on record", r.Tool)
	}
	level, which := absent(r.Tool, tools)
	return level, fmt.Sprintf("it reads the tool %q, which did not run; %s", r.Tool, which)
}

// absent says which tool was probably meant by one that did not run. Only then it is a warning.
func absent(name string, tools []string) (level Level, which string) {
	if near := text.Nearest(name, tools); near != "" {
		return Warning, fmt.Sprintf("did you mean %q?", near)
	}
	return Note, "tools that ran: " + strings.Join(tools, ", ")
}

// trial is what the newest sessions show of a configuration.
type trial struct {
	total []graphsync.Tally // what the rules found, in all
	tools []string          // those that ran
	// bare are the guarded tools that asked last without Protect around them.
	bare       []string
	notChecked map[string][]string // arguments, by guarded tool
	sessions   string              // how many there are, in words
}

// tried tries the rules on the newest sessions.
func tried(ctx context.Context, cfg config.Config) (t trial, err error) {
	extractor, err := setup.Extractor(cfg)
	if err != nil {
		return t, err
	}
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: cfg.Journal.WithDefaults().Path}})
	if err != nil {
		return t, err
	}
	defer j.Close(context.WithoutCancel(ctx)) // it wrote nothing
	list, err := j.Sessions(ctx, store.Query{Limit: newestSessions})
	if err != nil {
		return t, err
	}
	last := make(map[string]safety.Approval)
	var covered []string
	if cfg.Guard.Mode != config.ModeObserve {
		covered = setup.Covered(cfg)
	}
	t = trial{total: make([]graphsync.Tally, len(cfg.Extract)), notChecked: make(map[string][]string), sessions: "session"}
	if len(list) != 1 {
		t.sessions = fmt.Sprintf("%d sessions", len(list))
	}
	for _, s := range slices.Backward(list) {
		rows, err := store.Events(ctx, j, s.Session)
		if err != nil {
			return t, err
		}
		maps.Copy(t.notChecked, graphsync.NotChecked(rows))
		counts := graphsync.Fold(extractor, rows).Counts()
		t.tools = append(t.tools, counts.Tools...)
		for i, r := range cfg.Extract {
			one, sum := counts.Rule(r.Name), &t.total[i]
			sum.Rule = r.Name
			sum.Rows += one.Rows
			sum.Found += one.Found
			sum.Failed += one.Failed
			sum.Unrepeated += one.Unrepeated
			if one.Nearly != "" {
				sum.Nearly = one.Nearly
			}
		}
		approvals, err := j.Ledger().List(ctx, safety.Query{Session: s.Session})
		if err != nil {
			return t, err
		}
		for _, a := range approvals {
			guarded := len(config.Matching(cfg.Guard.Tools, a.Tool)) > 0 || slices.Contains(covered, a.Tool)
			if guarded && a.RequestedAt.After(last[a.Tool].RequestedAt) {
				last[a.Tool] = a
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(last)) {
		if !last[tool].Surroundings.Watched {
			t.bare = append(t.bare, tool)
		}
	}
	slices.Sort(t.tools)
	t.tools = slices.Compact(t.tools)
	return t, nil
}
