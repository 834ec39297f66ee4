// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
)

// CheckTools looks at the tools, at the tools of the toolsets, and at the tools of agents that run
// as tools. It finds every tool that the gate should guard and cannot, and every name of a tool in
// the configuration that none of the known tools has. It logs each finding once. With
// [config.UnguardedError] it returns them instead: joined errors, each an [UnguardedError] or an
// [UnknownNameError]. A path of a condition to an argument that a tool does not declare is logged. A tool that a rule
// with others: count reads and that is not registered with Replayable is an error in any case.
func (g *Gate) CheckTools(ctx context.Context, tools []tool.Tool, toolsets ...tool.Toolset) error {
	var found []*UnguardedError
	var errs []error
	look := func(parts []adkreflect.Part) {
		for _, p := range parts {
			if p.Tool != nil {
				g.misread(p.Tool)
				errs = append(errs, g.uncounted(p.Tool))
			}
		}
	}
	for _, t := range tools {
		parts := adkreflect.ToolParts(t)
		g.census.meet(parts)
		for _, p := range parts {
			found = g.holesOf(found, p)
		}
		look(parts)
	}
	for _, ts := range toolsets {
		if ts != nil {
			var parts []adkreflect.Part
			found, parts = g.toolset(found, ctx, adkreflect.Part{Toolset: ts})
			look(parts)
		}
	}
	return errors.Join(g.report(found), g.checkNames(), errors.Join(errs...))
}

func list(ctx context.Context, ts tool.Toolset) (tools []tool.Tool, err error) {
	defer func() {
		if p := recover(); p != nil {
			tools, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return ts.Tools(noRun{ctx})
}

// noRun is the context of a toolset that is asked for its tools outside of any run.
type noRun struct{ context.Context }

func (noRun) UserContent() *genai.Content          { return nil }
func (noRun) InvocationID() string                 { return "" }
func (noRun) AgentName() string                    { return "" }
func (noRun) ReadonlyState() session.ReadonlyState { return noState{} }
func (noRun) UserID() string                       { return "" }
func (noRun) AppName() string                      { return "" }
func (noRun) SessionID() string                    { return "" }
func (noRun) Branch() string                       { return "" }

// noState is the state of no session.
type noState struct{}

func (noState) Get(string) (any, error)     { return nil, session.ErrStateKeyNotExist }
func (noState) All() iter.Seq2[string, any] { return func(func(string, any) bool) {} }
