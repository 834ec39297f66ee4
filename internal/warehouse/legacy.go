// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

// LegacyTable is a table that held a part of the graph until there was [SessionGraphs].
type LegacyTable struct {
	Name string
	// Column is one that tells that contextgraph made the table: the plugin for Python has tables with
	// two of these names.
	Column string
}

// LegacyTables returns the tables that held the graph in earlier versions.
func LegacyTables() []LegacyTable {
	return []LegacyTable{
		{"tech_nodes", "requests"},
		{"caused_edges", "edge_key"},
		{"extracted_biz_nodes", "sightings"},
		{"context_cross_links", "first_evaluated_at"},
		{"world_change_checks", "node_key"},
	}
}
