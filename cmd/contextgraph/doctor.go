// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/doctor"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

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
			return a.doctor(ctx, full)
		},
	}
	c.Flags().Var(&timeout, "timeout", "give up after this time")
	c.Flags().BoolVar(&full, "full", false, "search the whole journal for damage, whatever its size")
	return c
}

func (a *app) doctor(ctx context.Context, full bool) error {
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
		return exit{code: exitError}
	}
	return nil
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
