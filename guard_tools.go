// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// Protect returns the tool with the gate around it. Each call needs an approval by a human and a
// check of the world that finds nothing changed, and runs with exactly the approved arguments.
// Every tool of that name is guarded from then on. If the tool does not ask for a confirmation, the
// gate asks in its place. A call is denied where nobody can be asked: in a live session, in a tool
// node of a workflow, in an agent that runs as a tool. A streaming tool stays one; its permit is
// consumed before its first chunk.
func (in *Instance) Protect(t tool.Tool) tool.Tool { return in.gate.Protect(t) }

// ProtectToolset returns the toolset with each of its tools as [Instance.Protect] returns
// it: those it has now and those it will have, in the same order and under the same
// names. A filter, or tool.WithConfirmation, belongs inside of it.
//
// ADK appends the tools of an agent's toolsets to its Config.Tools in every run. Where
// that slice has room behind its end, runs that go on at the same time write to one array:
// give an agent that has both slices.Clip(tools).
func (in *Instance) ProtectToolset(ts tool.Toolset) tool.Toolset { return in.gate.ProtectToolset(ts) }

// CheckTools finds tools that should be guarded, by the configuration or by the program, and that
// would run without the gate. Examples are a streaming tool that is only listed, a tool of an agent
// that runs as a tool without [Instance.AgentTool], and a tool with the name of a protected one. It
// also finds names of tools in guard.tools, in rules and in checkers that no tool has, and paths of
// conditions to arguments that a tool does not declare, so give it the tools and toolsets of all agents. Call it at the start of a program and in tests; the tools of
// the agents that run are looked at anyway. A program with several runners should call it: agents
// that have not run are not known otherwise.
//
// With guard.unguarded: warn, each finding is logged once and counted, and the error is nil. With
// error it joins an UnguardedError or an UnknownNameError of package gate for each.
func (in *Instance) CheckTools(ctx context.Context, tools []tool.Tool, toolsets ...tool.Toolset) error {
	return in.gate.CheckTools(ctx, tools, toolsets...)
}

// Replayable registers a tool that a check may call again, for entity types with the checker replay
// (checkers[].replay), and to see whether others have appeared beside what its results showed. The
// check calls the tool with the arguments of the recorded call, reads the result by the same rules,
// and compares the values and the names. Replayable returns t, which is given to agents as it is.
//
// Registering a tool is a promise about it. It only reads. It reads the present state: an answer
// out of a cache would pass for the present. Its answer follows from its arguments, the user and
// the state of the session. Several goroutines can call it at once.
//
// A repeated call is no step of the agent: no model and no callback sees it, and it is recorded
// with the check alone. A tool that tries to change the state of the session, to save an artifact,
// to ask for a confirmation or to transfer to another agent fails the check. Outside of runs, as in
// Check, there is no state of a session; a tool that reads it fails there.
//
// The error says why a tool cannot be registered: it is guarded, it is long-running, it runs an
// agent, or nothing in this process runs it.
func (in *Instance) Replayable(t tool.Tool) (tool.Tool, error) { return in.gate.Replayable(t) }

// named returns the names of tools in rules and in checkers that repeat calls.
func named(c Config) (names []gate.Named) {
	for _, e := range c.Extract {
		if e.Tool != "" {
			names = append(names, gate.Named{Key: fmt.Sprintf("rule %q", e.Name), Tool: e.Tool, Without: "the rule finds nothing"})
		}
	}
	for _, k := range c.Checkers {
		if k.Replay != nil && k.Replay.Tool != "" {
			names = append(names, gate.Named{Key: fmt.Sprintf("the checker of %q", k.Type), Tool: k.Replay.Tool, Without: "no call is repeated"})
		}
	}
	return names
}

// readings returns the paths of conditions into the arguments of the tools whose calls name things of the type.
func readings(c Config) (out []gate.Reading) {
	for _, e := range c.Extract {
		if e.In != config.InAction || e.Tool == "" {
			continue
		}
		drift := c.Guard.Types[e.Type].Drift
		for _, name := range slices.Sorted(maps.Keys(drift)) {
			d := drift[name]
			for _, o := range d.Operands() {
				if path, is := o.Path(); is {
					key := config.Entry(config.Entry("guard.types", e.Type)+".drift", name) + "." + o.Key
					out = append(out, gate.Reading{Key: key, Tool: e.Tool, Node: e.Each, Path: path})
				}
			}
		}
	}
	return out
}
