// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Reason is one entity that a decision rests on.
type Reason struct {
	// Entity merges the sightings that led to the decision, and no others. Values that
	// results showed come before values that words say, see [entity.Canonicalize].
	Entity entity.Canonical
	// Origin is the relation of the first span of Path to the entity.
	Origin Origin
	// Path is a shortest path from the span where the entity was learned to the decision,
	// both included; see [Origin] for entities that no result showed.
	Path []Step
	// Hops is the number of informs and resumes edges on the path.
	Hops int
}

// Origin is the kind of place that an entity came from, in the order in which paths prefer it.
type Origin int

// The origins of entities.
const (
	// OriginResult is a span whose result showed the entity: a reading with more in it than the
	// arguments of its call. The agent learned the entity there.
	OriginResult Origin = iota + 1
	// OriginNamed is a span that only named the entity, such as a message of the user or the
	// arguments of another call, or a span in which a model found it. No span whose result shows it
	// leads to the decision within the limit of hops.
	OriginNamed
	// OriginAction is the decision itself: nothing but the call that it is about names the
	// entity. The path is the decision alone.
	OriginAction
)

var originNames = [...]string{"", "result", "named", "action"}

// String returns "result", "named" or "action".
func (o Origin) String() string {
	if o < OriginResult || o > OriginAction {
		return fmt.Sprintf("Origin(%d)", int(o))
	}
	return originNames[o]
}

// OriginOf returns the relation of the span at, which saw an entity, to a decision. The spans of
// the call that the decision is about, before and after an answer, have its call id and its
// invocation.
func OriginOf(seen entity.Entity, at, decision TechNode) Origin {
	switch {
	case seen.Shows():
		return OriginResult
	case at.Key == decision.Key, at.CallID != "" && at.CallID == decision.CallID && at.InvocationID == decision.InvocationID:
		return OriginAction
	}
	return OriginNamed
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

// Why returns the entities that were seen before a decision and led to it, across agents and turns,
// by hops, then type, then key. The decision is the key of a node, as [Graph.Decision] returns it.
//
// The path of an entity begins at a span whose result showed it, if one leads to the decision. The
// arguments of the deciding call are the subject of the decision, and never the origin. Of several
// paths from the best [Origin], Why returns the one with the fewest hops, then the one with the
// fewest edges, then the one over later steps.
//
// Nothing after the decision counts, not even for the values of an entity that was seen before and
// after it. The decision is made at the last request for approval in its span, or else at the last
// row of its span.
//
// Why explains, and leaves out entities that are too far away. [Session.Select] selects the
// entities of a check. The error wraps [ErrUnknownNode] if there is no such node.
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
	routes, settled := g.shortest(target, o.hops)
	rank := make(map[int]int, len(settled))
	for i, n := range settled {
		rank[n] = i
	}
	evidence := entity.Canonicalize(g.seenIn(slices.Sorted(slices.Values(settled)), g.cutoff(target)))
	reasons := make([]Reason, len(evidence))
	from := make([]int, len(evidence)) // rank of the span with the best route from the best origin
	for i, e := range evidence {
		best := OriginAction // the path of these is that of the decision, which is settled first
		for j, seen := range e.Seen {
			n := g.index[seen.TechNode]
			origin := OriginOf(seen, g.nodes[n], g.nodes[target])
			if origin < best || origin == best && origin < OriginAction && rank[n] < from[i] {
				best, from[i] = origin, rank[n]
			}
			e.Seen[j].Attributes = maps.Clone(seen.Attributes) // that of the graph
		}
		reasons[i] = Reason{Entity: e, Origin: best, Hops: routes[settled[from[i]]].hops}
	}
	// Far spans first: the spans on their paths have the rest of the path for free.
	paths := make(map[int][]Step)
	for _, r := range slices.Backward(slices.Compact(slices.Sorted(slices.Values(from)))) {
		if paths[settled[r]] == nil {
			g.path(settled[r], routes, paths)
		}
	}
	for i, r := range from {
		reasons[i].Path = paths[settled[r]]
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(a.Hops, b.Hops) })
	return reasons, nil
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

// path adds the path from n to paths, and the paths of the spans on it that have none.
func (g *Graph) path(n int, routes map[int]route, paths map[int][]Step) {
	steps := make([]Step, routes[n].edges+1)
	for i := range steps {
		next := routes[n].next
		steps[i] = Step{Node: g.nodes[n], Edge: next.kind}
		if paths[n] == nil {
			paths[n] = steps[i:]
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

// cutoff returns the position of the last row that a decision can rest on.
func (g *Graph) cutoff(decision int) int {
	if request := g.spans[decision].lastRequest; request >= 0 {
		return request
	}
	return g.spans[decision].last
}

// SeenBefore returns everything that any step saw before a decision, each entity once with its latest values, by
// [entity.Canonicalize]. Unlike [Graph.Why] it does not ask whether an entity led to the decision. The error wraps
// [ErrUnknownNode] if there is no such node.
func (g *Graph) SeenBefore(decision string) ([]entity.Canonical, error) {
	target, ok := g.index[decision]
	if !ok {
		return nil, fmt.Errorf("seen before %q: %w: use a key of Nodes or the one of Decision", decision, ErrUnknownNode)
	}
	cutoff := g.cutoff(target)
	var seen []entity.Entity
	for i := range g.entities {
		if e, ok := g.seenBy(i, cutoff); ok {
			seen = append(seen, e)
		}
	}
	return entity.Canonicalize(seen), nil
}

// seenIn returns what nodes had seen by the row at cutoff, node by node.
func (g *Graph) seenIn(nodes []int, cutoff int) []entity.Entity {
	var out []entity.Entity
	for _, n := range nodes {
		for _, i := range g.evaluated[n] {
			if e, ok := g.seenBy(i, cutoff); ok {
				out = append(out, e)
			}
		}
	}
	return out
}
