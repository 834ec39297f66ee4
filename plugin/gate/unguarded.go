// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
)

// UnguardedError names a tool that the gate is meant to guard and cannot.
type UnguardedError struct {
	// Tool is the name of the tool, or the name or pattern of the configuration that
	// stands for none.
	Tool string
	// Agent is the agent that has the tool, "" where it is not known.
	Agent string
	// Problem says why the gate cannot guard it, Remedy what to do.
	Problem, Remedy string
}

// Error returns what is known as one sentence.
func (e *UnguardedError) Error() string {
	of := ""
	if e.Agent != "" {
		of = fmt.Sprintf(" of agent %q", e.Agent)
	}
	return fmt.Sprintf("contextgraph: tool %q%s is not guarded: %s; %s", e.Tool, of, e.Problem, e.Remedy)
}

// hole is a way in which a tool gets around the gate.
type hole int

const (
	noHole hole = iota
	holeStreaming
	holeTwin
	holeName
	holeService
	holeAgentTool
	holeTask
)

func (h hole) error(tool, agent string) *UnguardedError {
	e := &UnguardedError{Tool: tool, Agent: agent}
	switch h {
	case holeStreaming:
		e.Problem = "it streams, and ADK fires no callback around a streaming tool"
		e.Remedy = "give the agent what Protect returns for it"
	case holeTwin:
		e.Problem = "another tool of its name is behind Protect, and this one, or a wrapper around the other, is not"
		e.Remedy = "give every agent what Protect returns, with wrappers inside of it, or list the name under guard.tools"
	case holeName:
		e.Problem = "it is offered to the model under a guarded name, and has another"
		e.Remedy = "offer it under its own name, or give the agent what Protect returns for it"
	case holeService:
		e.Problem = "nothing in this process runs it, so no call of it can be stopped here"
		e.Remedy = "take it from the agent, or from guard.tools"
	case holeAgentTool:
		e.Problem = "it belongs to an agent that runs as a tool of ADK's own, in a runner without plugins"
		e.Remedy = "make that agent a tool with AgentTool in the place of agenttool.New"
	case holeTask:
		e.Problem = "it gives a task to an agent, which ADK starts as soon as the model asks for it, without any callback"
		e.Remedy = "give the agent another mode, or guard the tools that it has and take its name from guard.tools"
	}
	return e
}

// unguarded remembers the tools that are not guarded.
type unguarded struct {
	told  sync.Map // UnguardedErrors that were logged
	count atomic.Uint64
	// inside holds the tools of agents that run as tools of ADK's own.
	inside *lru.Cache[tool.Tool, []tool.Tool]
}

// knownAgentTools is the greatest number of agent tools with remembered inner tools.
const knownAgentTools = 1000

func newInside() (*lru.Cache[tool.Tool, []tool.Tool], error) {
	return lru.New[tool.Tool, []tool.Tool](knownAgentTools)
}

// beforeModel looks at what a request offers to the model. A request costs a look
// at the name and the type of each tool, and no allocation while all is well.
func (g *Gate) beforeModel(ctx agent.Context, req *model.LLMRequest) (_ *model.LLMResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.panics.Add(1)
			g.often.Error("contextgraph: the gate recovered from a panic while it looked at the tools of a request", "panic", p)
			err = nil
			if g.refuseUnguarded {
				err = fmt.Errorf("contextgraph: the tools of agent %q could not be checked: %v", ctx.AgentName(), p)
			}
		}
	}()
	var found []*UnguardedError
	for name, v := range req.Tools {
		if t, ok := v.(tool.Tool); ok {
			found = g.holes(found, ctx, name, t)
		}
	}
	if err = g.report(found); err != nil {
		g.rec.ModelFailed(ctx, err) // so that the request ends with it
	}
	return nil, err
}

// named is who an agent is; a context of ADK, which is asked only where it matters.
type named interface{ AgentName() string }

// agentNamed is a name that is known.
type agentNamed string

func (a agentNamed) AgentName() string { return string(a) }

// holes appends the ways around the gate that a tool opens when it is offered under the name.
func (g *Gate) holes(found []*UnguardedError, of named, name string, t tool.Tool) []*UnguardedError {
	inner, behind := g.behind(t)
	if !behind {
		if h := g.hole(name, t); h != noHole {
			found = append(found, h.error(name, of.AgentName()))
		}
		inner = t
	}
	if !adkreflect.IsAgentTool(inner) {
		return found
	}
	for _, t := range g.inside(inner) {
		// What is protected denies there; anything else that is guarded runs.
		if _, behind := g.behind(t); behind {
			continue
		}
		if guarded, _ := g.enforced(t.Name()); guarded {
			found = append(found, holeAgentTool.error(t.Name(), inner.Name()))
		}
	}
	return found
}

// hole returns the way around the gate that a tool without Protect opens.
func (g *Gate) hole(name string, t tool.Tool) hole {
	own := t.Name()
	guarded, always := g.enforced(own)
	if !guarded {
		if name == own {
			return noHole
		}
		if guarded, _ = g.enforced(name); guarded {
			return holeName
		}
		return noHole
	}
	if adkreflect.IsTaskTool(t) {
		return holeTask
	}
	switch t.(type) {
	case streamable:
		return holeStreaming
	case runnable:
	default:
		return holeService
	}
	if always && g.isProtected(own) && !g.listed.match(own) {
		return holeTwin
	}
	return noHole
}

// inside returns the tools of an agent that runs as a tool of ADK's own, and of the agents below
// it, as far as they can be seen: it does not ask toolsets.
func (g *Gate) inside(t tool.Tool) []tool.Tool {
	if tools, ok := g.unguarded.inside.Get(t); ok {
		return tools
	}
	var tools []tool.Tool
	if a := adkreflect.AgentOf(t); a != nil {
		tools = adkreflect.Tools(a)
	}
	g.unguarded.inside.Add(t, tools)
	return tools
}

// report logs each finding once, or returns them as an error.
func (g *Gate) report(found []*UnguardedError) error {
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b *UnguardedError) int {
		return strings.Compare(a.Agent+"\x00"+a.Tool+"\x00"+a.Problem, b.Agent+"\x00"+b.Tool+"\x00"+b.Problem)
	})
	errs := make([]error, len(found))
	for i, e := range found {
		errs[i] = e
		if _, known := g.unguarded.told.LoadOrStore(*e, true); known {
			continue
		}
		g.unguarded.count.Add(1)
		g.log.Warn("contextgraph: a tool is not guarded that should be", "tool", e.Tool, "agent", e.Agent, "problem", e.Problem, "remedy", e.Remedy)
	}
	if !g.refuseUnguarded {
		return nil
	}
	return errors.Join(errs...)
}
