// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The tests in this file are named after ways in which a world-change check can approve
// by mistake; docs/holes.md has them all.

// Every type of event that there is can be read. A row of a type that nobody knows stands
// in the graph, and is read like any other by a rule that names its type.
func TestW15EveryEventTypeIsRead(t *testing.T) {
	for _, typ := range append(record.EventTypes(), "AGENT_RESUMED") {
		r := &recorder{t: t, run: "1"}
		r.add(typ, "root", "S", "", m{"offer": m{"name": "Reels"}}, nil)
		g := fold(t, []config.Extract{{Name: "offer", In: config.InContent, Event: typ, Each: "$.offer", Type: "Product", Value: "$.name"}}, r.rows).Graph()
		if found := g.Entities(); len(found) != 1 || found[0].Value != "Reels" {
			t.Errorf("%s: %+v", typ, found)
		}
		if n := g.Nodes(); len(n) != 1 {
			t.Errorf("%s: %d nodes", typ, len(n))
		}
	}
}

// A span has rows of many times. What was seen in one of them was seen when that row was
// written, not when the span began or ended, and not in another span of the same id.
func TestW29AnEntityIsSeenInTheRowThatShowsIt(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.start("T", "R", "c=query_ad_inventory", m{"placement": "Reels"})
	for range 50 { // what else happens while the tool works
		r.add(record.StateDelta, "root", "R", "", m{"tick": 1}, nil)
	}
	end := *r.end("T", "R", "c=query_ad_inventory", placements("Reels"), nil)
	node := r.key("T")
	r.turn("2", "R2") // another trace with a span of the same id
	r.end("T", "R2", "d=query_audience", m{"audience": "Runners"}, nil)

	all := build(t, r.rows).Canonical()
	if len(all) != 2 || len(all[0].Seen) != 1 || len(all[0].AttributeSeenAt) != 2 {
		t.Fatalf("%+v", all)
	}
	reels := all[0]
	if !reels.LastSeen.Equal(end.Time()) || reels.Seen[0].EventID != end.EventID || reels.Seen[0].TechNode != node {
		t.Errorf("it was seen at %v by %+v, want at %v in row %s", reels.LastSeen, reels.Seen, end.Time(), end.EventID)
	}
	for name, at := range reels.AttributeSeenAt {
		if !at.Equal(end.Time()) {
			t.Errorf("%s was seen at %v, want %v", name, at, end.Time())
		}
	}
}

// A model that leaves out what a rule finds, says that there is nothing, or says something
// else of it, takes nothing away.
func TestW11AModelLeavesOutNothing(t *testing.T) {
	for name, found := range map[string][]m{"nothing": {}, "another price": {priced("Product 0", "7")}} {
		r := longRun(t, 1)
		want := evidence(t, build(t, r.rows), r.key("H"))
		r.found(want[1].Seen[0].EventID, found...)
		got := evidence(t, build(t, r.rows), r.key("H"))
		if len(want) != 2 || len(got) != 2 {
			t.Fatalf("%s: %d entities, %d before", name, len(got), len(want))
		}
		for i := range got {
			diff(t, name+": "+got[i].Value, want[i].Attributes, got[i].Attributes)
		}
	}
}
