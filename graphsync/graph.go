// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package graphsync makes a graph of the rows of a session. It shows why the agent wants to act.
// Rules find the business entities in each step. Edges lead from a step to the steps that knew its
// outcome. Why walks backwards from a decision to the entities that it rests on.
package graphsync

import (
	"errors"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ErrUnknownNode is returned for a key that is not in the graph.
var ErrUnknownNode = errors.New("no such node in the graph")

// Graph is the graph of one session. It is immutable: all methods are safe for concurrent use, and
// their results must not be changed.
type Graph struct {
	rows    []*record.Event
	nodes   []TechNode
	spans   []*span
	index   map[string]int // node by key
	spanOf  []int          // node of each row
	arcs    []arc          // sorted by to, from and kind
	edges   []Edge
	in, out [][]arc

	entities  []entity.Entity // one per span, type and value, of all its sightings
	sightings [][]sighting    // of each entity, in the order of the rows
	evaluated [][]int         // entities of each node
}

// Graph makes the graph of the session. An entity that a span saw in several rows is one: a later
// row wins attribute by attribute, but words do not win over a reading, and the confidence is the
// greatest. [Graph.Why] merges only the rows before the decision.
//
// Only a session that [Fold] or [Sessions.Fold] returned has a graph.
func (s *Session) Graph() *Graph {
	l := s.spans
	g := &Graph{rows: l.rows, spans: l.list, index: l.index, spanOf: l.of, nodes: make([]TechNode, len(l.list))}
	for i, span := range g.spans {
		g.nodes[i] = span.node()
	}
	g.connect(link(g.spans, g.index))
	g.see(slices.Clone(l.seen))
	return g
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

// Nodes returns the spans in the order of their first rows.
func (g *Graph) Nodes() []TechNode { return slices.Clone(g.nodes) }

// Edges returns the edges, each once, in the order of the nodes they lead to.
func (g *Graph) Edges() []Edge { return slices.Clone(g.edges) }

// Entities returns what the spans saw, one per span, type and value, in the order
// of the first sightings.
func (g *Graph) Entities() []entity.Entity { return slices.Clone(g.entities) }

// Canonical returns the distinct entities of the session, by type and key.
func (g *Graph) Canonical() []entity.Canonical { return entity.Canonicalize(g.entities) }

// Node returns the node with a key.
func (g *Graph) Node(key string) (TechNode, bool) {
	i, ok := g.index[key]
	if !ok {
		return TechNode{}, false
	}
	return g.nodes[i], true
}

// Decision returns the key of the latest request for approval; false when the
// session has none.
func (g *Graph) Decision() (key string, ok bool) {
	latest := -1
	for _, s := range g.spans {
		if s.lastRequest >= max(latest, 0) {
			latest, key = s.lastRequest, s.Key
		}
	}
	return key, latest >= 0
}

// DefaultHops is the hop limit where none is given.
const DefaultHops = 20

// Causes returns the nodes that led to a node over edges of all kinds, at most
// hops edges away (DefaultHops when hops is not positive): each once, near ones
// first. It is empty for an unknown key.
func (g *Graph) Causes(key string, hops int) []TechNode {
	return g.walk(key, hops, g.in, func(a arc) int { return a.from })
}

// Effects returns the nodes that a node led to, as Causes does.
func (g *Graph) Effects(key string, hops int) []TechNode {
	return g.walk(key, hops, g.out, func(a arc) int { return a.to })
}

func (g *Graph) walk(key string, hops int, arcs [][]arc, end func(arc) int) []TechNode {
	start, ok := g.index[key]
	if !ok {
		return nil
	}
	if hops <= 0 {
		hops = DefaultHops
	}
	seen := map[int]bool{start: true}
	var out []TechNode
	for ring := []int{start}; hops > 0 && len(ring) > 0; hops-- {
		var next []int
		for _, n := range ring {
			for _, a := range arcs[n] {
				if m := end(a); !seen[m] {
					seen[m] = true
					next = append(next, m)
				}
			}
		}
		slices.Sort(next)
		for _, n := range next {
			out = append(out, g.nodes[n])
		}
		ring = next
	}
	return out
}
