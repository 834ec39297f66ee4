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

// Replayable registers a tool that a check may call again, for entity types whose checker
// is replay (checkers[].replay): the tool is called with the arguments of the recorded
// call, what it gives is read by the same rules, and the values are compared. It returns
// t, which is given to agents as it is.
//
// Registering a tool is a promise about it. It only reads. It reads what is there now:
// an answer out of a cache would pass for the present. Its answer follows from its
// arguments, the user and the state of the session. And it can be called by several
// goroutines at once.
//
// A repeated call is no step of the agent: no model and no callback sees it, and it is
// recorded with the check alone. A tool that tries to change the state of the session, to
// save an artifact, to ask for a confirmation or to transfer to another agent fails the
// check. Outside of runs, as in Check, there is no state of a session; a tool that reads
// it fails there.
//
// The error says why a tool cannot be registered: it is guarded, it is long-running, it
// runs an agent, or nothing in this process runs it.
func (in *Instance) Replayable(t tool.Tool) (tool.Tool, error) { return in.gate.Replayable(t) }
