// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"reflect"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/plugin"
)

// admitTools refuses a run if its agents have a tool that the gate should guard and cannot, and if
// the session has anything that the run may resume. ADK goes by the session, which clients can
// write: it runs tools and gives tasks before it makes a model request.
func (g *Gate) admitTools(ctx agent.InvocationContext) (err error) {
	s := ctx.Session()
	if !g.refuseUnguarded || s == nil || s.Events() == nil || s.Events().Len() < 2 {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			g.panics.Add(1)
			err = fmt.Errorf("contextgraph: the tools of the run could not be checked: %v", p)
		}
	}()
	msg := ctx.UserContent()
	w := toolWalk{gate: g, seen: make(map[agent.Agent]bool)}
	// Toolsets may be far away. Only what answers a request makes ADK run one of their tools.
	w.agent(ctx, ctx.Agent(), msg == nil || len(plugin.Responses(msg)) > 0)
	return g.report(w.found)
}

// toolWalk looks for unguarded tools in the configuration of agents.
type toolWalk struct {
	gate  *Gate
	seen  map[agent.Agent]bool
	found []*UnguardedError
}

// agent looks at the tools of an LLM agent and of the agents below it.
func (w *toolWalk) agent(ctx agent.InvocationContext, a agent.Agent, toolsets bool) {
	if a == nil || reflect.TypeOf(a).Kind() != reflect.Pointer || w.seen[a] {
		return
	}
	w.seen[a] = true
	of := agentNamed(a.Name())
	for _, t := range adkreflect.Configured[[]tool.Tool](a, "Tools") {
		if t != nil {
			w.found = w.gate.holes(w.found, of, t.Name(), t)
		}
	}
	if toolsets {
		for _, ts := range adkreflect.Configured[[]tool.Toolset](a, "Toolsets") {
			w.toolset(ctx, of, ts)
		}
	}
	for _, b := range a.SubAgents() {
		w.agent(ctx, b, toolsets)
	}
}

func (w *toolWalk) toolset(ctx agent.InvocationContext, of agentNamed, ts tool.Toolset) {
	if ts == nil {
		return
	}
	tools, err := list(ctx, ts)
	if err != nil {
		w.found = append(w.found, unlisted(ts, string(of), err))
	}
	for _, t := range tools {
		if t != nil {
			w.found = w.gate.holes(w.found, of, t.Name(), t)
		}
	}
}
