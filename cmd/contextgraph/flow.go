// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// flowFormats are the forms of --format, and what prints them.
var flowFormats = map[string]func(*inspect.Flow) string{"mermaid": mermaid, "dot": dot, "json": flowJSON}

func (a *app) flowCommand() *cobra.Command {
	var session record.Session
	var format string
	c := &cobra.Command{
		Use:   "flow SESSION",
		Short: "Draw the last run of a graph of package flow",
		Long: `flow draws the graph of the last run in a session, as Mermaid, DOT or JSON: edges with the names of
their conditions, thick where they were taken; nodes with how often they ended, and what the run
waits for. It reads the recorded rows alone.`,
		Example: `  contextgraph flow s-123
  contextgraph flow s-123 --format dot`,
		Args: argCount(1, 1, "the id of one session"),
	}
	ownerFlags(c, &session)
	c.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot or json")
	return textOnly(a.reads(c, func(ctx context.Context, src opened, args []string) error {
		write := flowFormats[format]
		if write == nil {
			return meant(fmt.Errorf("--format is mermaid, dot or json, not %q", format), format, []string{"mermaid", "dot", "json"})
		}
		s, err := a.read(ctx, src, named(session, args[0]))
		if err != nil {
			return err
		}
		if len(s.Flows) == 0 {
			return exit{exitNotFound, fmt.Errorf("session %q has no run of a graph: package flow records one where its agent runs", args[0])}
		}
		_, err = fmt.Fprint(a.stdout, write(&s.Flows[len(s.Flows)-1]))
		return err
	}))
}

// flowStatus says how far a run has come, and what it waits for.
func flowStatus(f *inspect.Flow) string {
	words := []string{f.Name + ": " + map[string]string{
		inspect.FlowEnded: "ended", inspect.FlowFailed: "failed", inspect.FlowCancelled: "cancelled",
		inspect.FlowWaits: "waits", inspect.FlowOpen: "under way, or cut off",
	}[f.State]}
	if f.Error != "" {
		words = append(words, f.Error)
	}
	for _, n := range f.Nodes {
		if n.At {
			words = append(words, strings.Join(append([]string{"at " + n.Name}, n.Waits...), ": "))
		}
	}
	return printable(strings.Join(words, "; "))
}

// flowLabel is the name of a node, with how often it has ended.
func flowLabel(n *inspect.FlowNode) string {
	label := n.Name
	if n.Visits > 0 {
		label += fmt.Sprintf(" ×%d", n.Visits)
	}
	if len(n.Waits) > 0 {
		label += " waits"
	} else if n.At {
		label += " …"
	}
	return printable(label)
}

// edgeLabel is the condition of an edge, with how often it was taken if that is more than once.
func edgeLabel(e *inspect.FlowEdge) string {
	label := printable(e.Name)
	if e.Taken > 1 {
		label = strings.TrimSpace(label + fmt.Sprintf(" ×%d", e.Taken))
	}
	return label
}

func mermaid(f *inspect.Flow) string {
	quote := func(s string) string { return `"` + strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;").Replace(s) + `"` }
	ids := map[string]string{inspect.FlowStart: "start"}
	var b strings.Builder
	fmt.Fprintf(&b, "%%%% %s\nflowchart TD\n  start((start))\n", flowStatus(f))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		id := fmt.Sprintf("n%d", i)
		ids[n.Name] = id
		class := ""
		if n.At {
			class = ":::at"
		} else if n.Visits > 0 {
			class = ":::visited"
		}
		fmt.Fprintf(&b, "  %s[%s]%s\n", id, quote(flowLabel(n)), class)
	}
	for i := range f.Edges {
		e := &f.Edges[i]
		arrow, label := "-.->", edgeLabel(e)
		if e.Taken > 0 {
			arrow = "==>"
		}
		if label != "" {
			label = "|" + quote(label) + "|"
		}
		fmt.Fprintf(&b, "  %s %s%s %s\n", ids[e.From], arrow, label, ids[e.To])
	}
	b.WriteString("  classDef visited stroke-width:3px\n  classDef at stroke-width:3px,stroke-dasharray:6 3\n")
	return b.String()
}

func dot(f *inspect.Flow) string {
	quote := func(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\ndigraph %s {\n  node [shape=box, style=rounded]\n  %s [shape=circle, label=start]\n", flowStatus(f), quote(printable(f.Name)), quote(inspect.FlowStart))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		style := ""
		if n.At {
			style = `, penwidth=3, style="rounded,dashed"`
		} else if n.Visits > 0 {
			style = ", penwidth=3"
		}
		fmt.Fprintf(&b, "  %s [label=%s%s]\n", quote(printable(n.Name)), quote(flowLabel(n)), style)
	}
	for i := range f.Edges {
		e := &f.Edges[i]
		style := "style=dashed"
		if e.Taken > 0 {
			style = "penwidth=3"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%s, %s]\n", quote(printable(e.From)), quote(printable(e.To)), quote(edgeLabel(e)), style)
	}
	b.WriteString("}\n")
	return b.String()
}

func flowJSON(f *inspect.Flow) string {
	var b strings.Builder
	e := json.NewEncoder(text.JSONWriter{W: &b})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(f) // a Builder takes everything
	return b.String()
}

