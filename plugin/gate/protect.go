// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolutils"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// runnable is what ADK calls: a tool with a declaration and a Run.
type runnable interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	Run(ctx agent.Context, args any) (map[string]any, error)
}

// requestProcessor puts a tool, or a toolset, into the model's request.
type requestProcessor interface {
	ProcessRequest(ctx agent.Context, req *model.LLMRequest) error
}

// guarded is the common part of the tools that Protect returns: the innermost gate, around
// the tool itself and behind every callback. It consumes a permit first, and then lets the
// tool run on frozen arguments.
type guarded struct {
	gate  *Gate
	inner tool.Tool
}

// protected is a tool behind the gate that ADK calls by its Run.
type protected struct {
	guarded
	run runnable
}

// Protect returns the tool with the gate around it. Its calls never run without
// an approval that a human gave and that a check of the world still supports. The
// gate asks if the tool does not ask by itself. Every tool of that name is guarded
// from then on. A streaming tool stays one. A tool that nothing in this process
// runs, as one of the model service, is denied.
func (g *Gate) Protect(t tool.Tool) tool.Tool {
	if _, ok := g.behind(t); ok {
		return t
	}
	g.mu.Lock()
	g.protected[t.Name()] = true
	g.mu.Unlock()
	g.tellUnread(t.Name())
	behind := guarded{gate: g, inner: t}
	if s, ok := t.(streamable); ok {
		return &protectedStream{guarded: behind, stream: s}
	}
	p := &protected{guarded: behind}
	p.run, _ = t.(runnable)
	return p
}

// behind returns the tool that stands behind the gate in t, if Protect of this gate
// made t.
func (g *Gate) behind(t tool.Tool) (inner tool.Tool, ok bool) {
	switch p := t.(type) {
	case *protected:
		return p.inner, p.gate == g
	case *protectedStream:
		return p.inner, p.gate == g
	}
	return nil, false
}

// foreign reports whether Protect of another gate made t.
func (g *Gate) foreign(t tool.Tool) bool {
	switch t.(type) {
	case *protected, *protectedStream:
		_, own := g.behind(t)
		return !own
	}
	return false
}

// WrappedTool implements [adkreflect.Wrapper].
func (b *guarded) WrappedTool() tool.Tool { return b.inner }

// Name implements [tool.Tool].
func (b *guarded) Name() string { return b.inner.Name() }

// Description implements [tool.Tool].
func (b *guarded) Description() string { return b.inner.Description() }

// IsLongRunning implements [tool.Tool].
func (b *guarded) IsLongRunning() bool { return b.inner.IsLongRunning() }

// Declaration returns the declaration of the tool inside.
func (b *guarded) Declaration() *genai.FunctionDeclaration {
	if d, ok := b.inner.(interface {
		Declaration() *genai.FunctionDeclaration
	}); ok {
		return d.Declaration()
	}
	return &genai.FunctionDeclaration{Name: b.Name(), Description: b.Description()}
}

// ProcessRequest puts the tool into the model's request, with the gate around it.
func (p *protected) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	return p.process(ctx, req, p)
}

// process lets the tool inside process the request, and replaces the tool there by self, the gate
// around it. It refuses any other tool that the tool inside adds, because that would run without
// the gate.
func (b *guarded) process(ctx agent.Context, req *model.LLMRequest, self toolutils.Tool) error {
	name := b.Name()
	rp, ok := b.inner.(requestProcessor)
	if !ok {
		return toolutils.PackTool(req, self)
	}
	before := offerOf(req)
	if err := rp.ProcessRequest(ctx, req); err != nil {
		return err
	}
	for other := range before.changed(req) {
		if other != name {
			return fmt.Errorf("contextgraph: the protected tool %q also offers %q, which would run without the gate; protect each tool by itself", name, other)
		}
	}
	if before.served(req) {
		return fmt.Errorf("contextgraph: the protected tool %q is run by the model service, where no gate can stand; take it from the agent, or from Protect", name)
	}
	if _, had := before.tools[name]; had {
		return toolutils.PackTool(req, self) // which says that there are two of that name
	}
	if _, ok := req.Tools[name]; !ok {
		return toolutils.PackTool(req, self)
	}
	req.Tools[name] = self
	return nil
}

// Run runs the tool inside once, if there is a permit for exactly this call.
func (p *protected) Run(ctx agent.Context, args any) (map[string]any, error) {
	c, frozen, refusal, err := p.enter(ctx, p, args)
	if c == nil {
		return refusal, err
	}
	defer c.unlock()
	var result map[string]any
	refusal, err = p.gate.carryOut(ctx, c, nil, func(ctx agent.Context, _ func(string, error) bool) (err error) {
		result, err = p.run.Run(ctx, frozen)
		return err
	})
	if refusal != nil {
		return refusal, nil
	}
	return result, err
}

// enter takes a call through the innermost gate: it asks for an approval, or consumes the
// permit. If c is not nil the call may run, on the frozen arguments; else refusal and err are
// its result. self is the tool that was called.
func (b *guarded) enter(ctx agent.Context, self tool.Tool, args any) (c *call, frozen, refusal map[string]any, err error) {
	g, name := b.gate, b.Name()
	if denial := g.unavailable(name); denial != nil {
		return nil, nil, denial, nil
	}
	r, recorded := g.rec.LookupCall(ctx)
	if recorded != nil {
		c = g.known(r, recorded)
	}
	if c == nil || !c.gated {
		return nil, nil, g.deny(nil, name, CodeCannotAsk, "the call did not pass contextgraph's gate: its runner lacks the plugins of the instance that protects it, or it runs where no approval can be asked (a workflow tool node, an agent run as a tool, a live session); give the runner PluginConfig: cg.PluginConfig()"), nil
	}
	if c.Tool != self {
		return nil, nil, g.deny(c, name, CodeUnsupported, "Protect must be the outermost wrapper of a tool, and its Run must not be called by another tool"), nil
	}
	if c.running.Load() {
		// The call that goes on is not refused by this one.
		return nil, nil, g.deny(nil, name, safety.CodeAlreadyUsed, "the tool called itself, and its permit was for one call"), nil
	}
	switch b.inner.(type) {
	case *protected, *protectedStream: // of another gate: Protect does not wrap its own again
		return nil, nil, g.deny(c, name, CodeUnsupported, "it is behind the gate of another instance as well, which the runner does not have; protect it with one"), nil
	}
	if p, ok := self.(*protected); ok && p.run == nil {
		return nil, nil, g.deny(c, name, CodeUnsupported, "nothing in this process runs this kind of tool"), nil
	}
	if err := clearArgs(b.inner, args); err != nil {
		return nil, nil, g.deny(c, name, safety.CodeInvalid, err.Error()), nil
	}
	confirmation := ctx.ToolConfirmation()
	if confirmation == nil {
		if err := ctx.RequestConfirmation(approvalHint(name), nil); err != nil {
			return nil, nil, g.deny(c, name, CodeCannotAsk, err.Error()), nil
		}
		return nil, nil, nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRequired)
	}
	if !confirmation.Confirmed {
		return nil, nil, nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRejected)
	}
	m, ok := args.(map[string]any)
	if !ok {
		return nil, nil, g.deny(c, name, CodeUnsupported, fmt.Sprintf("its arguments are a %T, which cannot be compared with those that were approved", args)), nil
	}
	if c.permit == nil {
		return nil, nil, g.deny(c, name, safety.CodeNotApproved, "no permit was issued for this call"), nil
	}
	if !saysStill(ctx, c.answer) {
		return nil, nil, g.deny(c, name, safety.CodeArgsChanged, otherAnswer), nil
	}
	if frozen, err = safety.FreezeArgs(m); err != nil {
		return nil, nil, g.deny(c, name, safety.CodeArgsChanged, err.Error()), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, g.deny(c, name, safety.CodeCanceled, "the run has ended: "+err.Error()), nil
	}
	cctx, cancel := plugin.Detach(ctx, ledgerTimeout)
	defer cancel()
	if err := c.permit.Consume(cctx, frozen); err != nil {
		return nil, nil, g.refuse(g.of(r), c, err), nil
	}
	c.running.Store(true)
	return c, frozen, nil, nil
}
