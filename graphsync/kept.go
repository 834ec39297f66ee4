// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"slices"
	"time"
)

// Kept is a step of a graph that was kept without its rows.
type Kept struct {
	Node TechNode
	// Decided is the time of the latest request for an approval in the step, or else that of its last row.
	// Approval says that the step made such a request.
	Decided  time.Time
	Approval bool
	// Causes are the edges that end in the step.
	Causes []Edge
	// Seen has, for each entity that the step saw, what it knew of it, in order: see [Graph.Sightings].
	Seen [][]Known
}

// KeptGraph returns the graph of steps, in their order. It answers as the graph that they were kept of,
// with two exceptions. It has no rows, so its Trace has no events. It goes by times and not by the order
// of rows: what was seen in the microsecond of a decision counts as seen before it. An edge from a step that
// is not among the steps is left out.
func KeptGraph(steps []Kept) *Graph {
	g := &Graph{nodes: make([]TechNode, len(steps)), spans: make([]*span, len(steps)), index: make(map[string]int, len(steps))}
	times := timesOf(steps)
	place := func(t time.Time) int {
		i, _ := slices.BinarySearch(times, t.UnixMicro())
		return i
	}
	for i, s := range steps {
		at := place(s.Decided)
		g.nodes[i], g.index[s.Node.Key] = s.Node, i
		g.spans[i] = &span{TechNode: s.Node, last: at, lastRequest: -1}
		if s.Approval {
			g.spans[i].lastRequest = at
		}
	}
	var arcs []arc
	var seen [][]sighting
	for i, s := range steps {
		for _, e := range s.Causes {
			if from, ok := g.index[e.From]; ok {
				arcs = append(arcs, arc{from, i, e.Kind})
			}
		}
		for _, states := range s.Seen {
			list := make([]sighting, len(states))
			for j, k := range states {
				list[j] = sighting{Entity: k.Entity, pos: place(k.Since), since: k.Since}
			}
			seen = append(seen, list)
		}
	}
	slices.SortFunc(arcs, compareArcs)
	g.connect(slices.Compact(arcs))
	slices.SortStableFunc(seen, func(a, b []sighting) int { return cmp.Compare(a[0].pos, b[0].pos) })
	g.evaluated = make([][]int, len(steps))
	for _, list := range seen {
		g.evaluate(list)
	}
	return g
}

// timesOf returns the times that decide what was seen before what, in microseconds, sorted.
func timesOf(steps []Kept) (times []int64) {
	for _, s := range steps {
		times = append(times, s.Decided.UnixMicro())
		for _, states := range s.Seen {
			for _, k := range states {
				times = append(times, k.Since.UnixMicro())
			}
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}
