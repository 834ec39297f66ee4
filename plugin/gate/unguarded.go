// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/plugin"
)

// UnguardedError names a tool that the gate is meant to guard and cannot.
type UnguardedError struct {
	// Tool is the name of the tool.
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

// hole is a way in which a tool gets around the gate, and what to do about it. The zero hole is none.
type hole struct{ problem, remedy string }

var (
	holeStreaming = hole{
		"it streams, and ADK fires no callback around a streaming tool",
		"give the agent what Protect returns for it",
	}
	holeTwin = hole{
		"another tool of its name is behind Protect, and this one, or a wrapper around the other, is not",
		"give every agent what Protect returns, with wrappers inside of it, or list the name under guard.tools",
	}
	holeName = hole{
		"it is offered to the model under a guarded name, and has another",
		"offer it under its own name, or give the agent what Protect returns for it",
	}
	holeService = hole{
		"nothing in this process runs it, so no call of it can be stopped here",
		"take it from the agent, or from guard.tools",
	}
	holeAgentTool = hole{
		"it belongs to an agent that runs as a tool of ADK's own, in a runner without plugins",
		"make that agent a tool with AgentTool in the place of agenttool.New",
	}
	holeTask = hole{
		"it gives a task to an agent, which ADK starts as soon as the model asks for it, without any callback",
		"give the agent another mode, or guard the tools that it has and take its name from guard.tools",
	}
	holeNode = hole{
		"it runs as a node of a workflow, and ADK fires no callback around such a node",
		"have an agent with a model call it; or wrap it with Protect, which denies it there",
	}
	holeRunner = hole{
		"it runs in a runner without contextgraph's plugins",
		"give that runner PluginConfig: cg.PluginConfig(), or wrap the tool with Protect, which denies it there",
	}
	holeOther = hole{
		"it is behind Protect of another instance, whose plugins this runner does not have: each of its calls is denied",
		"protect it with the instance whose PluginConfig the runner has",
	}
	holeAsks = hole{
		"it asks for a confirmation, and a confirmed call runs whatever a check finds",
		"list it under guard.tools, wrap it with Protect, or write guard.mode: observe if verdicts are only to be recorded",
	}
)

func (h hole) error(tool, agent string) *UnguardedError {
	return &UnguardedError{Tool: tool, Agent: agent, Problem: h.problem, Remedy: h.remedy}
}

// admitTools learns the parts of the run's agents. With [config.UnguardedError] it refuses the run
// if they have a tool that the gate should guard and cannot, and if ADK may run it before a model
// request: as a node of a workflow, or because the session has something to resume. ADK goes by
// the session, which clients can write.
func (g *Gate) admitTools(ctx agent.InvocationContext) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.panics.Add(1)
			if err = nil; g.refuseUnguarded {
				err = fmt.Errorf("contextgraph: the tools of the run could not be checked: %v", p)
			}
		}
	}()
	s := ctx.Session()
	resumes := s != nil && s.Events() != nil && s.Events().Len() > 1
	// Toolsets may be far away. Only what answers a request makes ADK run one of their tools.
	msg := ctx.UserContent()
	answers := msg == nil || len(plugin.Responses(msg)) > 0
	parts := g.census.parts(ctx.Agent())
	g.census.meet(parts)
	g.census.start(!resumes)
	var found []*UnguardedError
	models := false
	for _, p := range parts {
		models = models || p.Toolset != nil || p.Tool != nil && p.Node == nil
		switch {
		case !g.refuseUnguarded || p.Node != nil:
			found = g.holesOf(found, p)
		case resumes && p.Toolset != nil && answers && p.Within == nil:
			found = g.toolset(found, ctx, p)
		case resumes:
			found = g.holesOf(found, p)
		}
	}
	return errors.Join(g.report(found), g.learned(!models))
}

// toolset appends the ways around the gate that the tools of a toolset open.
func (g *Gate) toolset(found []*UnguardedError, ctx context.Context, p adkreflect.Part) []*UnguardedError {
	of := ""
	if p.Agent != nil {
		of = p.Agent.Name()
	}
	tools, err := list(ctx, p.Toolset)
	if err != nil {
		found = append(found, &UnguardedError{
			Tool: p.Toolset.Name(), Agent: of, Problem: fmt.Sprintf("it is a toolset whose tools could not be listed: %v", err),
			Remedy: "check again when it can be reached",
		})
	}
	for _, t := range tools {
		parts := adkreflect.ToolParts(t)
		g.census.meet(parts)
		for _, inner := range parts {
			if inner.Agent == nil {
				inner.Agent = p.Agent
			}
			found = g.holesOf(found, inner)
		}
	}
	return found
}

// Outside notes that a tool of that name is about to run in a runner without the gate's plugins.
// Nothing can stop it there, unless it is behind Protect.
func (g *Gate) Outside(tool string) {
	if g.listed.match(tool) || g.covered[tool] {
		_ = g.report([]*UnguardedError{holeRunner.error(tool, "")}) // which logs it
	}
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
			err = errors.Join(err, g.uncounted(t))
		}
	}
	err = errors.Join(err, g.report(found))
	if g.census.offers(ctx.AgentName(), req.Tools) {
		err = errors.Join(err, g.learned(true))
	}
	if err != nil {
		g.rec.ModelFailed(ctx, err) // so that the request ends with it
	}
	return nil, err
}

// holes appends the ways around the gate that a tool opens when it is offered under the name.
func (g *Gate) holes(found []*UnguardedError, ctx agent.Context, name string, t tool.Tool) []*UnguardedError {
	inner, behind := g.behind(t)
	if !behind {
		if h := g.hole(name, t); h != (hole{}) {
			found = append(found, h.error(name, ctx.AgentName()))
		}
		inner = t
	}
	if !adkreflect.IsAgentTool(inner) {
		return found
	}
	for _, p := range g.census.parts(adkreflect.AgentOf(inner)) {
		p.Within = inner
		found = g.holesOf(found, p)
	}
	return found
}

// holesOf appends the ways around the gate that a part of an agent opens.
func (g *Gate) holesOf(found []*UnguardedError, p adkreflect.Part) []*UnguardedError {
	if p.Tool == nil {
		return found
	}
	if _, behind := g.behind(p.Tool); behind {
		return found // it denies where it cannot ask
	}
	name, of := p.Tool.Name(), ""
	if p.Agent != nil {
		of = p.Agent.Name()
	}
	enforced, always := g.enforced(name)
	var h hole
	switch {
	case p.Within != nil:
		if enforced {
			h, of = holeAgentTool, p.Within.Name()
		}
	case p.Node != nil:
		if always {
			h = holeNode
		}
	default:
		h = g.hole(name, p.Tool)
	}
	if h != (hole{}) {
		found = append(found, h.error(name, of))
	}
	return found
}

// hole returns the way around the gate that a tool without Protect opens.
func (g *Gate) hole(name string, t tool.Tool) hole {
	own := t.Name()
	if g.foreign(t) {
		return holeOther
	}
	guarded, always := g.enforced(own)
	if !guarded {
		if name != own {
			if guarded, _ = g.enforced(name); guarded {
				return holeName
			}
		}
		if !g.observing && g.guard != nil && g.census.asks(t) {
			return holeAsks
		}
		return hole{}
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
	return hole{}
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
		if g.once(*e) {
			g.unguarded.Add(1)
			g.log.Warn("contextgraph: a tool is not guarded that should be", "tool", e.Tool, "agent", e.Agent, "problem", e.Problem, "remedy", e.Remedy)
		}
	}
	if !g.refuseUnguarded {
		return nil
	}
	return errors.Join(errs...)
}
