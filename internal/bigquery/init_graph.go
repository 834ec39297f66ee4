// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// graphFound is what there is under the name of the property graph.
type graphFound int

const (
	// graphUnknown: BigQuery did not say.
	graphUnknown graphFound = iota
	graphAbsent
	graphOwn
	graphForeign
)

// findGraph looks in INFORMATION_SCHEMA.PROPERTY_GRAPHS, which is a preview and may refuse: then it
// is unknown what there is.
func (d *Dataset) findGraph(ctx context.Context) (graphFound, error) {
	found := graphAbsent
	err := d.query(ctx, job{
		statement: "init_find_graph", feature: featureInit, params: []bq.QueryParameter{param("graph", d.names.Graph())},
	}, func(r *row) error {
		found = graphForeign
		if warehouse.OwnGraph(r.text("ddl")) {
			found = graphOwn
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		d.log.DebugContext(ctx, "contextgraph: BigQuery does not say which property graphs there are", "error", err)
		return graphUnknown, nil
	}
	return found, err
}

// foreignGraph is the error for a property graph of somebody else; why says more of what was found.
func (d *Dataset) foreignGraph(why string) error {
	return &ConflictError{
		Object: d.names.Graph(), Found: "a property graph that somebody else made" + why, Want: "that of contextgraph",
		Remedy: "drop it (DROP PROPERTY GRAPH), or give the graph of contextgraph another name (bigquery.graph.name)",
	}
}

// ensureGraph makes the property graph where its views are there.
func (in *initialization) ensureGraph(ctx context.Context, made map[string]bool) {
	d := in.d
	for _, def := range in.want {
		if def.View.Table == warehouse.SessionGraphs && !made[def.Name] {
			in.add(InitObject{Kind: warehouse.KindGraph, Name: d.names.Graph(), Outcome: Skipped})
			return
		}
	}
	in.do(ctx, warehouse.KindGraph, d.names.Graph(), in.graph)
}

// graph makes the property graph where there can be one, and says so where it need not be.
func (in *initialization) graph(ctx context.Context, o *InitObject) error {
	err := in.makeGraph(ctx, o)
	if !HasNoGraphs(err) {
		return err
	}
	o.Outcome = Skipped
	delete(in.labels, warehouse.GraphLabel)
	in.note("there is no property graph: BigQuery has graphs in some editions only, and answered: %v. Only queries in GQL need it. After a change of edition, run contextgraph init again", err)
	return nil
}

// makeGraph makes the property graph, or replaces one that is known to be of contextgraph and differs.
// The label of the table of events says which one was made. After any statement one property is
// asked for that no other graph has: where BigQuery did not say what there is, a statement that
// leaves what there is alone may have met the graph of somebody else.
func (in *initialization) makeGraph(ctx context.Context, o *InitObject) error {
	d := in.d
	md, err := d.table(d.names.Events()).Metadata(ctx)
	if err != nil {
		return err
	}
	found, err := d.findGraph(ctx)
	if err != nil {
		return err
	}
	same := md.Labels[warehouse.GraphLabel] == in.labels[warehouse.GraphLabel]
	switch {
	case found == graphForeign:
		return d.foreignGraph("")
	case found == graphOwn && same:
		return nil
	}
	done, err := d.exec(ctx, job{statement: "init_graph", data: warehouse.GraphStatement{Replace: found == graphOwn}, feature: featureInit})
	if err != nil {
		return err
	}
	switch done.DDLOperationPerformed {
	case "SKIP":
		o.Outcome = Unchanged
	case "REPLACE":
		o.Outcome = Upgraded
	default:
		o.Outcome = Created
	}
	return d.probeGraph(ctx)
}

// probeGraph asks for a property of our graph, without running the query.
func (d *Dataset) probeGraph(ctx context.Context) error {
	_, err := d.dryRun(ctx, job{statement: "init_probe_graph", feature: featureInit})
	var refused *bq.Error
	if HasStatus(err, 400) || errors.As(err, &refused) && refused.Reason == "invalidQuery" {
		return d.foreignGraph(fmt.Sprintf(" (it has no TechNode with session_day: %v)", Brief(err)))
	}
	return err
}
