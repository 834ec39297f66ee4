// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Reason is one entity that a decision rests on.
type Reason struct {
	// Entity merges the sightings that led to the decision, and no others.
	Entity entity.Canonical
	// Path is a shortest path from the span that evaluated the entity to the
	// decision, both included.
	Path []Step
	// Hops is the number of informs and resumes edges on the path.
	Hops int
}

// Step is one node on a path and the kind of the edge to the next one, which is
// empty at the decision.
type Step struct {
	Node TechNode
	Edge EdgeKind
}

// Option changes how [Graph.Why] searches.
type Option func(*whyOptions)

type whyOptions struct{ hops int }

// WithHops limits paths to n informs and resumes edges (DefaultHops without this
// option). Contains edges do not count. With 0 only the decision itself and the
// spans around it are looked at.
func WithHops(n int) Option {
	return func(o *whyOptions) { o.hops = n }
}

// Why returns the entities that were evaluated before a decision and led to it,
// across agents and turns, by hops, then type, then key. The decision is the key
// of a node, as [Graph.Decision] returns it; its own entities have 0 hops.
//
// Nothing after the decision counts. The decision is made at the last request for
// approval in its span, or else at the last row of its span.
//
// Of several paths the one with the fewest hops is returned, then the one with the
// fewest edges, then the one over later steps. The error wraps [ErrUnknownNode]
// when there is no such node.
func (g *Graph) Why(decision string, opts ...Option) ([]Reason, error) {
	o := whyOptions{hops: DefaultHops}
	for _, opt := range opts {
		opt(&o)
	}
	if o.hops < 0 {
		return nil, fmt.Errorf("why %s: hop limit %d: use 0 or more", decision, o.hops)
	}
	target, ok := g.index[decision]
	if !ok {
		return nil, fmt.Errorf("why %q: %w: use a key of Nodes or the one of Decision", decision, ErrUnknownNode)
	}
	cutoff := g.spans[target].lastRequest
	if cutoff < 0 {
		cutoff = g.spans[target].last
	}

	// found holds the way of the best sighting of each entity.
	type way struct {
		node  int
		route route
		seen  []entity.Entity
	}
	found := make(map[string]*way)
	routes, settled := g.shortest(target, o.hops)
	for _, n := range settled {
		for _, i := range g.evaluated[n] {
			if !g.seenBy(i, cutoff) {
				continue
			}
			e := g.entities[i]
			key := e.CanonicalKey()
			w := found[key]
			if w == nil {
				w = &way{node: n, route: routes[n]}
				found[key] = w
			}
			w.seen = append(w.seen, e)
		}
	}

	reasons := make([]Reason, 0, len(found))
	paths := make(map[int][]Step)
	for _, w := range found {
		if paths[w.node] == nil {
			paths[w.node] = g.path(w.node, routes)
		}
		slices.SortStableFunc(w.seen, func(a, b entity.Entity) int {
			return cmp.Or(a.SeenAt.Compare(b.SeenAt), cmp.Compare(g.index[a.TechNode], g.index[b.TechNode]))
		})
		reasons = append(reasons, Reason{Entity: entity.Canonicalize(w.seen)[0], Path: paths[w.node], Hops: w.route.hops})
	}
	slices.SortFunc(reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Hops, b.Hops), cmp.Compare(a.Entity.Type, b.Entity.Type), cmp.Compare(a.Entity.Key, b.Entity.Key))
	})
	return reasons, nil
}

// seenBy reports whether entity i was seen no later than the row at cutoff.
func (g *Graph) seenBy(i, cutoff int) bool {
	if pos := g.seenPos[i]; pos >= 0 {
		return pos <= cutoff
	}
	return !g.entities[i].SeenAt.After(eventTime(g.rows[cutoff]))
}

// route is the way from a node towards the decision.
type route struct {
	hops, edges int
	// next is the arc to follow, or none (kind empty) at the decision itself.
	next arc
}

// shortest finds the best route of every node that reaches target within the hop
// limit. settled lists those nodes, best routes first.
func (g *Graph) shortest(target, hops int) (routes map[int]route, settled []int) {
	routes = map[int]route{target: {}}
	done := make(map[int]bool)
	queue := &frontier{{node: target}}
	for queue.Len() > 0 {
		at := heap.Pop(queue).(candidate)
		if done[at.node] {
			continue
		}
		done[at.node] = true
		settled = append(settled, at.node)
		for _, a := range g.in[at.node] {
			r := route{hops: at.hops, edges: at.edges + 1, next: a}
			if a.kind != Contains {
				r.hops++
			}
			if r.hops > hops || done[a.from] {
				continue
			}
			old, known := routes[a.from]
			if known && cmp.Or(cmp.Compare(old.hops, r.hops), cmp.Compare(old.edges, r.edges)) <= 0 {
				continue
			}
			routes[a.from] = r
			heap.Push(queue, candidate{hops: r.hops, edges: r.edges, node: a.from})
		}
	}
	return routes, settled
}

func (g *Graph) path(n int, routes map[int]route) []Step {
	steps := make([]Step, 0, routes[n].edges+1)
	for {
		next := routes[n].next
		steps = append(steps, Step{Node: g.nodes[n], Edge: next.kind})
		if next.kind == "" {
			return steps
		}
		n = next.to
	}
}

// candidate is a node with the cost of a route; frontier is a heap of them.
type candidate struct{ hops, edges, node int }

type frontier []candidate

func (f frontier) Len() int { return len(f) }

func (f frontier) Less(i, j int) bool {
	a, b := f[i], f[j]
	// Later nodes first, so that equal routes are settled in one order only.
	return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.edges, b.edges), cmp.Compare(b.node, a.node)) < 0
}

func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

func (f *frontier) Push(x any) { *f = append(*f, x.(candidate)) }

func (f *frontier) Pop() any {
	old := *f
	last := old[len(old)-1]
	*f = old[:len(old)-1]
	return last
}
