// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// A toolset may have other tools tomorrow; each is protected, in its place.
func TestProtectToolsetKeepsOrderAndProtectsWhatComesLater(t *testing.T) {
	h := cgtest.New(t, cgtest.Unprotected)
	work := func(name string) tool.Tool {
		return cgtest.NewTool(t, name, func(agent.Context, cgtest.BuyArgs) (map[string]any, error) {
			h.Bought.Add(1)
			return map[string]any{}, nil
		})
	}
	s := &cgtest.Shelf{Content: []tool.Tool{work("c"), work("a")}}
	ts := h.CG.ProtectToolset(s)
	if ts.Name() != "shelf" || h.CG.ProtectToolset(ts) != ts {
		t.Errorf("toolset %q", ts.Name())
	}
	names := func(ts tool.Toolset) (names []string) {
		tools, err := ts.Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range tools {
			names = append(names, tl.Name())
			runs, ok := tl.(interface {
				Run(agent.Context, any) (map[string]any, error)
			})
			if !ok {
				t.Fatalf("%q cannot run", tl.Name())
			}
			ctx := &agent.ContextMock{}
			if got, err := runs.Run(ctx, map[string]any{"item": "x", "count": 1}); err != nil || got["status"] != "blocked" {
				t.Errorf("%q outside of any run: %v, %v", tl.Name(), got, err)
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{"c", "a"}, names(ts)); diff != "" {
		t.Error(diff)
	}
	s.Content = slices.Insert(s.Content, 1, work("b"))
	if diff := cmp.Diff([]string{"c", "b", "a"}, names(ts)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b"}, names(tool.FilterToolset(ts, tool.AllowedToolsPredicate([]string{"b"})))); diff != "" {
		t.Error(diff)
	}
	h.WantBought(0)
}

// ADK appends the tools of toolsets to Config.Tools in every run, and writes them behind
// its end where it has room there. The documents say to clip it; once this fails they need
// not any more.
func TestADKWritesBehindTheToolsOfTheConfig(t *testing.T) {
	for name, clipped := range map[string]bool{"with room": false, "clipped": true} {
		t.Run(name, func(t *testing.T) {
			room := make([]tool.Tool, 2)
			h := cgtest.New(t, cgtest.Unprotected, cgtest.Unasked, cgtest.InToolset((*contextgraph.Instance).ProtectToolset), func(o *cgtest.Options) {
				o.ChangeTools = func(_ *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
					tools = append(room[:0], tools[0])
					if clipped {
						return slices.Clip(tools)
					}
					return tools
				}
			})
			h.Ask(cgtest.SessionID)
			if wrote := room[1] != nil; wrote == clipped {
				t.Errorf("ADK wrote behind the tools: %t", wrote)
			}
		})
	}
}
