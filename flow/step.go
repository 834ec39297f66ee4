// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
)

// step makes the event that ends a node of a graph the whole step: the output, what it writes to the state, and the
// edge that is taken with the values that its conditions read. An error ends the run behind the event.
func (n *node) step(ctx agent.Context, ev *session.Event) error {
	p, _ := ctx.Value(placeKey{}).(*place)
	if p == nil {
		return fmt.Errorf("flow: the node %q of a graph runs outside of it", n.name)
	}
	if noted(ev, keyFailed) == "" {
		if err := n.validate(ev); err != nil {
			return err
		}
	}
	if ev.Actions.StateDelta == nil {
		ev.Actions.StateDelta = make(map[string]any)
	}
	s := State{ctx: ctx, place: p, over: ev.Actions.StateDelta}
	if err := n.write(s, ev.Output); err != nil {
		return err
	}
	p.path = append(p.path, n.name)
	note(ev, keyN, len(p.path))
	limit := n.graph.max
	if p.capped {
		limit *= 2
	}
	ev.Routes = nil
	if slices.ContainsFunc(n.edges, func(e *edge) bool { return e.when != nil }) {
		s.read = make(map[string]any)
	}
	taken, err := n.choose(s, ev)
	if len(s.read) > 0 {
		note(ev, keyRead, s.read)
	}
	if taken != nil && len(p.path) >= limit {
		taken, err = n.atCap(p.capped)
	}
	if taken != nil && err == nil {
		err = n.graph.call(ctx, Moment{When: "edge", Node: n.name, To: taken.to, Edge: taken.name})
	}
	switch {
	case err != nil:
		note(ev, keyError, err.Error())
	case taken != nil:
		ev.Routes = taken.routes
		note(ev, keyTo, taken.boxed[0])
		if taken.name != "" {
			note(ev, keyEdge, taken.boxed[1])
		}
		if taken.atCap {
			note(ev, keyAtCap, true)
			p.capped = true
		}
	}
	return err
}

// write puts the output into the state of the step.
func (n *node) write(s State, out any) (err error) {
	if n.mapper != nil {
		defer recovered(&err, "the Map of the node "+n.name)
		maps.Copy(s.over, n.mapper(out, s))
		return nil
	}
	if out == nil {
		if _, before := s.Get(n.key()); !before {
			return nil
		}
	}
	if n.reduce != nil {
		defer recovered(&err, "the reducer of the node "+n.name)
		before, _ := s.Get(n.key())
		out = n.reduce(before, out)
	}
	s.over[n.key()] = out
	return nil
}

// key is where the output of the node stands in the state.
func (n *node) key() string { return cmp.Or(n.into, n.name) }

// holds asks the condition of an edge.
func (e *edge) holds(s State) (holds bool, err error) {
	defer recovered(&err, e)
	return e.when == nil || e.when(s), nil
}

// recovered, deferred, makes a panic of the caller's function an error.
func recovered(err *error, what any) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("flow: %s panicked: %v", what, r)
	}
}

// choose returns the first edge that holds, or the one that is drawn; nil at an end.
func (n *node) choose(s State, ev *session.Event) (*edge, error) {
	why, failed := noted(ev, keyRefused), noted(ev, keyFailed) != ""
	var lots []*edge
	for _, e := range n.edges {
		if e.atCap || e.refused != (why != "") || (e.why != "" && e.why != why) || e.failure != failed {
			continue
		}
		if len(lots) > 0 && (e.weight == 0 || e.priority != lots[0].priority) {
			continue
		}
		holds, err := e.holds(s)
		if err != nil {
			return nil, err
		}
		if holds && e.weight == 0 {
			return e, nil
		}
		if holds {
			lots = append(lots, e)
		}
	}
	switch {
	case len(lots) > 0:
		return n.draw(s, ev, lots), nil
	case why != "":
		return nil, n.refusal(why)
	case n.end || len(n.edges) == 0:
		return nil, nil
	}
	return nil, fmt.Errorf("%w: node %q", ErrNoEdge, n.name)
}

// draw returns one of the edges by their weights. The same step of a run draws the same.
func (n *node) draw(s State, ev *session.Event, lots []*edge) *edge {
	h := fnv.New64a()
	fmt.Fprint(h, turnOf(s.ctx).run, s.ctx.Path(), len(s.place.path))
	seed, total := h.Sum64(), 0.0
	for _, e := range lots {
		total += e.weight
	}
	drawn := rand.New(rand.NewPCG(seed, 0)).Float64() * total
	note(ev, keyDraw, map[string]any{"seed": strconv.FormatUint(seed, 10), "drawn": drawn, "of": total})
	for _, e := range lots[:len(lots)-1] {
		if drawn -= e.weight; drawn < 0 {
			return e
		}
	}
	return lots[len(lots)-1]
}

// atCap returns the edge that is taken when no iterations are left.
func (n *node) atCap(before bool) (*edge, error) {
	for _, e := range n.edges {
		if e.atCap && !before {
			return e, nil
		}
	}
	return nil, fmt.Errorf("%w: node %q is the last of %d", ErrMaxIterations, n.name, n.graph.max)
}
