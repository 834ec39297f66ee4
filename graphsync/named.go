// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/text/paths"
	"github.com/adk-contextgraph/contextgraph/record"
)

// mentions are the places at which the arguments of an action name things. Two rules may
// read one place, which is then one mention.
type mentions map[thing]mention

// mention is where one thing is named: the places of its value, and the normalized paths of
// the nodes that rules found it in.
type mention struct{ values, nodes map[string]bool }

func (m mentions) add(e entity.Entity, node, value string) {
	of, known := m[thingOf(e)]
	if !known {
		of = mention{make(map[string]bool), make(map[string]bool)}
		m[thingOf(e)] = of
	}
	of.values[value] = true
	of.nodes[node] = true
}

// names is what the arguments of an action name.
type names struct {
	entities []entity.Entity
	// places says where, by key.
	places    map[string][]string
	arguments entity.Arguments
}

// named returns what the arguments of the action name.
func (x *Extractor) named(d record.Decision) (out names, err error) {
	if d.Tool == "" || x == nil {
		return out, nil
	}
	content, err := asContent(d.Tool, d.Args)
	if err != nil {
		return out, err
	}
	row := record.Event{EventType: record.ToolStarting, Content: content, Status: record.StatusOK}
	read, err := x.row(&row, nil, nil)
	if err != nil {
		return out, fmt.Errorf("the arguments of %s: rule %q: %w", d.Tool, read.rule, err)
	}
	found := slices.DeleteFunc(read.entities, func(e entity.Entity) bool { return e.Source != entity.SourceAction })
	nodes := make(map[string]map[string]bool)
	var values []string
	for i := range found {
		key := found[i].Identity()
		if nodes[key] == nil {
			nodes[key] = make(map[string]bool)
		}
		of := read.named[thingOf(found[i])]
		maps.Copy(nodes[key], of.nodes)
		values = slices.AppendSeq(values, maps.Keys(of.values))
		found[i].TechNode = d.Node
	}
	out.places = make(map[string][]string, len(nodes))
	for key, of := range nodes {
		out.places[key] = slices.Sorted(maps.Keys(of))
	}
	out.entities = mergeRow(found)
	out.arguments, err = x.arguments(d, values)
	return out, err
}

// arguments says what rules read of the arguments of an action, in which things are named at some places.
func (x *Extractor) arguments(d record.Decision, named []string) (out entity.Arguments, err error) {
	doc, err := decode([]byte(cmp.Or(d.Args, "{}")))
	if err == nil {
		doc, err = text.OpenTexts(doc)
	}
	if err != nil {
		return out, fmt.Errorf("the arguments of %s: %w", d.Tool, err)
	}
	reader, money := paths.New(doc), make(map[string]string)
	for _, c := range x.byEvent[record.ToolStarting] {
		if c.In != config.InAction || c.Tool != d.Tool {
			continue
		}
		reader.Names(c.Name, c.Optional, c.each, c.value)
		for _, a := range c.attributes {
			reader.Reads(c.each, a.path)
			if a.Type == entity.KindMoney {
				amounts(money, doc, c.each, a.path, a.Currency)
			}
		}
		if c.ValueType == entity.KindMoney {
			amounts(money, doc, c.each, c.value, c.Currency)
		}
		if c.artifact != nil {
			reader.Reads(c.each, c.artifact)
		}
	}
	return entity.Arguments{Read: reader.Read(), Money: money, Faults: reader.Faults(named)}, nil
}

// amounts notes what a path selects from the nodes at another one, where it is an amount.
func amounts(money map[string]string, doc any, from, path *jsonpath.Path, currency string) {
	for _, start := range from.SelectLocated(doc) {
		for _, n := range path.SelectLocated(start.Node) {
			if v, err := entity.FromAny(n.Node, entity.KindMoney, currency); err == nil {
				money[start.Path.Pointer()+n.Path.Pointer()] = v.String()
			}
		}
	}
}
