// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect

import (
	"reflect"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"
)

// Part is an agent, or something that an agent has: a tool, a toolset or a node of a workflow.
type Part struct {
	// Agent is the agent itself where the part has nothing else.
	Agent   agent.Agent
	Tool    tool.Tool
	Toolset tool.Toolset
	// Node is a node of a workflow. Its Tool is the tool that it runs, if it runs one.
	Node workflow.Node
	// Within is the tool of ADK's agenttool that runs the agent, in a runner without plugins. It is
	// nil for an agent of the runner itself, and for one that runs as an [AgentRunner].
	Within tool.Tool
}

// Parts returns the agent, the agents below it, those of its workflow nodes and those that run as
// tools, each once, with the tools, toolsets and nodes of each. It does not ask toolsets for their
// tools, and it cannot see inside of nodes and agents that the host programmed.
func Parts(a agent.Agent) []Part {
	var w walk
	w.agent(a, nil)
	return w.parts
}

// ToolParts returns the tool, and the parts of the agent that it runs, if it runs one.
func ToolParts(t tool.Tool) []Part {
	var w walk
	w.tool(Part{Tool: t})
	return w.parts
}

// depth bounds a walk through agents that are not compared by address.
const depth = 64

type walk struct {
	parts []Part
	seen  map[met]bool
	level int
}

// met is an agent or a node that the walk met, and whether it runs without plugins there.
type met struct {
	part   any
	within bool
}

// first reports whether v was not met before.
func (w *walk) first(v any, within tool.Tool) bool {
	if v == nil {
		return false
	}
	if reflect.TypeOf(v).Kind() != reflect.Pointer {
		return true
	}
	m := met{v, within != nil}
	if w.seen[m] {
		return false
	}
	if w.seen == nil {
		w.seen = make(map[met]bool)
	}
	w.seen[m] = true
	return true
}

func (w *walk) agent(a agent.Agent, within tool.Tool) {
	if !w.first(a, within) || w.level == depth {
		return
	}
	w.level++
	defer func() { w.level-- }()
	w.parts = append(w.parts, Part{Agent: a, Within: within})
	v := pointee(reflect.ValueOf(a))
	for range 8 { // an agent of the host's own embeds one of ADK's
		for _, t := range valueIn[[]tool.Tool](v, "Tools") {
			w.tool(Part{Agent: a, Tool: t, Within: within})
		}
		for _, ts := range valueIn[[]tool.Toolset](v, "Toolsets") {
			if ts != nil {
				w.parts = append(w.parts, Part{Agent: a, Toolset: ts, Within: within})
			}
		}
		for _, e := range valueIn[workflowagent.Config](v, "Config").Edges {
			w.node(a, e.From, within)
			w.node(a, e.To, within)
		}
		v = pointee(fieldOf(v, "Agent"))
	}
	for _, b := range a.SubAgents() {
		w.agent(b, within)
	}
}

// tool adds a tool, and the parts of the agent that it runs.
func (w *walk) tool(p Part) {
	if p.Tool == nil {
		return
	}
	w.parts = append(w.parts, p)
	inner := p.Tool
	if wrapper, ok := inner.(Wrapper); ok {
		inner = wrapper.WrappedTool()
	}
	if r, ok := inner.(AgentRunner); ok {
		w.agent(r.RunsAgent(), p.Within)
		return
	}
	if a := AgentOf(inner); a != nil {
		within := p.Within
		if within == nil {
			within = inner
		}
		w.agent(a, within)
	}
}

// node adds a node of a workflow, and the nodes and the agent inside of it.
func (w *walk) node(of agent.Agent, n workflow.Node, within tool.Tool) {
	if n == workflow.Start || !w.first(n, within) || w.level == depth {
		return
	}
	w.level++
	defer func() { w.level-- }()
	p := Part{Agent: of, Node: n, Within: within}
	v := pointee(reflect.ValueOf(n))
	switch n.(type) {
	case *workflow.ToolNode:
		p.Tool, _ = interfaceIn(fieldOf(v, "tool")).(tool.Tool)
		if p.Tool == nil {
			break
		}
		w.tool(p)
		return
	case *workflow.AgentNode:
		a, _ := interfaceIn(fieldOf(v, "agent")).(agent.Agent)
		w.parts = append(w.parts, p)
		w.agent(a, within)
		return
	case *workflow.ParallelWorker:
		w.parts = append(w.parts, p)
		inner, _ := interfaceIn(fieldOf(v, "wrapped")).(workflow.Node)
		w.node(of, inner, within)
		return
	case *workflow.WorkflowNode:
		w.parts = append(w.parts, p)
		graph := pointee(fieldOf(pointee(fieldOf(v, "subWorkflow")), "graph"))
		for _, side := range []string{"successors", "predecessors"} {
			nodes := fieldOf(graph, side)
			if nodes.Kind() != reflect.Map {
				continue
			}
			for _, k := range nodes.MapKeys() {
				inner, _ := interfaceIn(k).(workflow.Node)
				w.node(of, inner, within)
			}
		}
		return
	}
	w.parts = append(w.parts, p)
}

// interfaceIn returns the value of an interface, also if it was read from a field that is not
// exported. It returns nil for anything but a pointer in an interface.
func interfaceIn(v reflect.Value) any {
	if v.Kind() != reflect.Interface {
		return nil
	}
	if v = v.Elem(); v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	return exported(v)
}
