// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
)

// newCall returns the record of a tool call that begins.
func (r *Run) newCall(ctx agent.Context, t tool.Tool, now time.Time) *Call {
	c := &Call{
		ID: ctx.FunctionCallID(), Name: t.Name(), Agent: ctx.AgentName(), Branch: ctx.Branch(),
		Parent: r.RootSpan, started: now, Tool: t,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun.Store(true)
	r.proceedLocked(c.Branch)
	if a := r.agentLocked(c.Agent, c.Branch); a != nil {
		c.Parent, a.active = a.id, true
	}
	return c
}

// startCall makes c the call that ctx belongs to. The key is the call's own
// EventActions: it belongs to one call of one run, where a call id is reused by a
// resumed run. It reports false when the run has ended meanwhile, which closed the
// calls it knew.
func (r *Run) startCall(ctx agent.Context, c *Call) bool {
	r.join(trace.SpanFromContext(ctx), c.Span)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over.Load() {
		return false
	}
	r.calls[ctx.Actions()] = c
	return true
}

func (r *Run) call(ctx agent.Context) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[ctx.Actions()]
}

func (r *Run) endCall(ctx agent.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, ctx.Actions())
}
