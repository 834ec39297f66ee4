// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// draw writes a trace as an indented tree and a timeline.
func draw(tr graphsync.Trace) string {
	var b strings.Builder
	var span func(n *graphsync.SpanNode, depth int)
	span = func(n *graphsync.SpanNode, depth int) {
		in := strings.Repeat("  ", depth)
		fmt.Fprintf(&b, "%s%s %s [%s] %s %gms\n", in, n.Node.Kind, n.Node.Name, n.Node.SpanID, n.Node.Status, n.Node.LatencyMS)
		for _, e := range n.Events {
			fmt.Fprintf(&b, "%s  - %d %s\n", in, e.Seq, e.EventType)
		}
		for _, c := range n.Children {
			span(c, depth+1)
		}
	}
	for _, r := range tr.Roots {
		span(r, 0)
	}
	b.WriteString("\ntimeline\n")
	for _, e := range tr.Timeline {
		fmt.Fprintf(&b, "%d %s %s\n", e.Seq, e.EventType, e.SpanID)
	}
	return b.String()
}

func TestTraceGolden(t *testing.T) {
	r := delegate(t)
	resumed(r)
	r.add(record.AgentResponse, "root", "orphan", "never recorded", nil, nil)
	got := draw(build(t, r.rows).Trace())
	file := filepath.Join("testdata", "trace.golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		diff(t, "trace; run with -update to accept it", string(want), got)
	}
}

func TestTraceKeepsEveryEvent(t *testing.T) {
	r := delegate(t)
	resumed(r)
	// Two cycles, one of them with a tail, a span that is its own parent, rows without a span.
	for _, s := range [][2]string{{"early tail", "c2"}, {"c1", "c2"}, {"c2", "c3"}, {"c3", "c1"}, {"tail", "c2"}, {"d1", "d2"}, {"d2", "d1"}, {"self", "self"}, {"", ""}, {"", "R"}} {
		r.add(record.AgentStarting, "x", s[0], s[1], nil, nil)
	}
	tr := build(t, r.rows).Trace()
	seen := map[string]int{}
	var roots []string
	var walk func(n *graphsync.SpanNode)
	walk = func(n *graphsync.SpanNode) {
		for _, e := range n.Events {
			seen[e.EventID]++
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	for _, n := range tr.Roots {
		roots = append(roots, n.Node.SpanID)
		walk(n)
	}
	for _, e := range r.rows {
		if seen[e.EventID] != 1 {
			t.Errorf("event %d of span %q stands %d times in the tree", e.Seq, e.SpanID, seen[e.EventID])
		}
	}
	diff(t, "roots", []string{"R", "R2", "c1", "d1", "self", "", ""}, roots)
	if len(tr.Timeline) != len(r.rows) || !slices.IsSortedFunc(tr.Timeline, func(a, b record.Event) int { return int(a.Seq - b.Seq) }) {
		t.Errorf("a timeline of %d events, want %d in order", len(tr.Timeline), len(r.rows))
	}
}
