// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
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

// named returns what the arguments of the action name, and where, by key.
func (x *Extractor) named(d record.Decision) ([]entity.Entity, map[string][]string, error) {
	if d.Tool == "" || x == nil {
		return nil, nil, nil
	}
	content, err := asContent(d.Tool, d.Args)
	if err != nil {
		return nil, nil, err
	}
	row := record.Event{EventType: record.ToolStarting, Content: content, Status: record.StatusOK}
	read, err := x.row(&row, nil, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("the arguments of %s: rule %q: %w", d.Tool, read.rule, err)
	}
	found := slices.DeleteFunc(read.entities, func(e entity.Entity) bool { return e.Source != entity.SourceAction })
	nodes := make(map[string]map[string]bool)
	for i := range found {
		key := found[i].Identity()
		if nodes[key] == nil {
			nodes[key] = make(map[string]bool)
		}
		maps.Copy(nodes[key], read.named[thingOf(found[i])].nodes)
		found[i].TechNode = d.Node
	}
	places := make(map[string][]string, len(nodes))
	for key, of := range nodes {
		places[key] = slices.Sorted(maps.Keys(of))
	}
	return mergeRow(found), places, nil
}
