// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import "slices"

// legacyGraph are the tables that held the graph until there was [SessionGraphs], and a column of
// each that tells that contextgraph made it. The plugin for Python has tables with two of these names.
var legacyGraph = []struct{ table, column string }{
	{"tech_nodes", "requests"},
	{"caused_edges", "edge_key"},
	{"extracted_biz_nodes", "sightings"},
	{"context_cross_links", "first_evaluated_at"},
	{"world_change_checks", "node_key"},
}

// LegacyTables returns the names of the tables that held the graph in earlier versions.
func LegacyTables() []string {
	var names []string
	for _, l := range legacyGraph {
		names = append(names, l.table)
	}
	return names
}

// Legacy says what a dataset has under the names of [LegacyTables].
type Legacy struct {
	// Own are tables of contextgraph with all columns, Others those that it did not make, or
	// not with these columns.
	Own, Others []string
}

// LegacyOf sorts the tables of a dataset with these names; columns has the columns of each that
// there is.
func LegacyOf(columns map[string][]string) Legacy {
	var out Legacy
	for _, l := range legacyGraph {
		have, ok := columns[l.table]
		switch {
		case !ok:
		case slices.Contains(have, l.column):
			out.Own = append(out.Own, l.table)
		default:
			out.Others = append(out.Others, l.table)
		}
	}
	return out
}

// Whole reports whether there is a graph to copy: all tables are there and of contextgraph.
func (l Legacy) Whole() bool { return len(l.Own) == len(legacyGraph) }
