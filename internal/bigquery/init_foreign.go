// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"strings"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

const dropOrRename = "drop or rename it, or use another dataset (bigquery.dataset)"

// foreignTable returns a [ConflictError] for what has the name of a table and is none of
// contextgraph. The table of events may be that of the plugin for Python, which gets what it lacks.
// Any other table lacks nothing.
func (d *Dataset) foreignTable(t warehouse.Table, md *bq.TableMetadata) error {
	if md.Type != "" && md.Type != bq.RegularTable {
		return &ConflictError{Object: t.Name, Found: "a " + string(md.Type), Want: "a TABLE", Remedy: dropOrRename}
	}
	if t.Name == d.names.Events() {
		return nil
	}
	m, _ := mergeSchema(md.Schema, t)
	if len(m.added) > 0 {
		return &ConflictError{Object: t.Name, Found: "a table without " + strings.Join(m.added, ", "), Want: "that of contextgraph", Remedy: dropOrRename}
	}
	return nil
}

// foreignView returns a [ConflictError] for what has the name of a view and cannot be replaced by
// it. A typed view of the plugin for Python can: that of contextgraph has its columns, and more.
func foreignView(v warehouse.View, md *bq.TableMetadata) error {
	remedy := "drop or rename it, or give the views another prefix (bigquery.view_prefix)"
	if v.Table == warehouse.SessionGraphs {
		remedy = dropOrRename
	}
	switch {
	case md.Type != bq.ViewTable:
		return &ConflictError{Object: v.Name, Found: "a " + string(md.Type), Want: "a VIEW", Remedy: remedy}
	case v.Table == warehouse.SessionGraphs && md.Labels[warehouse.DigestLabel] == "":
		return &ConflictError{Object: v.Name, Found: "a view that somebody else made", Want: "that of contextgraph", Remedy: remedy}
	}
	return nil
}
