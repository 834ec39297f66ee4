// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"strings"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// legacyVersion is the last version of a dataset that kept its graph in tables of its own.
const legacyVersion = 1

// legacy looks for the tables that held the graph in earlier versions, and for those of the plugin
// for Python with the same names. In a dataset that is known to be past that there are none.
func (d *Dataset) legacy(ctx context.Context, events *bq.TableMetadata) (warehouse.Legacy, error) {
	if events != nil && atLeast(events.Labels[warehouse.VersionLabel], fmt.Sprint(legacyVersion+1)) {
		return warehouse.Legacy{}, nil
	}
	columns := make(map[string][]string)
	for _, name := range warehouse.LegacyTables() {
		md, err := d.table(name).Metadata(ctx)
		if HasStatus(err, 404) {
			continue
		}
		if err != nil {
			return warehouse.Legacy{}, d.explain("table "+name, err)
		}
		columns[name] = []string{}
		for _, f := range md.Schema {
			columns[name] = append(columns[name], f.Name)
		}
	}
	return warehouse.LegacyOf(columns), nil
}

// legacyNotes say what is left alone.
func legacyNotes(l warehouse.Legacy) []string {
	var notes []string
	own, others := strings.Join(l.Own, ", "), strings.Join(l.Others, ", ")
	switch {
	case l.Whole():
		notes = append(notes, fmt.Sprintf("the tables %s held the graph in earlier versions, and so did a property graph (by default agent_context_graph): what they have is copied into %s once, and they are left alone. Drop them when no program of an earlier version runs and nobody else uses them. What such a program writes to them from now on is brought over by contextgraph sync --from dataset",
			own, warehouse.SessionGraphs))
	case own != "":
		notes = append(notes, fmt.Sprintf("the tables %s held the graph in earlier versions; they are not complete, so nothing is copied and they are left alone: contextgraph sync --from dataset makes the graphs of the rows", own))
	}
	if others != "" {
		notes = append(notes, fmt.Sprintf("the tables %s are those of another program, such as the SDK for Python, or of a version before 0.1: they are left alone, and so is its property graph", others))
	}
	return notes
}

// copyGraph copies the graph of earlier tables, and says what is left alone. The statement does
// nothing the second time.
func (in *initialization) copyGraph(ctx context.Context, events *bq.TableMetadata) {
	l, err := in.d.legacy(ctx, events)
	if err != nil {
		in.errs = append(in.errs, err)
		return
	}
	in.report.Notes = append(in.report.Notes, legacyNotes(l)...)
	if !l.Whole() {
		return
	}
	in.do(ctx, warehouse.KindRows, warehouse.SessionGraphs, func(ctx context.Context, o *InitObject) error {
		text, err := in.d.names.CopyGraph()
		if err != nil {
			return err
		}
		stats, err := in.d.exec(ctx, job{sql: text, feature: featureInit})
		if err != nil {
			return err
		}
		if q, ok := stats.Details.(*bq.QueryStatistics); !ok || q.NumDMLAffectedRows > 0 {
			o.Outcome = Upgraded
		}
		return nil
	})
}
