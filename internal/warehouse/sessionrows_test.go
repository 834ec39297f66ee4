// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"bytes"
	"errors"
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

// What a model found hangs on steps that the graph knows no more of than their keys.
func TestModelGraph(t *testing.T) {
	found := func(value, node string, second int) entity.Entity {
		return entity.Entity{
			Type: "Product", Value: value, Confidence: 0.5, Source: entity.SourceModel, EventID: "e1", TechNode: node, SpanID: "x",
			SeenAt: rowsBegin.Add(time.Duration(second) * time.Second),
		}
	}
	g, err := warehouse.ModelGraph(rowsSession, []entity.Entity{
		found("Routes", "n1", 2), found("Shoes", "n2", 1), found("Maps", "n1", 3), found("Routes", "n1", 4),
	}, map[string]string{"n1": "t1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range g.Nodes {
		line := n.NodeKey + " " + n.TraceID + " " + n.SpanID
		for _, e := range n.Entities {
			line += fmt.Sprintf(", %s %s %v", e.NodeValue, e.LinkType, e.FirstEvaluatedAt.Sub(rowsBegin))
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"n1 t1 x, Routes EVALUATED 2s, Maps EVALUATED 3s", "n2  x, Shoes EVALUATED 1s"}, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if g.Writer != warehouse.WriterModel || !g.ReadTo.Equal(rowsBegin.Add(4*time.Second)) || !g.Day.Equal(rowsBegin.Truncate(24*time.Hour)) {
		t.Errorf("writer %s, read to %v, day %v", g.Writer, g.ReadTo, g.Day)
	}
	if _, err := warehouse.ModelGraph(rowsSession, nil, nil); !errors.Is(err, warehouse.ErrNoRows) {
		t.Errorf("no entities: %v", err)
	}
}

func TestRequestsOfSteps(t *testing.T) {
	const (
		ask, answered = record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted
		in, given     = record.HITLInputRequest, record.HITLInputRequestCompleted
	)
	call := func(name string) string {
		return `{"tool":"adk_request_confirmation","args":{"originalFunctionCall":{"name":"` + name + `"}}}`
	}
	adk := func(members string) string { return `{"adk":{` + members + `}}` }
	cases := []struct {
		name string
		rows []record.Event
		// want is by span: kind, pair, agent, tool, asked, answered, confirmed, accepted, waited.
		want map[string][]string
	}{
		{"pending", []record.Event{eventAt(1, ask, "h", "buyer", call("buy"), adk(`"confirmation_id":"k"`))},
			map[string][]string{"h": {"CONFIRMATION k buyer buy 1s - - - -"}}},
		{"answered, as the answer says", []record.Event{
			eventAt(1, ask, "h", "buyer", call("buy"), adk(`"confirmation_id":"k","call_id":"c"`)),
			eventAt(4, answered, "root", "other", `{"tool":"x"}`, adk(`"confirmation_id":"k","confirmed":true,"accepted":false,"waited_ms":2500.5`)),
		}, map[string][]string{"h": {"CONFIRMATION k buyer buy 1s 4s true false 2500.5"}}},
		{"the time between the rows", []record.Event{
			eventAt(1, in, "h", "a", `{"tool":"ask_user"}`, adk(`"interrupt_id":"i","call_id":"c"`)),
			eventAt(3, given, "root", "a", `{}`, adk(`"interrupt_id":"i","call_id":"d"`)),
		}, map[string][]string{"h": {"INPUT i a ask_user 1s 3s - - 2000"}}},
		{"first request, first answer", []record.Event{
			eventAt(5, answered, "r2", "a", `{}`, adk(`"confirmation_id":"k","confirmed":false`)),
			eventAt(4, answered, "r1", "a", `{}`, adk(`"confirmation_id":"k","confirmed":"TRUE","waited_ms":"7"`)),
			eventAt(2, ask, "h2", "a", call("late"), adk(`"confirmation_id":"k"`)),
			eventAt(1, ask, "h1", "a", call("buy"), adk(`"confirmation_id":"k"`)),
		}, map[string][]string{"h1": {"CONFIRMATION k a buy 1s 4s true - 7"}}},
		{"an answer alone", []record.Event{eventAt(4, answered, "root", "a", `{"tool":"buy"}`, adk(`"confirmation_id":"k","confirmed":true`))},
			map[string][]string{"root": {"CONFIRMATION k a buy - 4s true - -"}}},
		{"an answer of another kind", []record.Event{
			eventAt(1, ask, "h", "a", `{}`, adk(`"call_id":"c"`)),
			eventAt(2, given, "root", "a", `{}`, adk(`"call_id":"c"`)),
		}, map[string][]string{"h": {"CONFIRMATION c a  1s - - - -"}, "root": {"INPUT c a  - 2s - - -"}}},
		// The plugin for Python puts requests on the span of the agent, and tells no ids: nothing is paired.
		{"without ids", []record.Event{
			eventAt(1, answered, "root", "root", `{}`, `{"adk":{"app_name":"x"}}`), // of a request that the record lacks
			eventAt(2, ask, "agent", "root", `{"tool":"adk_request_confirmation"}`, `{}`),
			eventAt(3, in, "agent", "root", `{"tool":"adk_request_input"}`, `{}`),
			eventAt(4, ask, "agent", "sub", `{"tool":"adk_request_confirmation"}`, adk(`"call_id":""`)),
			eventAt(5, ask, "agent", "named", `{}`, adk(`"confirmation_id":"k"`)),
			eventAt(6, answered, "root", "root", `{}`, `{}`),
			eventAt(8, answered, "root", "root", `{}`, `{}`),
			eventAt(9, answered, "root", "root", `{}`, `{}`),
			eventAt(10, given, "root", "root", `{}`, `{}`),
		}, map[string][]string{"agent": {
			"CONFIRMATION  root adk_request_confirmation 2s - - - -",
			"INPUT  root adk_request_input 3s - - - -",
			"CONFIRMATION  sub adk_request_confirmation 4s - - - -",
			"CONFIRMATION k named  5s - - - -",
		}, "root": {
			"CONFIRMATION  root  - 1s - - -",
			"CONFIRMATION  root  - 6s - - -",
			"CONFIRMATION  root  - 8s - - -",
			"CONFIRMATION  root  - 9s - - -",
			"INPUT  root  - 10s - - -",
		}}},
		// Other recorders name the call alone.
		{"several on one span", []record.Event{
			eventAt(1, record.AgentStarting, "agent", "root", `{}`, `{}`),
			eventAt(2, ask, "agent", "root", `{"tool":"adk_request_confirmation","args":{}}`, adk(`"call_id":"c1"`)),
			eventAt(3, record.HITLCredentialRequest, "agent", "root", `{"tool":"adk_request_credential"}`, `{"adk":"lost"}`),
			eventAt(4, ask, "agent", "sub", `"text"`, adk(`"call_id":"c2"`)),
			eventAt(6, answered, "agent", "root", `{"tool":"adk_request_confirmation","result":{"confirmed":true}}`, adk(`"call_id":"c2"`)),
		}, map[string][]string{"agent": {
			"CONFIRMATION c1 root adk_request_confirmation 2s - - - -",
			"CREDENTIAL  root adk_request_credential 3s - - - -",
			"CONFIRMATION c2 sub  4s 6s - - 2000",
		}}},
		{"without a span", []record.Event{eventAt(1, in, "", "a", `{}`, adk(`"interrupt_id":null,"call_id":7`))},
			map[string][]string{"": {"INPUT 7 a  1s - - - -"}}},
		{"values that are none", []record.Event{
			eventAt(1, ask, "h", "a", `{"tool":{}}`, adk(`"confirmation_id":"k"`)),
			eventAt(2, answered, "root", "a", ``, adk(`"confirmation_id":"k","confirmed":"yes","accepted":[true],"waited_ms":"NaN"`)),
		}, map[string][]string{"h": {"CONFIRMATION k a  1s 2s - - 1000"}}},
	}
	for _, c := range slices.Clone(cases) {
		c.name, c.rows = c.name+", as it was named before", slices.Clone(c.rows)
		for i := range c.rows {
			c.rows[i].Attributes = bytes.ReplaceAll(c.rows[i].Attributes, []byte(`"call_id":`), []byte(`"function_call_id":`))
		}
		cases = append(cases, c)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := make(map[string][]string)
			for _, n := range rowsOf(t, c.rows).Nodes {
				for _, r := range n.Requests {
					got[n.SpanID] = append(got[n.SpanID], fmt.Sprintf("%s %s %s %s %s %s %s %s %s", r.Kind, r.Pair, r.Agent, r.Tool,
						seconds(r.AskedAt), seconds(r.AnsweredAt), shown(r.Confirmed), shown(r.Accepted), shown(r.WaitedMS)))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("requests by span (-want +got):\n%s", diff)
			}
		})
	}
}

func seconds(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Sub(rowsBegin).String()
}

func shown[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
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
