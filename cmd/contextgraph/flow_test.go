// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// TestFlowCommand draws a run that waits, from its rows.
func TestFlowCommand(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	h := cgtest.New(t, cgtest.OnFile)
	t.Chdir(t.TempDir())
	h.Say("no flow yet")
	g := flow.New("shopping")
	g.Node("query", flow.FuncNode(func(agent.Context, any) (map[string]any, error) { return map[string]any{"query": "routes"}, nil }))
	g.Node("read", flow.ToolNode(h.Tools[0]))
	g.Node("order", flow.FuncNode(func(agent.Context, any) (map[string]any, error) { return cgtest.SameArgs(0), nil }))
	g.Node("buy", flow.ToolNode(h.Tools[1]))
	g.Node(`say "done" <b>`, flow.FuncNode(func(agent.Context, any) (any, error) { return nil, nil }))
	g.Edge(flow.Start, "query")
	g.Edge("query", "read")
	g.Edge("read", "query", flow.When("first\ttime #1", func(s flow.State) bool { return s.Visits("read") < 2 }))
	g.Edge("read", "order")
	g.Edge("order", "buy")
	g.Edge("buy", "query", flow.RefusedFor("drift"))
	g.Edge("buy", `say "done" <b>`)
	root, err := g.Agent()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runCommand(t, "flow", cgtest.SessionID, "--journal", h.Path); code != exitNotFound || !strings.Contains(stderr, "has no run of a graph") {
		t.Errorf("without a flow: %d, %s", code, stderr)
	}
	h.Serve(root)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"mermaid", "dot"} {
		code, stdout, stderr := runCommand(t, "flow", cgtest.SessionID, "--journal", h.Path, "--format", format)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s: %d: %s", format, code, stderr)
		}
		golden(t, dir, "flow-"+format+".txt", stdout)
	}
	_, stdout, _ := runCommand(t, "flow", cgtest.SessionID, "--journal", h.Path, "--format", "json")
	var f inspect.Flow
	if err := json.Unmarshal([]byte(stdout), &f); err != nil || f.State != inspect.FlowWaits || len(f.Nodes) != 5 || f.Edges[2].Name != "first\ttime #1" {
		t.Errorf("JSON: %v\n%s", err, stdout)
	}
	for args, want := range map[string]string{
		"--format mermaidd": `did you mean "mermaid"?`, "--output json": "prints text only",
	} {
		all := append([]string{"flow", cgtest.SessionID, "--journal", h.Path}, strings.Fields(args)...)
		if code, _, stderr := runCommand(t, all...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s", args, code, stderr)
		}
	}
}
