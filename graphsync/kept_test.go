// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// keep returns the steps of a graph as somebody keeps them who has no rows.
func keep(g *graphsync.Graph) []graphsync.Kept {
	steps := make([]graphsync.Kept, len(g.Nodes()))
	at := make(map[string]int)
	for i, n := range g.Nodes() {
		at[n.Key] = i
		steps[i] = graphsync.Kept{Node: n, Decided: n.End, Approval: slices.Contains(n.EventTypes, record.HITLConfirmationRequest)}
	}
	for _, e := range g.Trace().Timeline {
		if e.EventType == record.HITLConfirmationRequest {
			steps[at[graphsync.RowNodeKey(&e)]].Decided = e.Time()
		}
	}
	for _, e := range g.Edges() {
		steps[at[e.To]].Causes = append(steps[at[e.To]].Causes, e)
	}
	for i, e := range g.Entities() {
		steps[at[e.TechNode]].Seen = append(steps[at[e.TechNode]].Seen, g.Sightings()[i])
	}
	return steps
}

// A graph that was kept without its rows answers as before, also about what a step saw before and after a decision.
func TestKeptGraph(t *testing.T) {
	long := delegate(t)
	resumed(long)
	between := decidedBetween(t)
	between.after()
	for name, r := range map[string]*recorder{"a delegate": long, "seen before and after": between} {
		t.Run(name, func(t *testing.T) {
			want := fold(t, stateRules(), r.rows).Graph()
			steps := keep(want)
			steps[0].Causes = append(steps[0].Causes, graphsync.Edge{From: "gone", To: steps[0].Node.Key, Kind: graphsync.Informs})
			got := graphsync.KeptGraph(steps)
			same := func(what string, want, got any) {
				t.Helper()
				if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s (-of the rows +kept):\n%s", what, d)
				}
			}
			decision, _ := want.Decision()
			kept, ok := got.Decision()
			if !ok || kept != decision {
				t.Fatalf("the decision is %q, want %q", kept, decision)
			}
			same("why", why(t, want, decision), why(t, got, decision))
			same("edges", want.Edges(), got.Edges())
			same("causes", want.Causes(decision, 3), got.Causes(decision, 3))
			same("effects", want.Effects(steps[0].Node.Key, 3), got.Effects(steps[0].Node.Key, 3))
			before, err := want.SeenBefore(decision)
			if err != nil {
				t.Fatal(err)
			}
			keptBefore, err := got.SeenBefore(decision)
			if err != nil {
				t.Fatal(err)
			}
			same("seen before", before, keptBefore)
			if slices.EqualFunc(before, want.Canonical(), func(a, b entity.Canonical) bool { return cmp.Equal(a, b) }) {
				t.Error("nothing was seen after the decision: the test shows nothing")
			}
			if _, err := got.SeenBefore("no step"); err == nil {
				t.Error("no error for a step that is not there")
			}
		})
	}
}
