// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/doctor"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/record"
)

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
	var s record.Session
	c := &cobra.Command{
		Use:   "rules SESSION",
		Short: "Show what each extraction rule read and found in a session",
		Long: `rules applies the rules of the configuration (section extract) to the rows of one session. For
each rule it prints what it read, found and nearly found. It changes nothing, so a rule can be
corrected and tried again.`,
		Example: `  contextgraph rules s-123 --config new.yaml`,
		Args:    argCount(1, 1, "the id of one session"),
	}
	ownerFlags(c, &s)
	return a.reads(c, func(ctx context.Context, src opened, args []string) error {
		return a.rules(ctx, src, named(s, args[0]))
	})
}

func (a *app) rules(ctx context.Context, src opened, s record.Session) error {
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	x, err := setup.Extractor(cfg)
	if err != nil {
		return err
	}
	if s, err = a.session(ctx, src, s); err != nil {
		return err
	}
	rec, err := src.Record(ctx, s)
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
		a.note("%s, so there are no rules; contextgraph init --from %s proposes some", a.noRules(), s.ID)
	}
	unread := graphsync.NotChecked(rec.Rows)
	for _, tool := range slices.Sorted(maps.Keys(unread)) {
		a.note("no rule and no condition reads these arguments of %s: %s; add a rule with in: action for each that says what a call acts on", tool, strings.Join(unread[tool], ", "))
	}
	return a.print(list, func(t *table) { rulesTable(t, list) })
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
