// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
)

// protectedToolset is a toolset that puts each of its tools behind the gate.
type protectedToolset struct {
	gate  *Gate
	inner tool.Toolset
}

// ProtectToolset returns the toolset with each of its tools behind the gate, as
// [Gate.Protect] puts one there: those it has now and those it will have, in the
// same order and under the same names. A filter, or a toolset that asks for
// confirmations, belongs inside.
func (g *Gate) ProtectToolset(ts tool.Toolset) tool.Toolset {
	if p, ok := ts.(*protectedToolset); ok && p.gate == g {
		return p
	}
	return &protectedToolset{gate: g, inner: ts}
}

// Name implements [tool.Toolset].
func (p *protectedToolset) Name() string { return p.inner.Name() }

// Tools implements [tool.Toolset].
func (p *protectedToolset) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	tools, err := p.inner.Tools(ctx)
	if err != nil {
		return nil, err
	}
	guarded := make([]tool.Tool, len(tools))
	for i, t := range tools {
		if t != nil {
			guarded[i] = p.gate.Protect(t)
		}
	}
	return guarded, nil
}

// ProcessRequest has the toolset inside process the request, if it does, and puts the
// gate around every tool that it adds there.
func (p *protectedToolset) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	rp, ok := p.inner.(requestProcessor)
	if !ok {
		return nil
	}
	before := offerOf(req)
	if err := rp.ProcessRequest(ctx, req); err != nil {
		return err
	}
	if before.served(req) {
		return fmt.Errorf("contextgraph: the protected toolset %q adds a tool that the model service runs, where no gate can stand; take it from the toolset, or the toolset from ProtectToolset", p.Name())
	}
	for name, v := range before.changed(req) {
		t, ok := v.(tool.Tool)
		if !ok {
			return fmt.Errorf("contextgraph: the protected toolset %q adds %q, a %T, which cannot stand behind the gate", p.Name(), name, v)
		}
		req.Tools[name] = p.gate.Protect(t)
	}
	return nil
}
