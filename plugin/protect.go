// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolutils"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// runnable is what ADK calls: a tool with a declaration and a Run.
type runnable interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	Run(ctx agent.Context, args any) (map[string]any, error)
}

// protected is the innermost gate: it stands around the tool itself, behind
// every callback, and runs it on frozen arguments with a permit that is consumed
// first.
type protected struct {
	rec   *Recorder
	inner tool.Tool
	run   runnable
}

// Protect returns the tool with the gate around it. Its calls never run without
// an approval that a human gave and that a check of the world still supports; a
// tool that does not ask by itself is asked for. Every tool of that name is
// guarded from then on. A tool that has no Run of the usual form, as a streaming
// tool, cannot be guarded by this wrapper: its calls are denied.
func (rec *Recorder) Protect(t tool.Tool) tool.Tool {
	if p, ok := t.(*protected); ok && p.rec == rec {
		return p
	}
	rec.mu.Lock()
	known := rec.protected[t.Name()]
	rec.protected[t.Name()] = true
	rec.mu.Unlock()
	if !known {
		rec.log.Info("contextgraph: a tool is protected: it never runs without an approval", "tool", t.Name())
	}
	p := &protected{rec: rec, inner: t}
	p.run, _ = t.(runnable)
	return p
}

// Name implements [tool.Tool].
func (p *protected) Name() string { return p.inner.Name() }

// Description implements [tool.Tool].
func (p *protected) Description() string { return p.inner.Description() }

// IsLongRunning implements [tool.Tool].
func (p *protected) IsLongRunning() bool { return p.inner.IsLongRunning() }

// Declaration returns the declaration of the tool inside.
func (p *protected) Declaration() *genai.FunctionDeclaration {
	if d, ok := p.inner.(interface {
		Declaration() *genai.FunctionDeclaration
	}); ok {
		return d.Declaration()
	}
	return &genai.FunctionDeclaration{Name: p.Name(), Description: p.Description()}
}

// ProcessRequest puts the tool into the model's request, with the gate in the
// place of what the tool inside puts there itself.
func (p *protected) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	rp, ok := p.inner.(interface {
		ProcessRequest(ctx agent.Context, req *model.LLMRequest) error
	})
	if !ok {
		return toolutils.PackTool(req, p)
	}
	before := make(map[string]bool, len(req.Tools))
	for name := range req.Tools {
		before[name] = true
	}
	if err := rp.ProcessRequest(ctx, req); err != nil {
		return err
	}
	for name := range req.Tools {
		if !before[name] && name != p.Name() {
			return fmt.Errorf("contextgraph: the protected tool %q also offers %q, which would run without the gate; protect each tool by itself", p.Name(), name)
		}
	}
	if _, ok := req.Tools[p.Name()]; !ok || before[p.Name()] {
		return toolutils.PackTool(req, p)
	}
	req.Tools[p.Name()] = p
	return nil
}

// Run runs the tool inside once, if there is a permit for exactly this call.
func (p *protected) Run(ctx agent.Context, args any) (map[string]any, error) {
	name := p.Name()
	if denial := p.rec.unavailable(name); denial != nil {
		return denial, nil
	}
	r := p.rec.runs.lookup(ctx)
	var c *call
	if r != nil {
		c = r.call(ctx)
	}
	if c == nil || !c.gated {
		return p.rec.deny(nil, name, CodeCannotAsk, "the call did not pass contextgraph's gate: its runner lacks the plugins, or it runs where no approval can be asked (a workflow tool node, an agent run as a tool, a live session); give the runner PluginConfig: cg.PluginConfig()"), nil
	}
	if c.tool != tool.Tool(p) {
		return p.rec.deny(c, name, CodeUnsupported, "Protect must be the outermost wrapper of a tool, and its Run must not be called by another tool"), nil
	}
	confirmation := ctx.ToolConfirmation()
	if confirmation == nil {
		if err := ctx.RequestConfirmation(approvalHint(name), nil); err != nil {
			return p.rec.deny(c, name, CodeCannotAsk, err.Error()), nil
		}
		return nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRequired)
	}
	if !confirmation.Confirmed {
		return nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRejected)
	}
	m, ok := args.(map[string]any)
	if !ok || p.run == nil {
		return p.rec.deny(c, name, CodeUnsupported, "this kind of tool cannot be run behind the gate"), nil
	}
	if c.permit == nil {
		return p.rec.deny(c, name, safety.CodeNotApproved, "no permit was issued for this call"), nil
	}
	frozen, err := safety.FreezeArgs(m)
	if err != nil {
		return p.rec.deny(c, name, safety.CodeArgsChanged, err.Error()), nil
	}
	if err := ctx.Err(); err != nil {
		return p.rec.deny(c, name, CodeCanceled, "the run has ended: "+err.Error()), nil
	}
	cctx, cancel := detached(ctx, ledgerTimeout)
	err = c.permit.Consume(cctx, frozen)
	cancel()
	if err != nil {
		return p.rec.refuse(c, err), nil
	}
	// If the tool panics its approval stays in doubt: nobody knows whether the
	// effect took place.
	result, err := p.run.Run(ctx, frozen)
	p.rec.finishPermit(ctx, c, err)
	return result, err
}
