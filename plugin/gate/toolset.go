// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"iter"
	"maps"
	"reflect"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
)

// protectedToolset is a toolset whose tools are each behind the gate.
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

// offer is what a request offers to the model at one time.
type offer struct {
	tools map[string]any
	// services counts what the model service runs itself, as a search.
	services int
}

func offerOf(req *model.LLMRequest) offer {
	return offer{tools: maps.Clone(req.Tools), services: services(req)}
}

// changed yields the tools of req that o does not have, or has another of that name. A
// tool that cannot be compared counts as another.
func (o offer) changed(req *model.LLMRequest) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for name, v := range req.Tools {
			old, had := o.tools[name]
			if had && same(old, v) {
				continue
			}
			if !yield(name, v) {
				return
			}
		}
	}
}

func same(a, b any) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// served reports whether req has more that the model service runs itself.
func (o offer) served(req *model.LLMRequest) bool { return services(req) > o.services }

func services(req *model.LLMRequest) int {
	if req.Config == nil {
		return 0
	}
	n := 0
	for _, t := range req.Config.Tools {
		if t == nil {
			continue
		}
		own := *t
		own.FunctionDeclarations = nil
		v := reflect.ValueOf(own)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				n++
			}
		}
	}
	return n
}
