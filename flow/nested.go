// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// Nested returns a node that is a graph of its own. After an answer it goes on at its own level. Its output is that of
// its last node. All levels share the state of the session, so give the outputs of nodes with one name different keys
// with [Into].
func Nested(g *Graph) workflow.Node {
	if g == nil {
		return broken("", errors.New("Nested has no graph"))
	}
	e, err := g.engine()
	if err != nil {
		return broken(g.name, err)
	}
	return newNested(e)
}

type nested struct {
	workflow.BaseNode
	engine *engine
}

func newNested(e *engine) *nested {
	return &nested{BaseNode: workflow.NewBaseNode(e.name, "", workflow.NodeConfig{RerunOnResume: new(true)}), engine: e}
}

// Run implements [workflow.Node].
func (n *nested) Run(ctx agent.Context, input any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		t := turnOf(ctx)
		if t == nil {
			yield(nil, fmt.Errorf("flow: %q runs in a flow alone; use flow.Agent for the workflow around it", n.Name()))
			return
		}
		path := ctx.Path()
		asked := false
		for ev, err := range n.engine.run(at(ctx, t, path), t, input) {
			asked = asked || ev != nil && len(ev.LongRunningToolIDs) > 0
			if !yield(ev, err) || err != nil {
				return
			}
		}
		lv := t.read(path)
		for _, a := range lv.nodes {
			if len(a.open()) > 0 {
				if !asked {
					yield(nil, workflow.ErrNodeWaitingForOutput) // for the answers that are still missing
				}
				return
			}
		}
		if out := n.engine.result(lv); out != nil {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Output = out
			yield(ev, nil)
		}
	}
}

// result returns the output of a level that has ended: of its last step, or of the node that leads to no other.
func (e *engine) result(lv *level) any {
	if e.graph != nil {
		if n := len(lv.steps); n > 0 {
			return lv.nodes[lv.steps[n-1].node].output
		}
		return nil
	}
	for name, a := range lv.nodes {
		leads := slices.ContainsFunc(e.edges, func(edge workflow.Edge) bool { return edge.From.Name() == name })
		if !leads && a.output != nil {
			return a.output
		}
	}
	return nil
}

// A mistake is a node that could not be made. It is told when the graph is built.
type mistake struct {
	workflow.BaseNode
	err error
}

func broken(name string, err error) workflow.Node {
	return &mistake{workflow.NewBaseNode(name, "", workflow.NodeConfig{}), err}
}

func (m *mistake) mistake() error { return m.err }

// Run implements [workflow.Node].
func (m *mistake) Run(agent.Context, any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) { yield(nil, m.err) }
}
