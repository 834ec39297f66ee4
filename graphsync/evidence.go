// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"

	"github.com/adk-contextgraph/contextgraph/entity"
)

const unknownNodeRemedy = "use a key of Nodes or the one of Decision"

// Evidence returns every entity that led to a decision, however many steps ago, by
// type, then key. It is what [Graph.Why] returns without a limit of hops and
// without paths: what has to hold for the decision to be safe must not depend on
// how long the session took to get there.
//
// Nothing after the decision counts, as in [Graph.Why]. The time taken grows with
// the spans, edges and entities of the session, once for each. The error wraps
// [ErrUnknownNode] when there is no such node.
func (g *Graph) Evidence(decision string) ([]entity.Canonical, error) {
	target, ok := g.index[decision]
	if !ok {
		return nil, fmt.Errorf("evidence of %q: %w: %s", decision, ErrUnknownNode, unknownNodeRemedy)
	}
	return g.known(target, g.reached(target)), nil
}

// reached marks the nodes that led to a target, and itself.
func (g *Graph) reached(target int) []bool {
	reached := make([]bool, len(g.nodes))
	reached[target] = true
	for todo := []int{target}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, a := range g.in[n] {
			if !reached[a.from] {
				reached[a.from] = true
				todo = append(todo, a.from)
			}
		}
	}
	return reached
}

// known returns what the marked nodes had seen by the time of a decision.
func (g *Graph) known(decision int, marked []bool) []entity.Canonical {
	var nodes []int
	for n, ok := range marked {
		if ok {
			nodes = append(nodes, n)
		}
	}
	return entity.Canonicalize(g.seenIn(nodes, g.cutoff(decision)))
}

// cutoff returns the position of the last row that a decision can rest on.
func (g *Graph) cutoff(decision int) int {
	if request := g.spans[decision].lastRequest; request >= 0 {
		return request
	}
	return g.spans[decision].last
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
