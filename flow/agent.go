// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// Agent returns an agent that runs a workflow as workflowagent.New does, and goes on rightly after an answer:
//
//   - A join behind a node that asked runs as soon as all of its nodes have ended, in whatever turn.
//   - A question is answered once: another answer is [ErrAnswered], and nothing runs. An open question is not asked
//     again, and a message that answers nothing is told what the flow waits for. [Cancel] ends the run.
//   - It works below an LLM agent too, at any depth, in another process, with a new graph of the same names.
//
// A node of ADK that cannot go on where it asked ends the run with [ErrStockNode]: in the place of
// workflow.NewAgentNode use [AgentNode], of workflow.NewToolNode [ToolNode], of workflow.NewWorkflowNode
// [WorkflowNode].
func Agent(cfg workflowagent.Config) (agent.Agent, error) {
	e, err := newEngine(cfg.Name, cfg.Edges)
	if err != nil {
		return nil, err
	}
	return e.agent(agent.Config{
		Name: cfg.Name, Description: cfg.Description, SubAgents: cfg.SubAgents,
		BeforeAgentCallbacks: cfg.BeforeAgentCallbacks, AfterAgentCallbacks: cfg.AfterAgentCallbacks,
	})
}

// WorkflowNode returns a node that runs a workflow inside of another one. In a [Graph], use [Nested].
func WorkflowNode(name string, edges []workflow.Edge) (workflow.Node, error) {
	e, err := newEngine(name, edges)
	if err != nil {
		return nil, err
	}
	return newNested(e), nil
}

// An engine runs one workflow at one level.
type engine struct {
	name     string
	workflow *workflow.Workflow
	nodes    map[string]workflow.Node
	edges    []workflow.Edge
	graph    *Graph // nil for a workflow
	describe any
}

// newEngine returns the engine of a workflow of ADK.
func newEngine(name string, edges []workflow.Edge) (*engine, error) {
	// The nodes as they are first: ADK looks at their types.
	if _, err := workflow.New(name, edges); err != nil {
		return nil, err
	}
	e := &engine{name: name, nodes: make(map[string]workflow.Node)}
	var list []any
	wrap := func(n workflow.Node) (workflow.Node, error) {
		if _, join := n.(*workflow.JoinNode); join || n == workflow.Start {
			return n, nil
		}
		if b, ok := n.(interface{ mistake() error }); ok && b.mistake() != nil {
			return nil, fmt.Errorf("%w: node %q: %w", ErrMistake, n.Name(), b.mistake())
		}
		if e.nodes[n.Name()] == nil {
			e.nodes[n.Name()] = &node{Node: guarded(n), name: n.Name()}
		}
		return e.nodes[n.Name()], nil
	}
	for _, edge := range edges {
		from, err := wrap(edge.From)
		to, err2 := wrap(edge.To)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		e.nodes[to.Name()] = to
		e.edges = append(e.edges, workflow.Edge{From: from, To: to, Route: edge.Route})
		list = append(list, map[string]any{"from": from.Name(), "to": to.Name(), "name": routeName(edge.Route)})
	}
	e.describe = map[string]any{"name": name, "edges": list}
	w, err := workflow.New(name, e.edges)
	e.workflow = w
	return e, err
}

// routeName returns the values of a route as the record of a run has them, "" for none.
func routeName(r workflow.Route) string {
	switch r {
	case nil:
		return ""
	case workflow.Default:
		return "default"
	}
	return strings.Trim(fmt.Sprint(r), "[]")
}

// path is that of the workflow where it is the outermost one.
func (e *engine) path() string { return e.name + "@1" }

// agent returns the agent that runs the workflow.
func (e *engine) agent(cfg agent.Config) (agent.Agent, error) {
	cfg.Run = func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { e.serve(ctx, yield) }
	}
	return agent.New(cfg)
}

// serve runs a message to the agent.
func (e *engine) serve(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
	if turnOf(ctx) != nil {
		yield(nil, fmt.Errorf("flow: %q runs in a node of another flow; use Nested or WorkflowNode there", e.name))
		return
	}
	t, told, err := e.begin(ctx)
	if told != nil || err != nil {
		yield(told, err)
		return
	}
	for ev, err := range e.run(at(agent.Promote(ctx), t, e.path()), t, t.input) {
		if err == nil {
			ev = t.stamp(ev, e.name)
		}
		if !yield(ev, err) {
			return
		}
	}
}

// at returns the context of a level.
func at(c agent.Context, t *turn, path string) agent.Context {
	runID, scheduler, ancestors := "1", agent.DynamicSubScheduler(nil), []string{}
	delta := &agent.CommonContextDelta{Path: &path, RunID: &runID, SubScheduler: &scheduler, OutputForAncestors: &ancestors}
	return in(c.WithDelta(delta), turnKey{}, t)
}

// The ids under which a node is told what no person answered.
const (
	// continued tells a node that it goes on where it was cut off.
	continued = "flow.continued"
	// given is the output of a node that is not run.
	given = "flow.given"
)

// run runs a level: from the start, or from where its nodes wait. The path of the context is that of the level.
func (e *engine) run(ctx agent.Context, t *turn, input any) iter.Seq2[*session.Event, error] {
	_, goesOn := ctx.ResumedInput(continued)
	goesOn = goesOn || t.cont != nil && ctx.Path() == e.path()
	answered := goesOn || len(t.answers) > 0 && ctx.Path() == e.path()
	for id := range t.answers {
		_, ok := ctx.ResumedInput(id)
		answered = answered || ok
	}
	if !answered {
		return e.workflow.RunNode(e.enter(ctx, &level{}, input), input)
	}
	return func(yield func(*session.Event, error) bool) {
		lv := t.read(ctx.Path())
		state, ready, err := e.state(t, lv, input)
		if err == nil && goesOn {
			ready, err = e.goOn(t, lv, state, input)
			if err == nil && !ready && ctx.Path() == e.path() {
				err = fmt.Errorf("%w: the last run of %q has ended, or waits for an answer", ErrNothingToContinue, e.name)
			}
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if !ready {
			return // the others that are asked have to answer too
		}
		responses := maps.Clone(t.answers)
		responses[continued] = true
		for ev, err := range e.workflow.Resume(e.enter(ctx, lv, input), state, responses) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// state returns the state of a level for ADK's scheduler, and whether a node is ready to go on with the answers.
func (e *engine) state(t *turn, lv *level, input any) (state *workflow.RunState, ready bool, err error) {
	state = workflow.NewRunState()
	for name, a := range lv.nodes {
		n, answered, open := e.nodes[name], a.answeredBy(t.answers), a.open()
		switch {
		case n == nil && answered:
			return nil, false, fmt.Errorf("%w: the answer is for the node %q, which %q no longer has", ErrChanged, name, e.name)
		case n == nil:
		case answered && (len(open) == 0 || takesEach(n)):
			e.pend(state, lv, name, input)
			ready = true
		case len(open) > 0:
			state.Nodes[name] = &workflow.NodeState{Status: workflow.NodeWaiting, Interrupts: open, Branch: a.branch}
		case a.at >= 0 && !a.begun:
			state.Nodes[name] = &workflow.NodeState{Status: workflow.NodeCompleted, Output: a.output, Branch: a.branch}
		}
	}
	return state, ready, nil
}

// pend has the scheduler run a node, with the answers to its questions.
func (e *engine) pend(state *workflow.RunState, lv *level, name string, input any) *workflow.NodeState {
	ns := &workflow.NodeState{Status: workflow.NodePending, ResumedInputs: make(map[string]any)}
	ns.Input, ns.TriggeredBy, ns.Branch = e.inputOf(lv, name, input)
	a := lv.nodes[name]
	if a != nil && a.branch != "" {
		ns.Branch = a.branch
	}
	if a != nil && len(a.asked) > 0 {
		ns.ResumedInputs = a.answers()
		if r := e.nodes[name].Config().RerunOnResume; r == nil || !*r {
			// It hands its answers over: one as it is, several by question.
			var handed any = a.answers()
			if len(ns.ResumedInputs) == 1 {
				handed = a.asked[0].value
			}
			ns.ResumedInputs[given] = handed
		}
	}
	state.Nodes[name] = ns
	return ns
}

// inputOf returns what a node was run with: the output of the node that ended last and leads to it.
func (e *engine) inputOf(lv *level, name string, input any) (value any, from, branch string) {
	if _, join := e.nodes[name].(*workflow.JoinNode); join {
		outputs := make(map[string]any)
		for _, edge := range e.edges {
			if a := lv.nodes[edge.From.Name()]; edge.To.Name() == name && a != nil {
				outputs[edge.From.Name()], from = a.output, edge.From.Name()
			}
		}
		return outputs, from, ""
	}
	value, from = input, workflow.Start.Name()
	last := -1
	for _, edge := range e.edges {
		a := lv.nodes[edge.From.Name()]
		if edge.To.Name() == name && a != nil && a.at > last && e.taken(a, edge) {
			last, value, from, branch = a.at, a.output, edge.From.Name(), a.branch
		}
	}
	return value, from, branch
}

// taken says whether a node that has ended leads over the edge.
func (e *engine) taken(a *activation, edge workflow.Edge) bool {
	matches := func(r workflow.Route) bool {
		return r != nil && r != workflow.Default && a.route != nil && r.Matches(a.route)
	}
	switch edge.Route {
	case nil:
		return true
	case workflow.Default:
		for _, other := range e.edges {
			if other.From == edge.From && matches(other.Route) {
				return false
			}
		}
		return true
	}
	return matches(edge.Route)
}
