// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// dollarsPerTiB is the price of reading on demand in the region US, by the page "BigQuery
// pricing". Other places may cost more.
const dollarsPerTiB = 6.25

// Plan is what a run does, and the most that it can cost.
type Plan struct {
	Checks []Planned
	// Statements is how many statements are run, beside those that make tables, Bytes the sum of
	// their bounds.
	Statements int
	Bytes      int64
}

// Planned is one check of a plan.
type Planned struct {
	Step, Name, About string
	// Statements are the names of the statements it runs.
	Statements []string
	Bytes      int64
}

// Dollars is the price of the bytes on demand in the region US.
func (p *Plan) Dollars() float64 { return float64(p.Bytes) / (1 << 40) * dollarsPerTiB }

// NewPlan returns the plan of a run in the project of b, of the checks of these names or of all. It
// needs no connection. The error may be an [*UnknownError].
func NewPlan(b config.BigQuery, names ...string) (*Plan, error) {
	list, err := checks(planned(b))
	if err == nil {
		list, err = only(list, names)
	}
	if err != nil {
		return nil, err
	}
	p := new(Plan)
	for i := range list {
		c := &list[i]
		one := Planned{Step: c.step, Name: c.name, About: c.about, Statements: c.statements}
		for _, s := range c.statements {
			bytes, _ := Bound(s)
			one.Bytes += max(bytes, least)
		}
		p.Statements += len(c.statements)
		p.Bytes += one.Bytes
		p.Checks = append(p.Checks, one)
	}
	p.Checks = append(p.Checks, Planned{Step: stepRemove, Name: "the dataset", About: "with all that it holds"})
	return p, nil
}

// planned is the configuration that a plan names things by.
func planned(b config.BigQuery) config.BigQuery {
	b.Project = cmp.Or(b.Project, "your-project")
	b.Dataset = "contextgraph_verify_random"
	return settings(b)
}

// Texts returns every statement of a run as text, each once, in the order of the plan. Values are
// parameters in them.
func (p *Plan) Texts(b config.BigQuery) ([]string, error) {
	b = planned(b)
	made, err := warehouse.Definitions(b)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, d := range made {
		out = append(out, d.SQL)
	}
	names, err := warehouse.NamesOf(b)
	if err != nil {
		return nil, err
	}
	var columns []string
	for _, c := range names.EventsTable().Columns {
		columns = append(columns, c.Name)
	}
	seen := make(map[string]bool)
	for _, c := range p.Checks {
		for _, s := range c.Statements {
			if seen[s] {
				continue
			}
			seen[s] = true
			text, err := names.Statement(s, struct{ Columns []string }{columns})
			if err != nil {
				return nil, fmt.Errorf("verify: plan: %w", err)
			}
			out = append(out, strings.TrimSpace(text))
		}
	}
	return out, nil
}
