// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import "github.com/adk-contextgraph/contextgraph/record"

// Trace is a session as a tree of spans and as a list of events.
type Trace struct {
	// Roots are the spans without a recorded parent, in the order of their first rows.
	Roots []*SpanNode
	// Timeline holds every event once, in the order of recording.
	Timeline []record.Event
}

// SpanNode is one span with its own events and the spans inside it, both in the
// order of recording.
type SpanNode struct {
	Node     TechNode
	Events   []record.Event
	Children []*SpanNode
}

// Trace rebuilds the session. Every event is kept: each stands once in the
// timeline and once in the tree. Of spans that name each other as parents the
// first becomes a root.
func (g *Graph) Trace() Trace {
	var t Trace
	nodes := make([]*SpanNode, len(g.nodes))
	for i := range g.nodes {
		nodes[i] = &SpanNode{Node: g.nodes[i]}
	}
	for pos, e := range g.rows {
		n := nodes[g.spanOf[pos]]
		n.Events = append(n.Events, *e)
		t.Timeline = append(t.Timeline, *e)
	}
	for i, p := range g.parents() {
		if p < 0 {
			t.Roots = append(t.Roots, nodes[i])
		} else {
			nodes[p].Children = append(nodes[p].Children, nodes[i])
		}
	}
	return t
}

// parents returns the parent of each node, or -1. The result has no cycles.
func (g *Graph) parents() []int {
	parents := make([]int, len(g.nodes))
	for i, s := range g.spans {
		parents[i] = -1
		if p, ok := g.index[s.parentKey()]; ok && p != i {
			parents[i] = p
		}
	}
	// Nodes on a chain that is being walked have its number; a chain that meets
	// its own number has closed a cycle, which is opened at its first node.
	mark := make([]int, len(parents))
	for i := range parents {
		n := i
		for n >= 0 && mark[n] == 0 {
			mark[n] = i + 1
			n = parents[n]
		}
		if n >= 0 && mark[n] == i+1 {
			first := n
			for m := parents[n]; m != n; m = parents[m] {
				first = min(first, m)
			}
			parents[first] = -1
		}
	}
	return parents
}
