// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/workflow"
)

// Start is where a run begins: the source of the first edge.
const Start = "START"

// A Graph is nodes and edges with conditions. One node runs at a time; [Graph.Parallel] is one that runs others. Build it by [Graph.Node], [Graph.Edge] and
// [Graph.End]; [Graph.Agent] tells all mistakes.
type Graph struct {
	name     string
	max      int
	nodes    []*node
	edges    []*edge
	ends     []string
	before   []string // nodes before which a run pauses
	after    []string
	hook     func(agent.Context, Moment) error
	mu       sync.Mutex
	posted   map[sessionKey]bool // whose run pauses
	mistakes []error
}

// An Option changes a [Graph].
type Option func(*Graph)

// defaultMax is the number of iterations of a graph that names none.
const defaultMax = 100

// MaxIterations bounds how many nodes one run runs, counted over all answers. Default: 100.
func MaxIterations(n int) Option { return func(g *Graph) { g.max = n } }

// New returns a graph without nodes.
func New(name string, opts ...Option) *Graph {
	g := &Graph{name: name, max: defaultMax}
	for _, opt := range opts {
		opt(g)
	}
	if g.max < 1 {
		g.wrong("MaxIterations is %d; a run needs at least one", g.max)
	}
	return g
}

// wrong notes a mistake.
func (g *Graph) wrong(format string, args ...any) {
	g.mistakes = append(g.mistakes, fmt.Errorf(format, args...))
}

// A NodeOption changes a node of a graph.
type NodeOption func(*nodeOptions)

type nodeOptions struct {
	into       string
	reduce     Reducer
	mapper     func(output any, s State) map[string]any
	idempotent bool
}

// Into has the output stand under the key of the state, in the place of the node's name. A reducer says what becomes of
// the value that stands there; without one the output takes its place.
func Into(key string, reduce ...Reducer) NodeOption {
	return func(o *nodeOptions) {
		o.into = key
		for _, r := range reduce {
			o.reduce = r
		}
	}
}

// Map has a function say what the output writes to the state, in the place of the node's name or [Into].
func Map(f func(output any, s State) map[string]any) NodeOption {
	return func(o *nodeOptions) { o.mapper = f }
}

// Idempotent says that the node may run again after a crash: see [Continue].
func Idempotent() NodeOption { return func(o *nodeOptions) { o.idempotent = true } }

// FuncNode returns a node that the function is. Its output is what the function returns, or an event of ADK.
func FuncNode[In, Out any](f func(agent.Context, In) (Out, error)) workflow.Node {
	if f == nil {
		return broken("", errors.New("FuncNode has no function"))
	}
	return workflow.NewFunctionNode("", f, workflow.NodeConfig{})
}

// Node adds a node: that of [AgentNode], [ToolNode], [FuncNode] or [Nested], or any other of ADK.
func (g *Graph) Node(name string, n workflow.Node, opts ...NodeOption) {
	x := &node{Node: n, name: name, graph: g}
	for _, opt := range opts {
		opt(&x.nodeOptions)
	}
	switch {
	case name == "" || strings.ContainsAny(name, "/@."):
		g.wrong("the node name %q is empty or has one of / @ .", name)
	case name == Start:
		g.wrong("no node can be named %s", Start)
	case g.node(name) != nil:
		g.wrong("two nodes are named %q", name)
	}
	switch n := n.(type) {
	case nil:
		g.wrong("the node %q is nil", name)
		return
	case interface{ mistake() error }:
		g.wrong("the node %q: %w", name, n.mistake())
	case *workflow.JoinNode:
		g.wrong("the node %q is a join, but a graph runs one node at a time", name)
	}
	x.Node = guarded(n)
	g.nodes = append(g.nodes, x)
}

// node returns the node of a name, nil for none.
func (g *Graph) node(name string) *node {
	for _, n := range g.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// End says that a run may end at the nodes though they have edges: it ends if none holds. A node without edges needs
// no End.
func (g *Graph) End(nodes ...string) { g.ends = append(g.ends, nodes...) }

// An edge leads from one node to another.
type edge struct {
	from, to string
	name     string // of the condition; "" for the fallback
	when     func(State) bool
	refused  bool
	why      string // of the refusal; "" for any
	failure  bool
	atCap    bool
	priority int
	weight   float64
	given    int      // how many conditions
	routes   []string // to the node, made once for all events
	boxed    [2]any   // to and name, the same
}

// String names the condition.
func (e *edge) String() string {
	return fmt.Sprintf("the condition %q of the edge %q → %q", e.name, e.from, e.to)
}

// An EdgeOption says when an edge holds.
type EdgeOption func(*edge)

// When has the edge hold if the function says so. The name stands in the record. The function only reads; that it
// panics is an error with its name.
func When(name string, holds func(State) bool) EdgeOption {
	return func(e *edge) { e.name, e.when, e.given = cmp.Or(name, noName), holds, e.given+1 }
}

const noName = "?"

// Refused has the edge hold if a guarded call of the node was rejected or blocked. No other edge of the node holds
// then. An edge back to the node that reads repairs the plan.
func Refused(e *edge) { e.name, e.refused, e.given = "refused", true, e.given+1 }

// RefusedFor is [Refused] for one reason: "rejected", or one that contextgraph gives, such as "drift".
func RefusedFor(reason string) EdgeOption {
	return func(e *edge) { e.name, e.refused, e.why, e.given = "refused for "+reason, true, reason, e.given+1 }
}

// AtCap has the edge hold only if no iterations are left. The nodes behind it have as many again, once.
func AtCap() EdgeOption {
	return func(e *edge) { e.name, e.atCap, e.given = "at cap", true, e.given+1 }
}

// OnFailure has the edge hold if the node failed, after the last try of its RetryConfig. No other edge of the node holds
// then. Its output is a map with the text of the error under "error".
func OnFailure() EdgeOption {
	return func(e *edge) { e.name, e.failure, e.given = "failure", true, e.given+1 }
}

// Priority has the edge looked at before those of the node that have a smaller one. Default: 0.
func Priority(p int) EdgeOption { return func(e *edge) { e.priority = p } }

// Weight has a draw decide: if the first edge that holds has a weight, among all that hold and have a weight and the
// same priority. The draw and its seed, which follows from the run and the step, stand in the event.
func Weight(w float64) EdgeOption {
	return func(e *edge) {
		if e.weight = w; !(w > 0) {
			e.weight = -1
		}
	}
}

// Edge adds an edge. The edges of a node are looked at in the order of their declaration, and the first that holds is
// taken; [Priority] and [Weight] change that. An edge without a condition is the fallback and comes last. The first edge
// of a graph is from [Start].
func (g *Graph) Edge(from, to string, opts ...EdgeOption) {
	e := &edge{from: from, to: to}
	for _, opt := range opts {
		opt(e)
	}
	switch {
	case e.weight < 0:
		g.wrong("the weight of the edge %q → %q is not positive", from, to)
	case e.given > 1:
		g.wrong("the edge %q → %q has more than one condition; write one When", from, to)
	case e.name == noName:
		g.wrong("%s has no name", e)
	case e.name != "" && !e.atCap && !e.refused && !e.failure && e.when == nil:
		g.wrong("%s has no function", e)
	case e.weight > 0 && e.name == "":
		e.name = fmt.Sprintf("weight %v", e.weight)
	}
	g.edges = append(g.edges, e)
}

// Agent returns the agent that runs the graph. The error tells all mistakes of the graph; errors.Is finds
// [ErrMistake] in it.
func (g *Graph) Agent() (agent.Agent, error) {
	e, err := g.engine()
	if err != nil {
		return nil, err
	}
	return e.agent(agent.Config{Name: g.name, Description: "The graph " + g.name})
}

// engine checks the graph and returns its engine.
func (g *Graph) engine() (*engine, error) {
	if errs := append(slices.Clone(g.mistakes), g.check()...); len(errs) > 0 {
		return nil, fmt.Errorf("%w %q: %w", ErrMistake, g.name, errors.Join(errs...))
	}
	e := &engine{name: g.name, graph: g, nodes: make(map[string]workflow.Node)}
	var names, list []any
	groups := make(map[string]any)
	for _, n := range g.nodes {
		n.end = slices.Contains(g.ends, n.name)
		n.edges = nil
		names = append(names, n.name)
		if x, ok := n.Node.(*group); ok && len(x.names) > 0 {
			groups[n.name] = x.names
		}
		if !n.member {
			e.nodes[n.name] = n
		}
	}
	pairs := make(map[[2]string]bool)
	for _, x := range g.ordered() {
		list = append(list, map[string]any{"from": x.from, "to": x.to, "name": x.name})
		from, route := workflow.Start, workflow.Route(nil)
		if x.from != Start {
			n := g.node(x.from)
			n.edges = append(n.edges, x)
			x.routes, x.boxed = []string{x.to}, [2]any{x.to, x.name}
			from, route = n, workflow.StringRoute(x.to)
		}
		if !pairs[[2]string{x.from, x.to}] {
			pairs[[2]string{x.from, x.to}] = true
			e.edges = append(e.edges, workflow.Edge{From: from, To: e.nodes[x.to], Route: route})
		}
	}
	describe := map[string]any{"name": g.name, "nodes": names, "edges": list}
	if len(groups) > 0 {
		describe["groups"] = groups
	}
	e.describe = describe
	var err error
	if e.workflow, err = workflow.New(g.name, e.edges); err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrMistake, g.name, err)
	}
	return e, nil
}

// ordered returns the edges in the order in which they are looked at.
func (g *Graph) ordered() []*edge {
	return slices.SortedStableFunc(slices.Values(g.edges), func(a, b *edge) int { return cmp.Compare(b.priority, a.priority) })
}

// check returns the mistakes that show when the graph is whole.
func (g *Graph) check() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if g.name == "" || g.name == "user" || strings.ContainsAny(g.name, "/@.") {
		wrong("the graph name %q is empty, user, or has one of / @ .", g.name)
	}
	if g.node(g.name) != nil {
		wrong("the node %q has the name of its graph", g.name)
	}
	for _, end := range g.ends {
		if g.node(end) == nil {
			wrong("End names the node %q, which there is not", end)
		}
	}
	for _, name := range slices.Concat(g.before, g.after) {
		if g.node(name) == nil {
			wrong("a pause names the node %q, which there is not", name)
		}
	}
	g.checkGroups(wrong)
	starts := 0
	fallback := make(map[string]string)
	for _, e := range g.ordered() {
		switch {
		case e.from == Start && e.name != "":
			wrong("the edge from %s has a condition; begin at one node and branch behind it", Start)
		case e.from != Start && g.node(e.from) == nil:
			wrong("the edge %q → %q begins at a node that there is not", e.from, e.to)
		}
		switch {
		case e.to == Start:
			wrong("the edge from %q leads to %s", e.from, Start)
		case g.node(e.to) == nil:
			wrong("the edge %q → %q leads to a node that there is not", e.from, e.to)
		}
		if e.from == Start {
			starts++
			continue
		}
		if to, behind := fallback[e.from]; behind && !e.atCap && !e.refused && !e.failure {
			wrong("the edge %q → %q stands behind the fallback to %q and is never taken", e.from, e.to, to)
		}
		if e.name == "" {
			fallback[e.from] = e.to
		}
	}
	for _, n := range g.nodes {
		if !n.member && !slices.ContainsFunc(g.edges, func(e *edge) bool { return e.to == n.name }) {
			wrong("nothing leads to the node %q", n.name)
		}
	}
	if starts != 1 {
		wrong("%d edges begin at %s; a graph begins at one node", starts, Start)
	}
	return errs
}
