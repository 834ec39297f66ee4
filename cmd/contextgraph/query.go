// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// queryFlags are the flags of query.
type queryFlags struct {
	print bool
	since duration
}

func (a *app) queryCommand() *cobra.Command {
	f := queryFlags{since: defaultWindow}
	c := &cobra.Command{
		Use:   "query [NAME [PARAMETER=VALUE ...]]",
		Short: "Run a query over the graph in BigQuery, or print it",
		Long: `query runs one of the queries that contextgraph has for people, most of them in GQL over the property
graph, and prints its rows. --print prints the text instead, for the BigQuery console; it needs no
connection. Without a name it lists the queries and their parameters.`,
		Example: `  contextgraph query
  contextgraph query why app=shop user=alice session=s-123
  contextgraph query entity_approvals type=Product value="Instagram Reels" --since 90d
  contextgraph query why --print`,
		RunE: func(c *cobra.Command, args []string) error {
			load := a.config // which wants a dataset
			if len(args) == 0 || f.print {
				load = a.flaggedConfig
			}
			cfg, err := load()
			if err != nil {
				return err
			}
			if len(args) == 0 || f.print {
				cfg.BigQuery.Project = cmp.Or(cfg.BigQuery.Project, "your-project")
				cfg.BigQuery.Dataset = cmp.Or(cfg.BigQuery.Dataset, "your_dataset")
			}
			return a.query(c.Context(), cfg.BigQuery, args, f)
		},
	}
	a.datasetFlags(c)
	c.Flags().BoolVar(&f.print, "print", false, "print the text of the query, and ask nothing")
	c.Flags().Var(&f.since, "since", "how far back the query looks, such as 7d or 36h")
	return c
}

func (a *app) query(ctx context.Context, b config.BigQuery, args []string, f queryFlags) error {
	names, err := warehouse.NamesOf(b)
	if errors.As(err, new(*warehouse.NameError)) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	queries, err := names.Queries()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return a.print(queries, func(t *table) {
			t.columns("QUERY", "PARAMETERS", "ABOUT")
			for _, q := range queries {
				t.row(q.Name, strings.Join(q.Params, " "), q.About)
			}
		})
	}
	i := slices.IndexFunc(queries, func(q warehouse.Query) bool { return q.Name == args[0] })
	if i < 0 {
		return usageError{unknownQuery(args[0], queries)}
	}
	q := queries[i]
	if f.print {
		a.statement(q.Text)
		return nil
	}
	to := a.now().UTC()
	params, err := valuesOf(q, args[1:], map[string]any{"from": f.since.before(to), "to": to})
	if err != nil {
		return usageError{err}
	}
	d, err := a.dataset(ctx, b)
	if err != nil {
		return err
	}
	defer d.Close()
	answer, err := d.Texts(ctx, q.Name, nil, params)
	if err != nil {
		return err
	}
	if len(answer.Rows) == 0 {
		a.say("no rows: check the parameters, or look further back with --since")
	}
	return a.print(answer, func(t *table) {
		t.columns(answer.Columns...)
		for _, row := range answer.Rows {
			cells := make([]any, len(row))
			for i, cell := range row {
				cells[i] = cell
			}
			t.row(cells...)
		}
	})
}

func unknownQuery(name string, queries []warehouse.Query) error {
	known := make([]string, len(queries))
	for i, q := range queries {
		known[i] = q.Name
	}
	meant := ""
	if near := text.Nearest(name, known); near != "" {
		meant = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("no query is called %q: %sthere are %s", name, meant, strings.Join(known, ", "))
}

// valuesOf returns the values of the parameters of a query: those of the time, and the given ones as name=value.
func valuesOf(q warehouse.Query, given []string, times map[string]any) (map[string]any, error) {
	values := make(map[string]any, len(q.Params))
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		switch _, isTime := times[name]; {
		case !ok || isTime || !slices.Contains(q.Params, name):
			return nil, fmt.Errorf("%q is no parameter of the query %s as name=value: it has %s", g, q.Name, strings.Join(q.Params, ", "))
		}
		values[name] = value
	}
	var missing []string
	for _, name := range q.Params {
		if _, has := values[name]; has {
			continue
		}
		if at, isTime := times[name]; isTime {
			values[name] = at
		} else {
			missing = append(missing, name+"=…")
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the query %s also needs %s", q.Name, strings.Join(missing, " "))
	}
	return values, nil
}
