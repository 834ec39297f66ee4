// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

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
	edges  []*edge
	end    bool
	member bool // of a group
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
		if n.graph != nil && !n.begin(ctx, yield) {
			return
		}
		if out, ok := ctx.ResumedInput(given); ok {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Output = out
			n.finish(ctx, ev, yield)
			return
		}
		for failures := 1; ; failures++ {
			err := n.once(ctx, input, yield)
			if err == nil {
				return
			}
			retry := n.Node.Config().RetryConfig
			if n.graph == nil || waits(err) || !workflow.ShouldRetry(retry, err, failures) || !sleep(ctx, workflow.CalculateDelay(retry, failures)) {
				n.fail(ctx, err, yield)
				return
			}
		}
	}
}

// sleep waits. It returns false if the run ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// fail ends the node with an error: over an edge for that, or the run ends.
func (n *node) fail(ctx agent.Context, err error, yield func(*session.Event, error) bool) {
	if n.graph != nil && !waits(err) {
		err = fmt.Errorf("flow: node %q: %w", n.name, err)
		if ctx.Err() == nil && slices.ContainsFunc(n.edges, func(e *edge) bool { return e.failure }) {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Output = map[string]any{"error": err.Error()}
			note(ev, keyFailed, err.Error())
			n.leave(ctx, ev, yield)
			return
		}
	}
	yield(nil, err)
}

// Config implements [workflow.Node]. A node of a graph repeats itself, for what failed may have an edge.
func (n *node) Config() workflow.NodeConfig {
	c := n.Node.Config()
	if n.graph != nil {
		c.RetryConfig, c.Timeout = nil, 0
	}
	return c
}

// once runs the node and returns the error with which it failed.
func (n *node) once(ctx agent.Context, input any, yield func(*session.Event, error) bool) error {
	unfit := cannotAsk(n.Node, n.name)
	inner, stop := ctx, context.CancelFunc(func() {})
	if d := n.Node.Config().Timeout; d > 0 && n.graph != nil {
		inner, stop = ctx.WithAgentTimeout(d)
	} else if unfit != nil {
		inner, stop = ctx.WithAgentCancel()
	}
	defer stop()
	var is struct{ asked, ended, over, failed bool } // one variable: the loop moves each to the heap
	for ev, err := range n.Node.Run(inner, input) {
		switch {
		case is.over || ev == nil && err == nil: // ADK's nodes that emit panic where they are broken off
		case err != nil && is.ended:
			yield(nil, err)
			return nil
		case err != nil:
			return err
		case unfit != nil && len(ev.LongRunningToolIDs) > 0:
			is.over, is.failed = true, true
			stop()
		case ev.Partial || !ends(ctx, ev):
			is.asked = is.asked || len(ev.LongRunningToolIDs) > 0
			if n.graph != nil && pathOf(ev) == "" {
				ev.Routes = nil // the step has the route
			}
			is.over = !yield(ev, nil)
		case is.asked:
			ev.Output = nil // a node that asks has not ended
			is.over = !yield(ev, nil)
		default:
			is.ended = true
			is.over = !n.finish(ctx, ev, yield)
		}
	}
	switch {
	case is.failed:
		yield(nil, unfit)
	case !is.asked && !is.ended && !is.over && inner.Err() != nil:
		return inner.Err()
	case !is.asked && !is.ended && !is.over:
		n.finish(ctx, session.NewEvent(ctx, ctx.InvocationID()), yield)
	}
	return nil
}

// ends says whether an event ends the node itself.
func ends(ctx agent.Context, ev *session.Event) bool {
	return isEnd(ev) && (ev.NodeInfo == nil || ev.NodeInfo.Path == "" || ev.NodeInfo.Path == ctx.Path())
}

// leave ends the node with an event. It returns false if nothing may follow.
func (n *node) leave(ctx agent.Context, ev *session.Event, yield func(*session.Event, error) bool) bool {
	if g, ok := n.Node.(*group); ok {
		g.withdraw(ctx, ev)
	}
	var err error
	why := noted(ev, keyRefused)
	if n.member {
		if err = n.validate(ev); err == nil && why != "" {
			err = n.refusal(why)
		}
	} else if n.graph != nil {
		err = n.step(ctx, ev)
	} else if why != "" {
		ev.Output = nil // it has not ended: nothing behind it may run, also after Continue
		delete(meta(ev), keyDone)
		err = n.refusal(why)
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

// refusal is the error of a node whose call was refused.
func (n *node) refusal(why string) error {
	return fmt.Errorf("%w: node %q: %s", ErrRefused, n.name, why)
}

// validate has the event carry the output of the node as it has to be.
func (n *node) validate(ev *session.Event) error {
	out, _ := outputOf(ev)
	out, err := n.Node.ValidateOutput(out)
	if err != nil {
		return fmt.Errorf("flow: the output of the node %q: %w", n.name, err)
	}
	if ev.Output = out; out == nil {
		note(ev, keyDone, true)
	}
	return nil
}

// waits says whether an error is that of a node that waits for an answer.
func waits(err error) bool {
	return errors.Is(err, workflow.ErrNodeInterrupted) || errors.Is(err, workflow.ErrNodeWaitingForOutput)
}

// takesEach says whether a node goes on with each answer, and does not wait for those to its other questions.
func takesEach(n workflow.Node) bool {
	w, ok := n.(*node)
	if !ok {
		return false
	}
	switch w.Node.(type) {
	case *agentNode, *nested, *group:
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
