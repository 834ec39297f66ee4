// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"cmp"
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
	// Table and View are what is made, of these kinds.
	Table Table
	View  View
	// Labels are those of the table of events that say what the dataset holds, of [KindLabels].
	Labels map[string]string
}

// Definitions returns everything that a dataset holds, in the order in which it can be
// made: the dataset, the tables, the views, the graph unless c wants none,
// and the labels. Nothing is looked at: a table that exists is left as it is by its
// statement. The error wraps a [*NameError] when a name cannot be used, or two objects would have
// one name.
func Definitions(c config.BigQuery) ([]Definition, error) {
	n, err := NamesOf(c)
	if err != nil {
		return nil, err
	}
	views, err := n.Views()
	if err != nil {
		return nil, err
	}
	if err := n.distinct(views); err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	var out []Definition
	add := func(d Definition, statement string, data any) {
		if err == nil {
			d.SQL, err = n.Statement(statement, data)
			out = append(out, d)
		}
	}
	add(Definition{Kind: KindDataset, Name: n.Project() + "." + n.Dataset()}, "init_schema", c.Location)
	var made []string // what the digest is of; the line end keeps it what it is in datasets that exist
	for _, t := range n.Tables() {
		add(Definition{Kind: KindTable, Name: t.Name, Table: t}, "init_table", t)
		made = append(made, out[len(out)-1].SQL+"\n")
	}
	for _, v := range views {
		add(Definition{Kind: KindView, Name: v.Name, View: v}, "init_create_view", v)
		made = append(made, v.Name, v.Query)
	}
	labels := map[string]string{VersionLabel: strconv.Itoa(SchemaVersion), DefinitionsLabel: digest(made...)}
	if *c.Graph.GQL {
		add(Definition{Kind: KindGraph, Name: n.Graph()}, "init_graph", GraphStatement{})
		replaced, failed := n.CreateGraph(true)
		err = cmp.Or(err, failed)
		labels[GraphLabel] = digest(replaced)
	}
	all := maps.Clone(labels)
	maps.Copy(all, n.EventsTable().Labels)
	add(Definition{Kind: KindLabels, Name: n.Events(), Labels: labels}, "init_labels", all)
	return out, err
}

// distinct returns a [*NameError] when two objects would have one name. Whether names are
// case-sensitive is a setting of the dataset.
func (n Names) distinct(views []View) error {
	taken := map[string]string{strings.ToLower(n.Graph()): "graph.name"}
	take := func(name, what string) error {
		if other, ok := taken[strings.ToLower(name)]; ok {
			return &NameError{What: other, Name: name, Remedy: "it is also the name of " + what + ": use another one"}
		}
		taken[strings.ToLower(name)] = what
		return nil
	}
	err := take(n.Events(), "table")
	for _, t := range GraphTables() {
		err = cmp.Or(err, take(t.Name, "a table of contextgraph"))
	}
	for _, v := range views {
		err = cmp.Or(err, take(v.Name, "a view of contextgraph"))
	}
	return err
}

// AddColumns returns the statement that adds columns to a table, where they are not there
// yet. They are NULLABLE or REPEATED: BigQuery adds no others.
func (n Names) AddColumns(table string, columns []Column) (string, error) {
	return n.Statement("init_add_column", Table{Name: table, Columns: columns})
}

// GraphStatement is the data of the template init_graph.
type GraphStatement struct {
	// Replace makes the graph instead of the one that is there, and not only where there is none.
	Replace bool
}

// CreateGraph returns the statement that makes the property graph: instead of the one
// that is there, or only where there is none.
//
// Its keys are unique: a span is one node, a pair of nodes and a kind is one edge. They
// stand among the properties, since questions return them. Properties are few, because
// each is a column that a question may have to read.
func (n Names) CreateGraph(replace bool) (string, error) {
	return n.Statement("init_graph", GraphStatement{replace})
}

// OwnGraph reports whether the definition of a property graph, as BigQuery shows it, is one that
// contextgraph made: no other has a table of checks.
func OwnGraph(ddl string) bool { return strings.Contains(ddl, "world_change_checks") }
