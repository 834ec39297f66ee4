// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"testing"
	"time"

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
	r.llm("L", "R", "c=query_ad_inventory")
	r.start("T", "R", "c=query_ad_inventory", m{"placement": "Reels"})
	for range 50 { // what else happens while the tool works
		r.add(record.StateDelta, "root", "R", "", m{"tick": 1}, nil)
	}
	end := r.end("T", "R", "c=query_ad_inventory", placements("Reels"), nil)
	seen, id, node := end.Timestamp, end.EventID, r.key("T")
	r.turn("2", "R2") // another trace with a span of the same id
	r.end("T", "R2", "d=query_audience", m{"audience": "Runners"}, nil)

	g := build(t, r.rows)
	for _, e := range g.Canonical() {
		if e.Type != "Product" {
			continue
		}
		want := time.UnixMicro(seen).UTC()
		if !e.LastSeen.Equal(want) || len(e.Seen) != 1 || e.Seen[0].EventID != id || e.Seen[0].TechNode != node {
			t.Errorf("%s was seen at %v by %+v, want at %v in row %s", e.Value, e.LastSeen, e.Seen, want, id)
		}
		for name, at := range e.AttributeSeenAt {
			if !at.Equal(want) {
				t.Errorf("%s of %s was seen at %v, want %v", name, e.Value, at, want)
			}
		}
		return
	}
	t.Errorf("no product in %+v", g.Canonical())
}

// A model that leaves out what a rule finds, says that there is nothing, or says something
// else of it, takes nothing away.
func TestW11AModelLeavesOutNothing(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.llm("L", "R", "c=query_ad_inventory")
	r.tool("T", "R", "c=query_ad_inventory", m{}, placements("Reels"))
	r.llm("L2", "R", "ask=provision_campaign")
	r.ask("P", "R", "ask=provision_campaign", "H", "conf", m{"budget": 50000})
	want := evidence(t, build(t, r.rows), r.key("H"))
	if len(want) == 0 {
		t.Fatal("no evidence")
	}
	last := want[len(want)-1]
	for name, found := range map[string][]m{
		"nothing":       {},
		"another price": {{"type": last.Type, "value": last.Value, "attributes": m{"price": m{"kind": "text", "value": "free"}}}},
	} {
		with := *r
		with.rows = slices.Clone(r.rows)
		with.found(last.Seen[0].EventID, found...)
		got := evidence(t, build(t, with.rows), r.key("H"))
		if len(got) != len(want) {
			t.Fatalf("%s: %d entities, want %d", name, len(got), len(want))
		}
		for i := range got {
			diff(t, name+": "+got[i].Value, want[i].Attributes, got[i].Attributes)
		}
	}
}
