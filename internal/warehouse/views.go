// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
)

// View is the definition of one view.
type View struct {
	Name        string
	Description string
	// EventType is the type of the rows that a typed view shows; empty for the view of
	// unique events and those of the graph.
	EventType string
	// Table is the table that the view reads.
	Table string
	// Query is the statement that the view stands for.
	Query string
}

// Digest returns the digest of the query, for the label [DigestLabel].
func (v View) Digest() string { return digest(v.Query) }

// Label returns [DigestLabel].
func (View) Label() string { return DigestLabel }

// Views returns the definitions of the views: that of unique events, which questions read, then one
// for each event type unless the configuration leaves these out, then those of the graph.
//
// The typed views read the table of events itself and leave copies out by themselves,
// each after its condition on the event type: what they read is then bounded by the
// clusters of the table for certain, and not only where the condition is moved into the
// view of unique events.
func (n Names) Views() ([]View, error) {
	unique, err := n.Statement("init_unique", struct{ Columns []Column }{n.EventsTable().Columns})
	if err != nil {
		return nil, err
	}
	out := []View{{
		Name:        n.UniqueEvents(),
		Description: "The rows of " + n.Events() + ", each once.",
		Table:       n.Events(),
		Query:       unique,
	}}
	common, typed, err := TypedViews()
	if err != nil {
		return nil, err
	}
	if !n.typed {
		typed = nil
	}
	for _, v := range typed {
		columns := make([]viewColumn, len(v.Columns))
		for i, c := range v.Columns {
			if columns[i], err = newViewColumn(c); err != nil {
				return nil, fmt.Errorf("warehouse: view %s: %w", v.Suffix, err)
			}
		}
		query, err := n.Statement("init_view", struct {
			Common    []string
			Columns   []viewColumn
			EventType string
		}{common, columns, v.EventType})
		if err != nil {
			return nil, err
		}
		out = append(out, View{
			Name:        n.View(v.Suffix),
			Description: "The rows " + v.EventType + " of " + n.Events() + ", each once.",
			EventType:   v.EventType,
			Table:       n.Events(),
			Query:       query,
		})
	}
	graph, err := n.graphViews()
	return append(out, graph...), err
}

// graphViews returns the views that show the newest graph of each session.
func (n Names) graphViews() ([]View, error) {
	var out []View
	for _, v := range []struct{ name, part, description string }{
		{GraphSteps, "steps", "The steps of all sessions with all that hangs on them: one row per span, of the writer that read most of it."},
		{TechNodes, "tech_nodes", "The steps of all sessions: one row per span. Nodes TechNode of the graph."},
		{CausedEdges, "caused_edges", "What caused what: one row per pair of steps and kind. Edges Caused of the graph."},
		{BizNodes, "biz_nodes", "The business entities that steps evaluated: one row per step, type and value. Nodes BizNode of the graph."},
		{CrossLinks, "cross_links", "Which step evaluated which entity. Edges Evaluated of the graph."},
		{WorldChangeChecks, "checks", "The verdicts of world-change checks: one row per check."},
	} {
		query, err := n.Statement("init_graph_view", v.part)
		if err != nil {
			return nil, err
		}
		out = append(out, View{Name: v.name, Description: v.description, Table: SessionGraphs, Query: query})
	}
	return out, nil
}

// TypedView is one view of the rows of one type, and how its columns are read.
type TypedView = contract.View

// TypedViews returns the typed views and the columns that each has first. The columns of
// the views of the Python plugin come before those of ours and have their names, types
// and values, with two exceptions: a number with a fraction in a column of whole numbers
// is rounded, where Python's view fails, and agent_instruction is the instruction, where
// Python's is always NULL.
func TypedViews() (common []string, views []TypedView, err error) {
	python, err := contract.LoadViews()
	if err != nil {
		return nil, nil, err
	}
	own := ownColumns()
	for _, v := range python.Views {
		for i := range v.Columns {
			if c := &v.Columns[i]; v.Suffix == "agent_starting" && c.Name == "agent_instruction" {
				c.Path, c.Present, c.Why = "$", "always", ""
			}
		}
		views = append(views, v)
	}
	for _, v := range ownViews() {
		v.EventType = strings.ToUpper(v.Suffix)
		views = append(views, v)
	}
	for i := range views {
		v := &views[i]
		v.Columns = slices.Concat(v.Columns, own[v.Suffix], everyView())
	}
	return python.Common, views, nil
}

// viewColumn is a column as the template takes it.
type viewColumn struct {
	contract.Column
	// JSONPath and ElsePath are Path and Else as BigQuery writes them.
	JSONPath, ElsePath string
	Over               *viewColumn
}

func newViewColumn(c contract.Column) (viewColumn, error) {
	out := viewColumn{Column: c}
	var err error
	if c.As != "column" {
		if out.JSONPath, err = jsonPath(c.Path); err != nil {
			return out, err
		}
	}
	if c.Else != "" {
		if out.ElsePath, err = jsonPath(c.Else); err != nil {
			return out, err
		}
	}
	if o := c.Over; o != nil {
		over, err := newViewColumn(contract.Column{Name: c.Name, From: o.From, Path: o.Path, As: "value", Type: c.Type})
		if err != nil {
			return out, err
		}
		out.Over = &over
	}
	return out, nil
}

var pathStep = regexp.MustCompile(`^(?:\.([A-Za-z_][A-Za-z0-9_]*)|\['([A-Za-z0-9_:]+)'\])`)

// jsonPath turns a path of RFC 9535 with names alone into one of BigQuery, which quotes
// a name with other characters in another way:
// https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#JSONPath_format.
func jsonPath(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "$")
	out := "$"
	for ok && rest != "" {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			ok = false
			break
		}
		if m[1] != "" {
			out += "." + m[1]
		} else {
			out += `."` + m[2] + `"`
		}
		rest = rest[len(m[0]):]
	}
	if !ok {
		return "", fmt.Errorf("path %q has more than names", path)
	}
	return out, nil
}
