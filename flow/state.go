// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/json"
	"slices"

	"google.golang.org/adk/v2/agent"
)

// State is what a condition or a node of a graph reads: the state of the session, and of the run its path. A node
// writes it by its output, or by what [Map] makes of that.
type State struct {
	ctx   agent.Context
	place *place
	over  map[string]any // what the step of this moment writes
	read  map[string]any // what was read; nil where nobody asks
}

// A place is how far the run of a graph has come.
type place struct {
	graph  *Graph
	input  any
	path   []string // written between nodes alone, of which one runs at a time
	capped bool     // an edge of AtCap was taken
}

type placeKey struct{}

// enter returns the context in which the nodes of a level run.
func (e *engine) enter(ctx agent.Context, lv *level, input any) agent.Context {
	if e.graph == nil {
		return ctx
	}
	p := &place{graph: e.graph, input: input, path: make([]string, 0, len(lv.steps)+len(e.graph.nodes))}
	for _, s := range lv.steps {
		if !s.jump {
			p.path, p.capped = append(p.path, s.node), p.capped || s.atCap
		}
	}
	return in(ctx, placeKey{}, p)
}

// StateOf returns the state in a function or an agent that is a node of a graph. Elsewhere it has no path.
func StateOf(ctx agent.Context) State {
	p, _ := ctx.Value(placeKey{}).(*place)
	if p == nil {
		p = &place{}
	}
	return State{ctx: ctx, place: p}
}

// Get returns a value of the state, and whether there is one.
func (s State) Get(key string) (any, bool) {
	v, ok := s.over[key]
	if !ok {
		var err error
		v, err = s.ctx.Session().State().Get(key)
		ok = err == nil
	}
	if s.read != nil {
		s.read[key] = brief(v)
	}
	return v, ok
}

// Input returns what the graph was begun with.
func (s State) Input() any { return s.place.input }

// Output returns the last output of a node, nil if there is none.
func (s State) Output(node string) any {
	key := node
	if g := s.place.graph; g != nil && g.node(node) != nil {
		key = g.node(node).key()
	}
	v, _ := s.Get(key)
	return v
}

// Path returns the nodes that have ended, in their order. In a condition the last one is that of the edge.
func (s State) Path() []string {
	return slices.Clone(s.place.path)
}

// Iteration returns how many nodes have ended.
func (s State) Iteration() int {
	return len(s.place.path)
}

// Visits returns how often a node has ended.
func (s State) Visits(node string) int {
	n := 0
	for _, p := range s.place.path {
		if p == node {
			n++
		}
	}
	return n
}

// Get returns a value of the state as a T, the zero T if there is none. It reads the float that a database made of a
// whole number, and the JSON that a model wrote as a text.
func Get[T any](s State, key string) T {
	var to T
	v, ok := s.Get(key)
	if !ok {
		return to
	}
	if x, ok := v.(T); ok {
		return x
	}
	data, err := json.Marshal(v)
	if text, isText := v.(string); isText {
		data, err = []byte(text), nil
	}
	if err == nil && json.Unmarshal(data, &to) != nil {
		var zero T
		return zero
	}
	return to
}

// brief returns a value as it stands in the record of an edge: what is large is left out.
func brief(v any) any {
	switch x := v.(type) {
	case nil, bool, int, int64, float64:
		return v
	case string:
		if len(x) <= 200 {
			return x
		}
	}
	return "…"
}
