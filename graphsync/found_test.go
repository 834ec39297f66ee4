// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

func priced(value, price string) m {
	return m{"type": "Product", "value": value, "attributes": m{"price": m{"kind": "money", "value": price, "currency": "USD"}}}
}

// What a model found in a row counts as words of that row, from it on.
func TestFoundByAModelCounts(t *testing.T) {
	r := &recorder{t: t}
	first := *r.find("c1", "d1", item("a", 40))
	about := *r.add(record.AgentResponse, "root", "A", "", m{"response": "b is 9, a is 7"}, nil)
	r.find("c2", "d2", item("c", 1))
	r.found(about.EventID, priced("b", "9"), priced("a", "7"))
	r.found(first.EventID, priced("b", "8"), m{"type": "Product", "value": "b", "attributes": m{"reach": m{"kind": "number", "value": "5"}}})

	values := func(d record.Decision) []string {
		t.Helper()
		out := []string{}
		for _, e := range selectOf(t, priceRules(), d, r.rows...).Entities {
			line := e.Value
			for _, name := range sortedNames(e.Attributes) {
				line += " " + name + " " + e.Attributes[name].String() + " at " + e.AttributeSeenAt[name].Format("05.000")
			}
			for _, s := range e.Sources {
				line += " " + string(s)
			}
			out = append(out, line)
		}
		return out
	}
	for _, test := range []struct {
		name string
		upTo int64
		want []string
	}{
		{"before any row", first.Seq - 1, []string{}},
		{"in an earlier row", first.Seq, []string{"a price $40 at 00.002 rule", "b price $8 at 00.002 reach 5 at 00.002 model"}},
		{"from the row on", about.Seq, []string{"a price $40 at 00.002 rule", "b price $9 at 00.003 reach 5 at 00.002 model"}},
		{"in the end", 0, []string{"a price $40 at 00.002 rule", "b price $9 at 00.003 reach 5 at 00.002 model", "c price $1 at 00.005 rule"}},
	} {
		diff(t, test.name, test.want, values(record.Decision{UpTo: test.upTo}))
	}

	// A result shows what only words said before.
	r.find("c3", "d3", item("b", 10))
	for _, e := range selectOf(t, priceRules(), record.Decision{}, r.rows...).Entities {
		if e.Value == "b" && (e.Attributes["price"].String() != "$10" || len(e.Seen) != 1 || e.Seen[0].Source != entity.SourceRule) {
			t.Errorf("b is %+v, want it as the result shows it", e)
		}
	}
}

// That a thing is not there says more than that it was named.
func TestFoundNotToExist(t *testing.T) {
	for range 10 { // in any order
		r := &recorder{t: t}
		about := r.add(record.UserMessageReceived, "", "R", "", m{"name": "a"}, nil).EventID
		r.found(about, m{"type": "Product", "value": "a", "attributes": m{"exists": m{"kind": "boolean", "value": "false"}}})
		sel := selectOf(t, choiceRules(), record.Decision{}, r.rows...)
		if len(sel.Entities) != 1 || sel.Entities[0].Attributes[entity.Exists] != entity.Bool(false) {
			t.Fatalf("%+v", sel.Entities)
		}
	}
}

// What a model found stands at the span of the row that it was found in, and changes nothing else of
// the span.
func TestFoundByAModelIsInTheGraph(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.tool("T", "R", "c1=find", m{}, items())
	about := r.rows[len(r.rows)-1]
	r.rows[len(r.rows)-1].LatencyMS = nil
	r.add(record.InvocationCompleted, "root", "R", "", nil, nil)
	before := build(t, r.rows)
	more := r.found(about.EventID, declares("m"))
	more.Status, more.ErrorMessage, more.ParentSpanID = record.StatusError, "boom", "X"
	more.Timestamp += 1_000_000
	g := build(t, r.rows)

	want, _ := before.Node(r.key("T"))
	want.EventIDs = append(slices.Clone(want.EventIDs), more.EventID)
	want.EventTypes = append(slices.Clone(want.EventTypes), record.EntitiesFound)
	got, _ := g.Node(r.key("T"))
	diff(t, "the node", want, got)
	diff(t, "edges", before.Edges(), g.Edges())
	diff(t, "entities", []entity.Entity{{
		Type: "Product", Value: "m", Confidence: 1, Source: entity.SourceModel,
		EventID: about.EventID, SpanID: "T", TechNode: r.key("T"), SeenAt: about.Time(),
	}}, g.Entities())
	if since := g.Sightings()[0][0].Since; !since.Equal(about.Time()) {
		t.Errorf("it is known since %v, want the time of the row, %v", since, about.Time())
	}
	if n := len(g.Nodes()); n != len(before.Nodes()) {
		t.Errorf("%d nodes, want %d", n, len(before.Nodes()))
	}
}

// What was found in a row that the session does not have is left out. The row that says so stays.
func TestFoundInAnotherSession(t *testing.T) {
	other := &recorder{t: t}
	other.find("c1", "d1", item("x", 1))
	elsewhere := other.in(numbered(0))
	for name, of := range map[string]string{"unknown": "gone", "elsewhere": elsewhere[1].EventID, "nowhere": ""} {
		r := &recorder{t: t}
		r.find("c1", "d1", item("a", 40))
		row := r.found(of, declares("m"))
		row.SpanID = "unknown"
		sel := selectOf(t, priceRules(), record.Decision{}, append(r.rows, elsewhere...)...)
		diff(t, name+": things", []string{"a price $40*"}, tell(sel.Entities))
		if c := sel.Counts; c.Failed != 0 || c.RowsRead != 3 {
			t.Errorf("%s: %d rows, %d failed: %s", name, c.RowsRead, c.Failed, c.Error)
		}
		g := fold(t, priceRules(), r.rows).Graph()
		diff(t, name+": entities", 1, len(g.Entities()))
		if n, ok := g.Node(r.key("unknown")); !ok || !n.Start.Equal(row.Time()) || !n.End.Equal(row.Time()) || n.LatencyMS != 0 {
			t.Errorf("%s: the node of the row is %+v", name, n)
		}
	}
}

// Rows of a warehouse have no numbers, and what was found has the time of its row.
func TestFoundInRowsWithoutNumbers(t *testing.T) {
	for _, eventType := range append(record.EventTypes(), "SOMETHING_NEW") {
		if eventType == record.EntitiesFound {
			continue // nothing is found in those
		}
		r := &recorder{t: t, run: "1"}
		about := r.add(eventType, "root", "S", "", m{"tool": "find"}, nil).EventID
		r.found(about, declares("m"))
		for _, id := range []string{"0", "f"} { // before the other by its id, and after it
			rows := slices.Clone(r.rows)
			for i := range rows {
				rows[i].Seq, rows[i].Timestamp = 0, baseTime
			}
			rows[1].EventID = id
			if got := graphsync.Fold(nil, rows).Graph().Entities(); len(got) != 1 || got[0].EventID != about {
				t.Errorf("%s: found %+v", eventType, got)
			}
		}
	}
}

// A row of what was found that cannot be read counts as failed.
func TestFoundThatCannotBeRead(t *testing.T) {
	for name, found := range map[string]m{
		"no value":   {"type": "Product"},
		"a number":   {"type": "Product", "value": "m", "attributes": m{"price": 5}},
		"confidence": {"type": "Product", "value": "m", "confidence": 2},
	} {
		r := &recorder{t: t}
		about := r.find("c1", "d1", item("a", 40)).EventID
		bad := r.found(about, declares("m"), found).EventID
		s := graphsync.Fold(compile(t, priceRules()), r.rows)
		if c := s.Counts(); c.Failed != 1 || !strings.HasPrefix(c.Error, "row "+bad+": declared ent") {
			t.Errorf("%s: %d rows failed: %q", name, c.Failed, c.Error)
		}
		diff(t, name, []string{"a price $40*"}, tell(s.Select(record.Decision{}).Entities))
	}
}
