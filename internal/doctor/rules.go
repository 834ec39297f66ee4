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
	total, tools, sessions := of.total, of.tools, of.sessions
	switch {
	case err != nil:
		x.add(area, Error, "see the journal above", "the rules could not be tried on the sessions of the journal: %v", err)
		return
	case len(tools) == 0:
		return // nothing ran yet
	}
	idle := 0
	for i, t := range total {
		if t.Unrepeated > 0 {
			x.add(area, Note, "register it, or write others: ignore", "rule %q: %s", t.Rule, setup.Unrepeated)
		}
		r := cfg.Extract[i].WithDefaults()
		remedy := "contextgraph rules SESSION shows it for one session"
		switch {
		case t.Failed > 0:
			x.add(area, Warning, remedy, "rule %q: %d of %d rows contradict it, in the newest %s: %s", t.Rule, t.Failed, t.Rows, sessions, t.Nearly)
		case t.Idle():
			x.add(area, Warning, remedy, "%s, in the newest %s", setup.Idle(t), sessions)
		case t.Rows == 0 && r.Tool != "":
			if x.absent(area, fmt.Sprintf("rule %q reads", t.Rule), r.Tool, tools, sessions) {
				break
			}
			continue
		default:
			continue
		}
		idle++
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Guard.Tools)) {
		if !slices.ContainsFunc(tools, func(tool string) bool { return name == tool || text.MatchName(name, tool) }) {
			x.absent(area, "guard.tools names", name, tools, sessions)
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(of.notChecked)) {
		x.add(area, Note, "add a rule with in: action for each that says what a call acts on; arguments: strict denies the others",
			"no rule and no condition reads these arguments of %s: %s", tool, strings.Join(of.notChecked[tool], ", "))
	}
	if len(of.bare) > 0 {
		x.add(area, Note, "wrap those with Protect that read any; the log of the program names all such tools when it starts",
			"in the newest %s, approvals were asked without Protect around the tool, so what the call reads of the state and of artifacts is not compared: %s", sessions, strings.Join(of.bare, ", "))
	}
	if idle == 0 {
		x.ok(area, "no rule read rows in vain, in the newest %s", sessions)
	}
}

// absent names a tool that did not run. It is a warning, and true, if another one is near it.
func (x *examination) absent(area, what, name string, tools []string, sessions string) bool {
	if slices.Contains(tools, name) {
		return false
	}
	if near := text.Nearest(name, tools); near != "" {
		x.add(area, Warning, fmt.Sprintf("did you mean %q?", near), "%s the tool %q, which did not run in the newest %s", what, name, sessions)
		return true
	}
	x.add(area, Note, "tools that ran: "+strings.Join(tools, ", "), "%s the tool %q, which did not run in the newest %s", what, name, sessions)
	return false
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
	known, last := make(map[string]bool), make(map[string]safety.Approval)
	covered := setup.Covered(cfg)
	if cfg.Guard.Mode == config.ModeObserve {
		covered = nil
	}
	total := make([]graphsync.Tally, len(cfg.Extract))
	t.notChecked = make(map[string][]string)
	for _, s := range list {
		rows, err := store.Events(ctx, j, s.Session)
		if err != nil {
			return t, err
		}
		for tool, arguments := range graphsync.NotChecked(rows) {
			if t.notChecked[tool] == nil {
				t.notChecked[tool] = arguments
			}
		}
		counts := graphsync.Fold(extractor, rows).Counts()
		for i, r := range cfg.Extract {
			one := counts.Rule(r.Name)
			total[i].Rule = one.Rule
			total[i].Rows, total[i].Found, total[i].Failed = total[i].Rows+one.Rows, total[i].Found+one.Found, total[i].Failed+one.Failed
			total[i].Unrepeated += one.Unrepeated
			if one.Nearly != "" {
				total[i].Nearly = one.Nearly
			}
		}
		for _, tool := range counts.Tools {
			known[tool] = true
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
	for tool, a := range last {
		if !a.Surroundings.Watched {
			t.bare = append(t.bare, tool)
		}
	}
	slices.Sort(t.bare)
	t.sessions = "session"
	if len(list) != 1 {
		t.sessions = fmt.Sprintf("%d sessions", len(list))
	}
	t.total, t.tools = total, slices.Sorted(maps.Keys(known))
	return t, nil
}
