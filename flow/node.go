// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// in returns the context with a value.
func in(c agent.Context, key, value any) agent.Context {
	return c.WithAgentContext(context.WithValue(c, key, value))
}

// A node stands around each node of a flow. It has the node leave an event when it ends, and decides in a graph where
// the run goes on.
type node struct {
	workflow.Node
	name  string
	graph *Graph // nil in a workflow
	nodeOptions
	edges []*edge
	end   bool
}

// Name implements [workflow.Node]. In a graph the name is that of the graph.
func (n *node) Name() string { return n.name }

// ValidateOutput implements [workflow.Node]. In a graph the step has validated the output.
func (n *node) ValidateOutput(out any) (any, error) {
	if n.graph != nil {
		return out, nil
	}
	return n.Node.ValidateOutput(out)
}

// Run implements [workflow.Node].
func (n *node) Run(ctx agent.Context, input any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if out, ok := ctx.ResumedInput(given); ok {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Output = out
			n.leave(ctx, ev, yield)
			return
		}
		unfit := cannotAsk(n.Node, n.name)
		inner, stop := ctx, func() {}
		if unfit != nil {
			inner, stop = ctx.WithAgentCancel()
		}
		defer stop()
		var asked, ended, over, failed bool
		for ev, err := range n.Node.Run(inner, input) {
			switch {
			case over || ev == nil && err == nil: // ADK's nodes that emit panic where they are broken off
			case err != nil:
				if n.graph != nil && !errors.Is(err, workflow.ErrNodeInterrupted) {
					err = fmt.Errorf("flow: node %q: %w", n.name, err)
				}
				yield(nil, err)
				return
			case unfit != nil && len(ev.LongRunningToolIDs) > 0:
				over, failed = true, true
				stop()
			case ev.Partial || !ends(ctx, ev):
				asked = asked || len(ev.LongRunningToolIDs) > 0
				if n.graph != nil && pathOf(ev) == "" {
					ev.Routes = nil // the step has the route
				}
				over = !yield(ev, nil)
			case asked:
				ev.Output = nil // a node that asks has not ended
				over = !yield(ev, nil)
			default:
				ended = true
				over = !n.leave(ctx, ev, yield)
			}
		}
		switch {
		case failed:
			yield(nil, unfit)
		case !asked && !ended && !over:
			n.leave(ctx, session.NewEvent(ctx, ctx.InvocationID()), yield)
		}
	}
}

// ends says whether an event ends the node itself.
func ends(ctx agent.Context, ev *session.Event) bool {
	return isEnd(ev) && (ev.NodeInfo == nil || ev.NodeInfo.Path == "" || ev.NodeInfo.Path == ctx.Path())
}

// leave ends the node with an event. It returns false if nothing may follow.
func (n *node) leave(ctx agent.Context, ev *session.Event, yield func(*session.Event, error) bool) bool {
	var err error
	if n.graph != nil {
		err = n.step(ctx, ev)
	} else if why := noted(ev, keyRefused); why != "" {
		ev.Output = nil // it has not ended: nothing behind it may run, also after Continue
		delete(meta(ev), keyDone)
		err = fmt.Errorf("%w: node %q: %s", ErrRefused, n.name, why)
	} else if ev.Output == nil {
		note(ev, keyDone, true) // a message may be its output
	}
	if !yield(ev, nil) {
		return false
	}
	if err != nil {
		yield(nil, err)
	}
	return err == nil
}

// takesEach says whether a node goes on with each answer, and does not wait for those to its other questions.
func takesEach(n workflow.Node) bool {
	w, ok := n.(*node)
	if !ok {
		return false
	}
	switch w.Node.(type) {
	case *agentNode, *nested:
		return true
	}
	return false
}

// cannotAsk returns an error for the nodes of ADK that do not go on where they asked.
func cannotAsk(n workflow.Node, name string) error {
	var use string
	switch n.(type) {
	case *workflow.AgentNode:
		use = "workflow.NewAgentNode: use flow.AgentNode"
	case *workflow.WorkflowNode:
		use = "workflow.NewWorkflowNode: use flow.WorkflowNode, or flow.Nested in a graph"
	case *worker:
		use = "workflow.NewParallelWorker: ask in a node before or behind it"
	default:
		return nil
	}
	return fmt.Errorf("%w: %q is made by %s", ErrStockNode, name, use)
}

// A worker is a node in a parallel worker, which shows nobody the questions of its node.
type worker struct {
	workflow.Node
	name string
}

// Run implements [workflow.Node].
func (w *worker) Run(ctx agent.Context, input any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		ctx, stop := ctx.WithAgentCancel()
		defer stop()
		over := false
		for ev, err := range w.Node.Run(ctx, input) {
			if over {
				continue
			}
			if ev != nil && len(ev.LongRunningToolIDs) > 0 {
				err = cannotAsk(w, w.name)
				stop()
			}
			over = !yield(ev, err) || err != nil
		}
	}
}

// guarded returns the node; a parallel worker as a copy whose node cannot ask unheard.
func guarded(n workflow.Node) workflow.Node {
	pw, ok := n.(*workflow.ParallelWorker)
	if !ok {
		return n
	}
	c := *pw
	f := reflect.ValueOf(&c).Elem().FieldByName("wrapped")
	if !f.IsValid() || f.Type() != reflect.TypeFor[workflow.Node]() {
		return n
	}
	inside := reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Interface().(*workflow.Node)
	*inside = &worker{Node: *inside, name: n.Name()}
	return &c
}
