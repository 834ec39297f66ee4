// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// grouped is a graph of a group and a node behind it that tells its input.
func grouped(w *world, g *flow.Graph, j flow.Join, members ...string) {
	g.Parallel("group", j, members...)
	g.Node("after", told(w, "after"))
	g.Edge(flow.Start, "group")
	g.Edge("group", "after")
}

// A group waits for a member that asks a person; the others are not run again.
func TestGroupWaitsForAnAnswer(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
				g.Node("a", done(w, "a"))
				g.Node("b", reruns(w, "b"))
				g.Node("c", hands(w, "c"))
				grouped(w, g, flow.WaitAll(), "a", "b", "c")
			})
			w.want(adktest.UserText("go"), "a b? c?", nil)
			if got := said(w.want(adktest.UserText("yes"), "", nil)); !strings.Contains(got, "b-1") || !strings.Contains(got, "c-1") {
				t.Errorf("the flow says %q, want both questions", got)
			}
			w.want(answer(pair("b-1", "x")), "b", nil)
			w.want(answer(pair("b-1", "x")), "", flow.ErrAnswered)
			w.want(answer(pair("c-1", "y")), `after({"a":"a!","b":"x","c":"y"})`, nil)
			w.want(answer(pair("c-1", "y")), "", flow.ErrAnswered)
			if got := fmt.Sprintf("%v %v %v %v", w.state("a"), w.state("b"), w.state("c"), w.state("group")); got != "a! x y map[a:a! b:x c:y]" {
				t.Errorf("the state is %s", got)
			}
		})
	}
}
