// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

var (
	rowsSession = record.Session{App: "shop", User: "alice", ID: "s1"}
	rowsBegin   = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
)

// eventAt makes a row a number of seconds after the session began.
func eventAt(second int, typ, span, agent, content, attributes string) record.Event {
	return record.Event{
		EventID: fmt.Sprintf("e%02d", second), EventType: typ, Agent: agent, AppName: rowsSession.App, UserID: rowsSession.User,
		SessionID: rowsSession.ID, TraceID: "t", SpanID: span, Timestamp: rowsBegin.Add(time.Duration(second) * time.Second).UnixMicro(),
		Content: []byte(content), Attributes: []byte(attributes),
	}
}

func rowsOf(t *testing.T, rows []record.Event) warehouse.SessionGraph {
	t.Helper()
	g, err := warehouse.NewSessionGraph(rowsSession, graphsync.Fold(nil, rows))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A step that sees an entity before and after a request has what it knew before in its
// row too.
func TestSightingsOfAStep(t *testing.T) {
	sees := func(second int, price string) []record.Event {
		declared := eventAt(second, record.EntitiesDeclared, "x", "a", `{}`, fmt.Sprintf(`{"entities":[
			{"type":"Product","value":"Routes","attributes":{"price":{"kind":"money","value":%q,"currency":"USD"}}}]}`, price))
		declared.EventID = "d" + declared.EventID
		return []record.Event{declared, eventAt(second, record.ToolCompleted, "x", "a", `{}`, `{}`)}
	}
	money := func(price string) string {
		return `{"price":{"kind":"money","value":"` + price + `","currency":"USD"}}`
	}
	sighting := func(second int, price string) string {
		return fmt.Sprintf("e%02d %ds declared %s", second, second, money(price))
	}
	cases := []struct {
		name string
		rows []record.Event
		last int // second of the last row with the entity
		now  string
		want []string
	}{
		{
			name: "once", last: 1, now: money("1"),
			rows: append(sees(1, "1"), eventAt(2, record.ToolCompleted, "x", "a", `{}`, `{}`)),
		},
		{
			name: "before and after a request", last: 3, now: money("2"), want: []string{sighting(1, "1")},
			rows: slices.Concat(sees(1, "1"), []record.Event{eventAt(2, record.HITLConfirmationRequest, "x", "a", `{}`, `{}`)}, sees(3, "2")),
		},
		{
			name: "three times", last: 4, now: money("3"), want: []string{sighting(1, "1"), sighting(2, "2")},
			rows: slices.Concat(sees(4, "3"), sees(1, "1"), sees(2, "2")),
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := rowsOf(t, c.rows)
			es := entitiesOf(g)
			if len(es) != 1 {
				t.Fatalf("entities = %+v", es)
			}
			e := es[0]
			var got []string
			for _, s := range e.Sightings {
				got = append(got, fmt.Sprintf("%s %.0fs %s %s", s.EventID, s.EvaluatedAt.Sub(rowsBegin).Seconds(), s.Source, s.Attributes))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("sightings (-want +got):\n%s", diff)
			}
			first := rowsBegin.Add(time.Second)
			if !e.FirstEvaluatedAt.Equal(first) {
				t.Errorf("first evaluated at %v", e.FirstEvaluatedAt)
			}
			if at := e.EvaluatedAt.Sub(rowsBegin); at != time.Duration(c.last)*time.Second || string(e.Attributes) != c.now {
				t.Errorf("last evaluated after %v with %s, want %ds with %s", at, e.Attributes, c.last, c.now)
			}
		})
	}
}

// The link says whether a step showed an entity or only named it, the row which of its
// attributes nobody looked up.
func TestLinksOfActionsAndResults(t *testing.T) {
	price := map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindNumber}}
	x, err := graphsync.Compile([]config.Extract{
		{Name: "action", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.id", Attributes: price},
		{Name: "args", Tool: "find", In: config.InArgs, Type: "Product", Value: "$.id", Attributes: price},
		{Name: "result", Tool: "find", Type: "Product", Value: "$.id", Attributes: map[string]config.Attribute{
			"price": price["price"], "status": {Path: "$.status", Optional: true},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func(n int, span, tool, args, result string) []record.Event {
		return []record.Event{
			eventAt(n, record.ToolStarting, span, "a", `{"tool":"`+tool+`","args":`+args+`}`, `{}`),
			eventAt(n+1, record.ToolCompleted, span, "a", `{"tool":"`+tool+`","result":`+result+`}`, `{}`),
		}
	}
	g, err := warehouse.NewSessionGraph(rowsSession, graphsync.Fold(x, slices.Concat(
		call(1, "found", "find", `{}`, `{"id":"A","price":1,"status":"new"}`),
		call(3, "repeated", "find", `{"id":"A","price":2}`, `{"id":"A","price":2}`),
		call(5, "partly", "find", `{"id":"A","price":3}`, `{"id":"A","price":3,"status":"old"}`),
		call(7, "bought", "buy", `{"id":"A","price":4}`, `{}`),
	)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range g.Nodes {
		for _, e := range n.Entities {
			line := fmt.Sprintf("%s %s %s %s", n.SpanID, e.Source, e.LinkType, e.Echoes)
			for _, s := range e.Sightings {
				line += fmt.Sprintf(", before %s %s", s.Source, s.Echoes)
			}
			got = append(got, line)
		}
	}
	want := []string{
		`found rule EVALUATED `, `repeated rule NAMED ["price"], before claim `, `partly rule EVALUATED ["price"], before claim `, `bought action NAMED `,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
}

func entitiesOf(g warehouse.SessionGraph) []warehouse.EntityRow {
	var out []warehouse.EntityRow
	for _, n := range g.Nodes {
		out = append(out, n.Entities...)
	}
	return out
}

// A check names the call that it is about, under whichever name its row has it.
func TestCallOfACheck(t *testing.T) {
	for _, name := range []string{"call_id", "function_call_id"} {
		g := rowsOf(t, []record.Event{
			eventAt(1, record.ToolStarting, "tool", "a", `{"tool":"buy","args":{}}`, `{"adk":{"`+name+`":"c1"}}`),
			eventAt(2, record.WorldChangeCheck, "check", "a", `{}`, `{"adk":{"verdict":"safe","`+name+`":"c1"}}`),
		})
		if c := g.Nodes[1].Checks[0]; c.CallID != "c1" || c.Tool != "buy" || g.Nodes[0].CallID != "c1" {
			t.Errorf("%s: check of call %q of tool %q, step of call %q", name, c.CallID, c.Tool, g.Nodes[0].CallID)
		}
	}
}

// A check stands in the step of its row.
func TestNodeOfACheck(t *testing.T) {
	g := rowsOf(t, []record.Event{
		eventAt(1, record.WorldChangeCheck, "check", "a", `{}`, `{"adk":{"verdict":"safe"}}`),
		eventAt(2, record.WorldChangeCheck, "", "a", `{}`, `{"adk":{"verdict":"safe"}}`),
	})
	if key := graphsync.TechNodeKey(rowsSession, "t", "check"); g.Nodes[0].NodeKey != key {
		t.Errorf("node %s, want %s", g.Nodes[0].NodeKey, key)
	}
	for i, id := range []string{"e01", "e02"} {
		if checks := g.Nodes[i].Checks; len(checks) != 1 || checks[0].CheckID != id {
			t.Errorf("step %d has the checks %+v, want %s", i, checks, id)
		}
	}
}
