// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/adk-contextgraph/contextgraph/config"
)

// What names may consist of. They are narrower than what BigQuery takes, so that every
// name stands between backticks without an escape:
// https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical and
// https://cloud.google.com/resource-manager/docs/creating-managing-projects.
var (
	projectName = regexp.MustCompile(`^([a-z][a-z0-9.-]{0,61}[a-z0-9]:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	datasetName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	tableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	baseName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,199}$`) // leaves room for what follows in names of views
	regionName  = regexp.MustCompile(`^[A-Za-z]+(-[a-z]+[0-9]*)*$`)
)

// maxName is how long the name of a dataset may be, in bytes; the others are shorter.
const maxName = 1024

// Names are the names of what a dataset holds, checked: no other text gets into a
// statement. The zero value names nothing; [NamesOf] makes one.
type Names struct {
	project, dataset, table, prefix, graph string
	clusterBy                              []string // the table of events
	typed                                  bool     // whether there is a view for each event type
}

// NamesOf checks the names in c and returns them.
func NamesOf(c config.BigQuery) (Names, error) {
	billed := c.BillingProject != ""
	c = c.WithDefaults()
	var errs []error
	check := func(what, name string, ok *regexp.Regexp, remedy string) {
		if !ok.MatchString(name) || len(name) > maxName {
			errs = append(errs, &NameError{What: what, Name: name, Remedy: remedy})
		}
	}
	const table = "use at most 200 letters, digits and underscores, not beginning with a digit"
	check("project", c.Project, projectName, "use a project id such as my-project-123: 6 to 30 lower-case letters, digits and hyphens")
	if billed {
		check("billing_project", c.BillingProject, projectName, "use a project id such as my-project-123")
	}
	check("dataset", c.Dataset, datasetName, "use letters, digits and underscores")
	check("location", c.Location, regionName, "use a location such as US or europe-west3")
	check("table", c.Table, baseName, table)
	check("view_prefix", c.ViewPrefix, baseName, table)
	check("graph.name", c.Graph.Name, baseName, table)
	if err := errors.Join(errs...); err != nil {
		return Names{}, err
	}
	return Names{
		project: c.Project, dataset: c.Dataset, table: c.Table, prefix: c.ViewPrefix, graph: c.Graph.Name,
		clusterBy: c.ClusteringFields, typed: *c.CreateViews,
	}, nil
}

// NameError says that a name cannot stand in a statement.
type NameError struct {
	// What is the key of the configuration, Name its value.
	What, Name string
	// Remedy says what it may be.
	Remedy string
}

// Error names the key, the value and the remedy.
func (e *NameError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s is missing: %s", e.What, e.Remedy)
	}
	return fmt.Sprintf("%s: %q cannot be used in a statement: %s", e.What, e.Name, e.Remedy)
}

// The tables beside the table of events, and the views of the graph, as [Names.Quote] takes
// them. No table of the graph of the plugin for Python has one of these names.
const (
	SessionGraphs = "session_graphs"
	ExtractedRows = "extracted_rows"

	GraphSteps        = "graph_steps"
	TechNodes         = "graph_tech_nodes"
	CausedEdges       = "graph_caused_edges"
	BizNodes          = "graph_biz_nodes"
	CrossLinks        = "graph_cross_links"
	WorldChangeChecks = "graph_world_change_checks"
)

// Project returns the project of the dataset.
func (n Names) Project() string { return n.project }

// Dataset returns the dataset, without its project.
func (n Names) Dataset() string { return n.dataset }

// Events returns the name of the table of events in its dataset.
func (n Names) Events() string { return n.table }

// UniqueEvents returns the name of the view of the table of events that shows each
// event once.
func (n Names) UniqueEvents() string { return n.table + "_unique" }

// View returns the name of the typed view with a suffix, such as llm_response.
func (n Names) View(suffix string) string { return n.prefix + "_" + suffix }

// Graph returns the name of the property graph in its dataset.
func (n Names) Graph() string { return n.graph }

// Destination returns the name under which a journal keeps how far the rows of the table
// of events are; see [github.com/adk-contextgraph/contextgraph/internal/store.Outbox].
// What an [Opener] makes streams by this name.
func (n Names) Destination() string {
	return "bigquery:" + n.project + "." + n.dataset + "." + n.table
}

// Quote returns what stands in a statement for a table, view or graph of the dataset.
// It panics when name is not one that a dataset can have: only constants and names
// that were checked get here.
func (n Names) Quote(name string) string {
	if !tableName.MatchString(name) || n.project == "" {
		panic("warehouse: " + name + " is not a name that was checked")
	}
	return "`" + n.project + "." + n.dataset + "." + name + "`"
}

// Check reports names of the dataset that cannot be used. It is a [config.Check].
func Check(c *config.Config) []config.Problem {
	b := &c.BigQuery
	if !b.Enabled() {
		return nil
	}
	_, err := NamesOf(*b)
	if b.Extract.Model != "" && err == nil {
		_, endpoint := ExtractEndpoint(*b, config.Default().BigQuery.Location) // wherever it is: only its form counts here
		_, connection := ExtractConnection(*b)
		err = errors.Join(endpoint, connection)
	}
	var out []config.Problem
	for _, e := range unjoin(err) {
		var name *NameError
		if !errors.As(e, &name) {
			continue
		}
		problem := config.Quote(name.Name) + " cannot be used in a statement"
		if name.Name == "" {
			problem = "missing"
		}
		out = append(out, config.Problem{Path: "bigquery." + name.What, Text: problem, Remedy: name.Remedy})
	}
	return out
}

// unjoin returns the errors that were joined in err, or err alone.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
