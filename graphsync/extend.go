// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// growth says where a graph differs from the one that it was made from.
type growth struct {
	// nodes gained a row, entities a sighting; both may be new.
	nodes, entities []int
}

// extend returns the graph of the rows of g and of ordered rows that were recorded after
// all of them, with the entities found in those. It is what [Build] makes of all rows at
// once, which extends an empty graph. g stays as it is.
func (g *Graph) extend(rows []*schema.Event, found []entity.Entity) (*Graph, growth) {
	out := &Graph{
		rows:     append(slices.Clip(g.rows), rows...),
		spans:    slices.Clone(g.spans),
		spanOf:   slices.Grow(slices.Clip(g.spanOf), len(rows)),
		index:    grown(g.index, len(rows)/2),
		position: grown(g.position, len(rows)),
	}
	for pos := len(g.rows); pos < len(out.rows); pos++ {
		if id := out.rows[pos].EventID; id != "" {
			out.position[id] = pos
		}
	}
	var more growth
	more.nodes = out.fold(len(g.rows))
	out.nodes = append(slices.Clone(g.nodes), make([]TechNode, len(out.spans)-len(g.nodes))...)
	for _, i := range more.nodes {
		out.nodes[i] = out.spans[i].TechNode
	}
	// What comes later can end the wait of any earlier step, and all of this takes less
	// than copying the graph does: the edges are made anew.
	out.connect(link(out.spans, out.index))

	out.entities, out.sightings = slices.Clone(g.entities), slices.Clone(g.sightings)
	out.evaluated = append(slices.Clone(g.evaluated), make([][]int, len(out.nodes)-len(g.nodes))...)
	more.entities = out.see(out.place(found))
	return out, more
}

// grown returns a copy of a map with room for more.
func grown[V any](from map[string]V, more int) map[string]V {
	out := make(map[string]V, len(from)+more)
	maps.Copy(out, from)
	return out
}

// connect sets the edges from sorted arcs.
func (g *Graph) connect(arcs []arc) {
	g.arcs = arcs
	g.edges = make([]Edge, len(arcs))
	g.in, g.out = make([][]arc, len(g.nodes)), make([][]arc, len(g.nodes))
	leaving := make([]int, len(g.nodes))
	for i, a := range arcs {
		g.edges[i] = Edge{From: g.nodes[a.from].Key, To: g.nodes[a.to].Key, Kind: a.kind}
		leaving[a.from]++
	}
	for i := 0; i < len(arcs); {
		end := i + 1
		for end < len(arcs) && arcs[end].to == arcs[i].to {
			end++
		}
		g.in[arcs[i].to] = arcs[i:end:end]
		i = end
	}
	all := make([]arc, len(arcs))
	for n, count := range leaving {
		g.out[n], all = all[:0:count], all[count:]
	}
	for _, a := range arcs {
		g.out[a.from] = append(g.out[a.from], a)
	}
}

// newEdges returns the edges that g has and older has not; false when older has one that
// g has not. Nodes of both have the same indexes.
func (g *Graph) newEdges(older *Graph) (added []Edge, ok bool) {
	rest := older.arcs
	for i, a := range g.arcs {
		if len(rest) > 0 && rest[0] == a {
			rest = rest[1:]
			continue
		}
		added = append(added, g.edges[i])
	}
	return added, len(rest) == 0
}

// lean returns the same graph without the payloads of the rows, which only [Graph.Trace]
// shows.
func (g *Graph) lean() *Graph {
	out := *g
	out.rows = leanRows(g.rows)
	return &out
}

// apart returns the same graph with values of its own. What a [Syncer] remembers must stay
// what was seen, whatever a caller does with what it got.
func (g *Graph) apart() *Graph {
	out := *g
	out.entities, out.sightings = slices.Clone(g.entities), slices.Clone(g.sightings)
	for i := range out.entities {
		out.entities[i].Attributes = maps.Clone(out.entities[i].Attributes)
		out.sightings[i] = slices.Clone(out.sightings[i])
		for j := range out.sightings[i] {
			out.sightings[i][j].Attributes = maps.Clone(out.sightings[i][j].Attributes)
		}
	}
	return &out
}

func leanRows(rows []*schema.Event) []*schema.Event {
	kept := make([]schema.Event, len(rows))
	out := make([]*schema.Event, len(rows))
	for i, e := range rows {
		kept[i] = *e
		kept[i].Content, kept[i].ContentParts, kept[i].Attributes, kept[i].LatencyMS = nil, nil, nil, nil
		out[i] = &kept[i]
	}
	return out
}
