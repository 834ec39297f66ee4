// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
)

// level is how bad a finding is.
type level string

const (
	levelOK      level = "ok"
	levelNote    level = "note"
	levelWarning level = "warning"
	levelError   level = "error"
)

// finding is one thing that doctor looked at.
type finding struct {
	// Area is "config", "journal", "replication", "clock", "checkers" or "bigquery".
	Area  string `json:"area"`
	Level level  `json:"level"`
	Text  string `json:"text"`
	// Remedy says what to do about it.
	Remedy string `json:"remedy,omitempty"`
}

// findings collects what was found.
type findings []finding

func (f *findings) add(area string, l level, remedy, format string, args ...any) {
	*f = append(*f, finding{area, l, fmt.Sprintf(format, args...), remedy})
}

// connectTimeout bounds each connection that doctor makes.
const connectTimeout = 5 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	timeout := duration(30 * time.Second)
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the configuration, the journal and the connections",
		Long: `doctor looks at the configuration, the journal, the clock, the checkers and, where one is
configured, the dataset in BigQuery. It changes nothing: the journal is not brought up to
date, no query is run, and a checker's server gets a connection and at most a HEAD request
for its root, without the headers of the configuration.

Each finding has a level and, unless it is fine, what to do about it. The command ends
with 1 when one is an error.`,
		Example: `  contextgraph doctor
  contextgraph doctor --config agents/contextgraph.yaml --output json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), time.Duration(timeout))
			defer cancel()
			return a.doctor(ctx)
		},
	}
	c.Flags().Var(&timeout, "timeout", "give up after this time")
	return c
}

func (a *app) doctor(ctx context.Context) error {
	found := findings{}
	if cfg, ok := a.examineConfig(&found); ok {
		last := a.examineJournal(ctx, cfg, &found)
		servers := examineServers(ctx, cfg.Checkers)
		a.examineClock(last, servers, &found)
		for _, s := range servers {
			s.report(a.now(), &found)
		}
		elsewhere(cfg.Checkers, &found)
		a.examineDataset(ctx, cfg.BigQuery, &found)
	}
	if errors.Is(ctx.Err(), context.Canceled) { // what was not looked at is no finding
		return context.Cause(ctx)
	}
	if err := a.print([]finding(found), found.table); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f finding) bool { return f.Level == levelError }) {
		return exit{code: exitError}
	}
	return nil
}

// examineConfig reports whether there is a configuration to go on with.
func (a *app) examineConfig(found *findings) (config.Config, bool) {
	const area = "config"
	path := cmp.Or(a.configPath, defaultConfig)
	cfg, err := a.fileConfig()
	if err != nil {
		found.add(area, levelError, "correct it; contextgraph.example.yaml has every key", "%s", withoutName(err))
		return cfg, false
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		found.add(area, levelNote, "name one with --config", "there is no %s: everything has its default, so no rule finds entities and no checker checks them", path)
		return cfg, true
	}
	found.add(area, levelOK, "", "%s is understood: rules: %d, checkers: %d", path, len(cfg.Extract), len(cfg.Checkers))
	if !*cfg.WithDefaults().Enabled {
		found.add(area, levelWarning, "remove enabled: false", "recording is off, and guarded tools are denied")
	}
	if cfg.Guard.Mode == config.ModeObserve {
		found.add(area, levelWarning, "set guard.mode to enforce", "guard.mode is observe: verdicts are recorded and block nothing but tools wrapped by Protect")
	}
	for _, w := range setup.Warnings(cfg, nil) {
		found.add(area, levelWarning, "correct the configuration, unless code makes up for it", "%s", w)
	}
	return cfg, true
}

// levelCell is a level as people read it: a shape and a word, the colour beside them.
func levelCell(l level) cell {
	switch l {
	case levelOK:
		return cell{"✓ ok", green}
	case levelNote:
		return cell{"· note", blue}
	case levelWarning:
		return cell{"! warning", yellow}
	}
	return cell{"✗ error", red}
}

func (f findings) table(t *table) {
	counts := make(map[level]int)
	area := ""
	for _, one := range f {
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
	t.line(fmt.Sprintf("ok: %d, notes: %d, warnings: %d, errors: %d", counts[levelOK], counts[levelNote], counts[levelWarning], counts[levelError]))
}
