// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// A ContinueOption says what became of a node that is in doubt.
type ContinueOption func(*continuation)

type continuation struct {
	again map[string]bool
	done  map[string]any
	taken bool
}

type continueKey struct{}

// Again has [Continue] run the node again.
func Again(node string) ContinueOption { return func(c *continuation) { c.again[node] = true } }

// Done has [Continue] take the node as ended with the output. In a plain workflow only its edges without a route
// follow, for the output says no route.
func Done(node string, output any) ContinueOption {
	return func(c *continuation) { c.done[node] = output }
}

// Continue goes on with the last run of a flow that a crash or an error cut off, at the nodes that began and did not
// end. A node may have taken effect: unless it is [Idempotent], Continue ends with [ErrInDoubt] and its name, until
// the caller says [Again] or [Done]. If no run was cut off, or it waits for an answer, it ends with
// [ErrNothingToContinue].
//
// The root agent of the runner has to be the flow. Below an LLM agent there is no way to reach it: ADK gives a run
// without a message to the model.
func Continue(ctx context.Context, r *runner.Runner, userID, sessionID string, opts ...ContinueOption) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		c := &continuation{again: make(map[string]bool), done: make(map[string]any)}
		for _, opt := range opts {
			opt(c)
		}
		for ev, err := range r.Run(context.WithValue(ctx, continueKey{}, c), userID, sessionID, nil, agent.RunConfig{}) {
			if !yield(ev, err) {
				return
			}
		}
		if !c.taken {
			yield(nil, fmt.Errorf("%w: the root agent is no flow, or a plugin ended the run", ErrNothingToContinue))
		}
	}
}

// resume makes the turn one of the last run.
func (e *engine) resume(t *turn, p *past) error {
	switch {
	case p.last == "":
		return fmt.Errorf("%w: %q has not run in this session", ErrNothingToContinue, e.name)
	case p.cancelled[p.last]:
		return fmt.Errorf("%w: the last run is cancelled", ErrNothingToContinue)
	}
	t.goOn(p.last, p.inputs[p.last])
	return nil
}

// goOn adds the nodes that were cut off to the state of a level, and says whether there are any.
func (e *engine) goOn(t *turn, lv *level, state *workflow.RunState, input any) (ready bool, err error) {
	if n := len(lv.steps); n > 0 {
		if to := lv.steps[n-1].to; to != "" && e.nodes[to] == nil {
			return false, fmt.Errorf("%w: the run is at the node %q, which %q no longer has", ErrChanged, to, e.name)
		}
	}
	for name, n := range e.nodes {
		if a := lv.nodes[name]; !e.cutOff(lv, name) || a != nil && len(a.open()) > 0 {
			continue
		}
		ns := e.pend(state, lv, name, input)
		if err := t.proceed(n, ns.ResumedInputs); err != nil {
			return false, err
		}
		ready = true
	}
	return ready, nil
}

// proceed completes what a node is told that was cut off. It is an error if the node may have taken effect.
func (t *turn) proceed(n workflow.Node, inputs map[string]any) error {
	name := n.Name()
	inputs[continued] = true
	again := false
	if t.cont != nil {
		again = t.cont.again[name]
		if out, done := t.cont.done[name]; done {
			inputs[given] = out
		}
	}
	if _, known := inputs[given]; !known && !again && inDoubt(n) {
		return fmt.Errorf("%w: %q began and did not end; say flow.Again(%q) or flow.Done(%q, output)", ErrInDoubt, name, name, name)
	}
	return nil
}

// cutOff says whether something led to the node after it had ended last.
func (e *engine) cutOff(lv *level, name string) bool {
	if n := len(lv.steps); e.graph != nil && n > 0 {
		return lv.steps[n-1].to == name
	}
	at, latest := -1, -1
	if a := lv.nodes[name]; a != nil {
		at = a.at
	}
	_, join := e.nodes[name].(*workflow.JoinNode)
	for _, edge := range e.edges {
		if edge.To.Name() != name {
			continue
		}
		if edge.From == workflow.Start {
			if at < 0 {
				return true
			}
			continue
		}
		a := lv.nodes[edge.From.Name()]
		led := a != nil && a.at >= 0 && e.taken(a, edge)
		if join && !led {
			return false
		}
		if led && edge.From.Name() == name {
			return true // it leads to itself
		}
		if led {
			latest = max(latest, a.at)
		}
	}
	return latest > at
}

// inDoubt says whether a node that was cut off may not simply be run again.
func inDoubt(n workflow.Node) bool {
	w, ok := n.(*node)
	if !ok || w.idempotent {
		return false
	}
	switch w.Node.(type) {
	case *nested, *group: // they look at their own nodes
		return false
	}
	return true
}
