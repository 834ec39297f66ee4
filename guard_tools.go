// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"

	"google.golang.org/adk/v2/tool"
)

// Protect returns the tool with the gate around it: each call needs an approval
// by a human and a check of the world that finds nothing changed, and what runs
// is exactly what was approved. Every tool of that name is guarded from then on. A
// tool that does not ask for a confirmation by itself is asked for. Where nobody can be
// asked the call is denied: in a live session, in a tool node of a workflow, in an agent
// that runs as a tool. A streaming tool stays one; its permit is used up before its
// first chunk.
func (in *Instance) Protect(t tool.Tool) tool.Tool { return in.gate.Protect(t) }

// ProtectToolset returns the toolset with each of its tools as [Instance.Protect] returns
// it: those it has now and those it will have, in the same order and under the same
// names. A filter, or tool.WithConfirmation, belongs inside of it.
//
// ADK appends the tools of an agent's toolsets to its Config.Tools in every run. Where
// that slice has room behind its end, runs that go on at the same time write to one array:
// give an agent that has both slices.Clip(tools).
func (in *Instance) ProtectToolset(ts tool.Toolset) tool.Toolset { return in.gate.ProtectToolset(ts) }

// CheckTools looks for tools that would run without the gate although the configuration
// or the program puts them behind it: streaming tools that are only listed, tools of an
// agent that runs as a tool without [Instance.AgentTool], a tool of the same name as a
// protected one. It also finds the entries of guard.tools that stand for none of the
// tools, so hand it those of all agents, with their toolsets, which it asks for their
// tools. It is meant for the start of a program and for tests; the tools of each model
// request are looked at anyway.
//
// With guard.unguarded: warn, each finding is logged once and counted, and the error is
// nil. With error it joins an UnguardedError of package gate for each.
func (in *Instance) CheckTools(ctx context.Context, tools []tool.Tool, toolsets ...tool.Toolset) error {
	return in.gate.CheckTools(ctx, tools, toolsets...)
}
