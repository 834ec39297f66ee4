// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	want, err := d.definitions()
	if err != nil {
		return nil, nil, err
	}
	if _, err := d.metadata(ctx); HasStatus(err, 404) {
		return all, nil, nil // nothing to copy, and no graph of anybody
	} else if err != nil {
		return nil, nil, d.explain("dataset "+d.names.Dataset(), err)
	}
	p := plan{d: d, want: want, found: make(map[string]*bq.TableMetadata), out: []warehouse.Definition{}}
	for i, def := range all {
		if i > 0 && all[i-1].Name == warehouse.SessionGraphs && all[i-1].Kind == warehouse.KindTable {
			if err := p.legacy(ctx); err != nil {
				return nil, nil, err
			}
		}
		if err := p.add(ctx, def); err != nil {
			return nil, nil, err
		}
	}
	return p.out, p.notes, errors.Join(p.conflicts...)
}

type plan struct {
	d         *Dataset
	want      definitions
	found     map[string]*bq.TableMetadata
	out       []warehouse.Definition
	notes     []string
	conflicts []error
}

// add adds def, or what is left to do of it.
func (p *plan) add(ctx context.Context, def warehouse.Definition) error {
	var md *bq.TableMetadata
	switch def.Kind {
	case warehouse.KindDataset:
		return nil
	case warehouse.KindTable, warehouse.KindView:
		var err error
		if md, err = p.d.table(def.Name).Metadata(ctx); err != nil && !HasStatus(err, 404) {
			return p.d.explain(string(def.Kind)+" "+def.Name, err)
		}
		if err == nil {
			p.found[def.Name] = md
		}
	}
	events := p.found[p.d.names.Events()]
	switch {
	case def.Kind == warehouse.KindTable && md != nil:
		return p.upgrade(def, md)
	case def.Kind == warehouse.KindView && md != nil:
		for _, v := range p.want.views {
			if v.Name != def.Name {
				continue
			}
			if err := foreignView(v, md); err != nil {
				p.conflicts = append(p.conflicts, err)
				return nil
			}
			if md.Labels[warehouse.DigestLabel] == v.Digest() {
				return nil
			}
		}
	case def.Kind == warehouse.KindGraph:
		found, err := p.d.findGraph(ctx)
		switch {
		case err != nil:
			return err
		case found == graphForeign:
			p.conflicts = append(p.conflicts, p.d.foreignGraph(""))
			return nil
		case found != graphAbsent && events != nil && events.Labels[warehouse.GraphLabel] == p.want.labels[warehouse.GraphLabel]:
			return nil
		}
		if def.SQL, err = p.d.names.CreateGraph(found == graphOwn); err != nil {
			return err
		}
	case def.Kind == warehouse.KindLabels && events != nil:
		same := len(p.out) == 0
		for k, v := range p.want.labels {
			same = same && events.Labels[k] == v
		}
		if same {
			return nil
		}
		var err error
		if def.SQL, err = p.labels(events.Labels); err != nil {
			return err
		}
	}
	p.out = append(p.out, def)
	return nil
}

// legacy adds the statement that copies the graph of an earlier version.
func (p *plan) legacy(ctx context.Context) error {
	l, err := p.d.legacy(ctx, p.found[p.d.names.Events()])
	if err != nil {
		return err
	}
	p.notes = append(p.notes, legacyNotes(l)...)
	if !l.Whole() {
		return nil
	}
	text, err := p.d.names.CopyGraph()
	p.out = append(p.out, warehouse.Definition{Kind: warehouse.KindRows, Name: warehouse.SessionGraphs, SQL: strings.TrimSpace(text)})
	return err
}

// labels returns the statement that sets the labels of a table of events which has some.
// It names those too: a statement replaces all labels, where Init sets its own.
func (p *plan) labels(have map[string]string) (string, error) {
	all := make(map[string]string)
	maps.Copy(all, have)
	delete(all, warehouse.GraphLabel)
	maps.Copy(all, p.want.labels)
	for k, v := range p.want.tables[0].Labels {
		if !atLeast(have[k], v) {
			all[k] = v
		}
	}
	var list []warehouse.Label
	for _, k := range slices.Sorted(maps.Keys(all)) {
		list = append(list, warehouse.Label{Key: k, Value: all[k]})
	}
	text, err := p.d.names.Statement("init_labels", list)
	return strings.TrimSpace(text), err
}

// upgrade adds the statement that adds the missing columns of a table.
func (p *plan) upgrade(def warehouse.Definition, md *bq.TableMetadata) error {
	for _, t := range p.want.tables {
		if t.Name != def.Name {
			continue
		}
		if err := p.d.foreignTable(t, md); err != nil {
			p.conflicts = append(p.conflicts, err)
			return nil
		}
		m, err := mergeSchema(md.Schema, t)
		if err != nil {
			p.conflicts = append(p.conflicts, err)
			return nil
		}
		if len(m.fields) > 0 {
			p.notes = append(p.notes, fmt.Sprintf("table %s lacks the fields %s: contextgraph init adds them, SQL cannot add a field to a STRUCT", t.Name, strings.Join(m.fields, ", ")))
		}
		if len(m.columns) == 0 {
			return nil
		}
		text, err := p.d.names.AddColumns(t.Name, m.columns)
		if err != nil {
			return err
		}
		p.out = append(p.out, warehouse.Definition{Kind: def.Kind, Name: def.Name, SQL: text})
	}
	return nil
}
