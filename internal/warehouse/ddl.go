// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
)

// Kind is the kind of an object of a dataset.
type Kind string

// The kinds of objects.
const (
	KindDataset Kind = "dataset"
	KindTable   Kind = "table"
	KindView    Kind = "view"
	KindGraph   Kind = "graph"
	// KindRows is rows that are copied from tables of an earlier version.
	KindRows Kind = "rows"
	// KindLabels is the labels that say which version made the dataset.
	KindLabels Kind = "labels"
)

// Definition is one object and the statement that makes it.
type Definition struct {
	Kind Kind
	// Name is the name in the dataset; of the dataset itself project.dataset.
	Name string
	// SQL is one statement, without a semicolon. It can be run again.
	SQL string
}

// Definitions returns everything that a dataset holds, in the order in which it can be
// made: the dataset, the tables, the views, the graph unless c asks in recursive SQL,
// and the labels. Nothing is looked at: a table that exists is left as it is by its
// statement.
func Definitions(c config.BigQuery) ([]Definition, error) {
	n, err := NamesOf(c)
	if err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	schema, err := n.Statement("init_schema", c.Location)
	if err != nil {
		return nil, err
	}
	out := []Definition{{KindDataset, n.Project() + "." + n.Dataset(), schema}}
	for _, t := range n.Tables() {
		text, err := n.CreateTable(t)
		if err != nil {
			return nil, err
		}
		out = append(out, Definition{KindTable, t.Name, text})
	}
	views, err := n.Views()
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		text, err := n.CreateView(v)
		if err != nil {
			return nil, err
		}
		out = append(out, Definition{KindView, v.Name, text})
	}
	graph := c.Graph.Queries != config.QueriesRecursive
	if graph {
		text, err := n.CreateGraph(false)
		if err != nil {
			return nil, err
		}
		out = append(out, Definition{KindGraph, n.Graph(), text})
	}
	labels, err := n.VersionLabels(graph)
	if err != nil {
		return nil, err
	}
	maps.Copy(labels, n.EventsTable().Labels)
	text, err := n.Statement("init_labels", sortedLabels(labels))
	if err != nil {
		return nil, err
	}
	return trim(append(out, Definition{KindLabels, n.Events(), text})), nil
}

func trim(ds []Definition) []Definition {
	for i := range ds {
		ds[i].SQL = strings.TrimSpace(ds[i].SQL)
	}
	return ds
}

// CreateTable returns the statement that makes the table unless it exists.
func (n Names) CreateTable(t Table) (string, error) { return n.Statement("init_table", t) }

// AddColumns returns the statement that adds columns to a table, where they are not there
// yet. They are NULLABLE or REPEATED: BigQuery adds no others.
func (n Names) AddColumns(table string, columns []Column) (string, error) {
	text, err := n.Statement("init_add_column", struct {
		Table   string
		Columns []Column
	}{table, columns})
	return strings.TrimSpace(text), err
}

// CreateGraph returns the statement that makes the property graph: instead of the one
// that is there, or only where there is none.
//
// Its keys are unique: a span is one node, a pair of nodes and a kind is one edge. They
// stand among the properties, since questions return them. Properties are few, because
// each is a column that a question may have to read.
func (n Names) CreateGraph(replace bool) (string, error) {
	text, err := n.Statement("init_graph", struct{ Replace bool }{replace})
	return strings.TrimSpace(text), err
}

// OwnGraph reports whether the definition of a property graph, as BigQuery shows it, is one that
// contextgraph made, now or earlier: no other has a table of checks.
func OwnGraph(ddl string) bool { return strings.Contains(ddl, "world_change_checks") }

// VersionLabels returns the labels of the table of events that say what the dataset
// holds, with or without the property graph. The error is a [*NameError] when two objects
// would have one name.
func (n Names) VersionLabels(graph bool) (map[string]string, error) {
	var texts []string
	taken := map[string]string{strings.ToLower(n.Graph()): "graph.name"}
	take := func(name, what string) error {
		// Whether names are case-sensitive is a setting of the dataset.
		if other, ok := taken[strings.ToLower(name)]; ok {
			return &NameError{What: other, Name: name, Remedy: "it is also the name of " + what + ": use another one"}
		}
		taken[strings.ToLower(name)] = what
		return nil
	}
	for i, t := range n.Tables() {
		what := "table"
		if i > 0 {
			what = "a table of contextgraph"
		}
		if err := take(t.Name, what); err != nil {
			return nil, err
		}
		text, err := n.CreateTable(t)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	views, err := n.Views()
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		if err := take(v.Name, "a view of contextgraph"); err != nil {
			return nil, err
		}
		texts = append(texts, v.Name, v.Query)
	}
	labels := map[string]string{
		VersionLabel:     strconv.Itoa(SchemaVersion),
		DefinitionsLabel: digest(texts...),
	}
	if graph {
		text, err := n.CreateGraph(true)
		if err != nil {
			return nil, fmt.Errorf("graph: %w", err)
		}
		labels[GraphLabel] = digest(text)
	}
	return labels, nil
}
