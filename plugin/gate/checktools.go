// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/nearest"
)

// CheckTools looks at the tools, at the tools of the toolsets, and at the tools of agents that run
// as tools. It finds every tool that the gate should guard and cannot, and every name and pattern
// of guard.tools without a tool. It logs each finding once. With [config.UnguardedError] it returns
// them instead: joined errors, each an [UnguardedError].
func (g *Gate) CheckTools(ctx context.Context, tools []tool.Tool, toolsets ...tool.Toolset) error {
	c := check{gate: g, names: make(map[string]bool)}
	for _, t := range tools {
		c.tool("", t)
	}
	for _, ts := range toolsets {
		c.toolset(ctx, ts)
	}
	c.unmatched()
	return g.report(c.found)
}

// check is one CheckTools.
type check struct {
	gate  *Gate
	names map[string]bool
	found []*UnguardedError
}

func (c *check) tool(of string, t tool.Tool) {
	if t == nil {
		return
	}
	name := t.Name()
	c.names[name] = true
	c.found = c.gate.holes(c.found, agentNamed(of), name, t)
	if inner, ok := c.gate.behind(t); ok {
		t = inner
	}
	if a, ok := t.(adkreflect.AgentRunner); ok {
		for _, inner := range adkreflect.Tools(a.RunsAgent()) {
			c.tool(t.Name(), inner)
		}
	}
	if adkreflect.IsAgentTool(t) {
		for _, t := range c.gate.inside(t) {
			c.names[t.Name()] = true
		}
	}
}

// toolset looks at the tools that ts has now, outside of any run.
func (c *check) toolset(ctx context.Context, ts tool.Toolset) {
	if ts == nil {
		return
	}
	tools, err := list(ctx, ts)
	if err != nil {
		c.found = append(c.found, unlisted(ts, "", err))
	}
	for _, t := range tools {
		c.tool("", t)
	}
}

// unlisted has the known tools of ts if they could not be listed.
func unlisted(ts tool.Toolset, of string, err error) *UnguardedError {
	return &UnguardedError{
		Tool: ts.Name(), Agent: of, Problem: fmt.Sprintf("it is a toolset whose tools could not be listed: %v", err),
		Remedy: "check again when it can be reached",
	}
}

func list(ctx context.Context, ts tool.Toolset) (tools []tool.Tool, err error) {
	defer func() {
		if p := recover(); p != nil {
			tools, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return ts.Tools(noRun{ctx})
}

// unmatched finds the names and patterns that stand for no tool.
func (c *check) unmatched() {
	names := slices.Sorted(maps.Keys(c.names))
	patterns := c.gate.listed.patterns
	for _, name := range slices.Sorted(maps.Keys(c.gate.listed.names)) {
		patterns = append(patterns[:len(patterns):len(patterns)], pattern(name))
	}
	for _, p := range patterns {
		if slices.ContainsFunc(names, p.match) {
			continue
		}
		remedy := "correct guard.tools, or hand over every tool"
		if meant := meant(p, names); meant != "" {
			remedy = fmt.Sprintf("did you mean %q? Else %s", meant, remedy)
		}
		c.found = append(c.found, &UnguardedError{
			Tool: string(p), Problem: "none of the tools that were handed over has a name that guard.tools means by it", Remedy: remedy,
		})
	}
}

// meant returns the name of a tool that the pattern was probably meant to stand for.
func meant(p pattern, names []string) string {
	if p.isName() {
		return nearest.Word(string(p), names)
	}
	prefix := string(p)[:strings.IndexAny(string(p), metaCharacters)]
	var starts []string
	whole := make(map[string]string)
	for _, name := range names {
		for n := len(prefix) - 1; n <= len(prefix)+1; n++ {
			if n > 0 && n <= len(name) {
				starts = append(starts, name[:n])
				whole[name[:n]] = name
			}
		}
	}
	return whole[nearest.Word(prefix, starts)]
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
