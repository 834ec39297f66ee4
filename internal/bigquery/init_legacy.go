// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"slices"
	"strings"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// legacyVersion is the last version of a dataset that kept its graph in tables of its own.
const legacyVersion = 1

// legacy looks for the tables that held the graph in earlier versions, and for those of the plugin
// for Python with the same names. It reports whether there is a graph to copy: all tables are there
// and of contextgraph. The notes say what is left alone. In a dataset that is known to be past that
// there is nothing of it.
func (d *Dataset) legacy(ctx context.Context, events *bq.TableMetadata) (whole bool, notes []string, err error) {
	if events != nil && atLeast(events.Labels[warehouse.VersionLabel], fmt.Sprint(legacyVersion+1)) {
		return false, nil, nil
	}
	var own, others []string
	tables := warehouse.LegacyTables()
	for _, t := range tables {
		md, err := d.table(t.Name).Metadata(ctx)
		switch {
		case HasStatus(err, 404):
		case err != nil:
			return false, nil, d.explain("table "+t.Name, err)
		case slices.ContainsFunc(md.Schema, func(f *bq.FieldSchema) bool { return f.Name == t.Column }):
			own = append(own, t.Name)
		default:
			others = append(others, t.Name)
		}
	}
	whole = len(own) == len(tables)
	switch {
	case whole:
		notes = append(notes, fmt.Sprintf("the tables %s held the graph in earlier versions, and so did a property graph (by default agent_context_graph): what they have is copied into %s once, and they are left alone. Drop them when no program of an earlier version runs and nobody else uses them. What such a program writes to them from now on is brought over by contextgraph sync --from dataset",
			strings.Join(own, ", "), warehouse.SessionGraphs))
	case len(own) > 0:
		notes = append(notes, fmt.Sprintf("the tables %s held the graph in earlier versions; they are not complete, so nothing is copied and they are left alone: contextgraph sync --from dataset makes the graphs of the rows", strings.Join(own, ", ")))
	}
	if len(others) > 0 {
		notes = append(notes, fmt.Sprintf("the tables %s are those of another program, such as the SDK for Python, or of a version before 0.1: they are left alone, and so is its property graph", strings.Join(others, ", ")))
	}
	return whole, notes, nil
}

// copyStatement is the statement that copies the graph of [warehouse.LegacyTables] into
// [warehouse.SessionGraphs]. It does nothing where it was run before.
const copyStatement = "init_copy"

// copyGraph copies the graph of earlier tables, and says what is left alone.
func (in *initialization) copyGraph(ctx context.Context, events *bq.TableMetadata) {
	whole, notes, err := in.d.legacy(ctx, events)
	if err != nil {
		in.errs = append(in.errs, err)
	}
	in.report.Notes = append(in.report.Notes, notes...)
	if !whole {
		return
	}
	in.do(ctx, warehouse.KindRows, warehouse.SessionGraphs, func(ctx context.Context, o *InitObject) error {
		done, err := in.d.exec(ctx, job{statement: copyStatement, feature: featureInit})
		if err == nil && done.NumDMLAffectedRows > 0 {
			o.Outcome = Upgraded
		}
		return err
	})
}
