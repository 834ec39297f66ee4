// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// Plan returns what [Dataset.Init] would do, as statements that do the same when they are
// run in this order, and changes nothing. The notes say what no statement can do. The
// statements are nil when the dataset cannot be looked at; with an error that says what
// conflicts they are complete but for that.
//
// Without a dataset, or for somebody who only wants to read, [warehouse.Definitions]
// gives all statements and needs no connection.
func (d *Dataset) Plan(ctx context.Context) (statements []warehouse.Definition, notes []string, err error) {
	all, err := warehouse.Definitions(d.cfg)
	if err != nil {
		return nil, nil, err
	}
	if _, err := d.metadata(ctx); HasStatus(err, 404) {
		return all, nil, nil // and no graph of anybody
	} else if err != nil {
		return nil, nil, d.explain("dataset "+d.names.Dataset(), err)
	}
	p := plan{d: d, labels: all[len(all)-1].Labels, out: []warehouse.Definition{}}
	for _, def := range all {
		if err := p.add(ctx, def); err != nil {
			return nil, nil, err
		}
	}
	return p.out, p.notes, errors.Join(p.conflicts...)
}

type plan struct {
	d         *Dataset
	labels    map[string]string // that the table of events is to have
	events    *bq.TableMetadata // nil without the table of events
	out       []warehouse.Definition
	notes     []string
	conflicts []error
}

// add adds def, or what is left to do of it.
func (p *plan) add(ctx context.Context, def warehouse.Definition) error {
	switch {
	case def.Kind == warehouse.KindDataset:
		return nil
	case def.Kind == warehouse.KindGraph:
		return p.graph(ctx, def)
	case def.Kind == warehouse.KindLabels && p.events != nil:
		return p.relabel(def)
	case def.Kind == warehouse.KindLabels:
		p.out = append(p.out, def)
		return nil
	}
	md, err := p.d.table(def.Name).Metadata(ctx)
	switch {
	case HasStatus(err, 404):
		p.out = append(p.out, def)
		return nil
	case err != nil:
		return p.d.explain(string(def.Kind)+" "+def.Name, err)
	case def.Kind == warehouse.KindTable:
		return p.upgrade(def, md)
	}
	if err := foreignView(def.View, md); err != nil {
		p.conflicts = append(p.conflicts, err)
	} else if md.Labels[warehouse.DigestLabel] != def.View.Digest() {
		p.out = append(p.out, def)
	}
	return nil
}

// graph adds the statement that makes the property graph, or replaces one of contextgraph.
func (p *plan) graph(ctx context.Context, def warehouse.Definition) error {
	found, err := p.d.findGraph(ctx)
	switch {
	case err != nil:
		return err
	case found == graphForeign:
		p.conflicts = append(p.conflicts, p.d.foreignGraph(""))
		return nil
	case found != graphAbsent && p.events != nil && p.events.Labels[warehouse.GraphLabel] == p.labels[warehouse.GraphLabel]:
		return nil
	}
	def.SQL, err = p.d.names.CreateGraph(found == graphOwn)
	p.out = append(p.out, def)
	return err
}

// relabel adds the statement that sets the labels of a table of events which has some.
// It names those too: a statement replaces all labels, where Init sets its own.
func (p *plan) relabel(def warehouse.Definition) error {
	have := p.events.Labels
	same := len(p.out) == 0
	for k, v := range p.labels {
		same = same && have[k] == v
	}
	if same {
		return nil
	}
	all := make(map[string]string)
	maps.Copy(all, have)
	delete(all, warehouse.GraphLabel)
	maps.Copy(all, p.labels)
	for k, v := range p.d.names.EventsTable().Labels {
		if !atLeast(have[k], v) {
			all[k] = v
		}
	}
	var err error
	def.SQL, err = p.d.names.Statement("init_labels", all)
	p.out = append(p.out, def)
	return err
}

// upgrade adds the statement that adds the missing columns of a table.
func (p *plan) upgrade(def warehouse.Definition, md *bq.TableMetadata) error {
	if def.Name == p.d.names.Events() {
		p.events = md
	}
	missing, err := mergeSchema(md.Schema, def.Table)
	if foreign := p.d.foreignTable(def.Table, md); foreign != nil {
		err = foreign
	}
	if err != nil {
		p.conflicts = append(p.conflicts, err)
		return nil
	}
	if len(missing.fields) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("table %s lacks the fields %s: contextgraph init adds them, SQL cannot add a field to a STRUCT", def.Name, strings.Join(missing.fields, ", ")))
	}
	if len(missing.columns) == 0 {
		return nil
	}
	def.SQL, err = p.d.names.AddColumns(def.Name, missing.columns)
	p.out = append(p.out, def)
	return err
}
