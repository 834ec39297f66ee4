// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ready records a call of a tool that can be repeated.
func (r *recorder) ready(span, call string, args, result any) {
	id, tool, _ := strings.Cut(call, "=")
	started := r.add(record.ToolStarting, "planner", span, "P", m{"tool": tool, "args": args},
		m{"call_id": id, "adk.replay": schema.ReplayReady}).EventID
	r.end(span, "P", call, result, m{"adk.started": started})
}

// seen returns what a session shows, by value, and the sessions.
func (r *recorder) seen(rules []config.Extract) (map[string]entity.Canonical, *graphsync.Sessions) {
	r.t.Helper()
	ss := graphsync.NewSessions(graphsync.RowsOf(r.rows), compile(r.t, rules))
	sel, err := ss.Select(r.t.Context(), testSession, record.Decision{})
	if err != nil {
		r.t.Fatal(err)
	}
	out := make(map[string]entity.Canonical)
	for _, e := range sel.Entities {
		out[e.Value] = e
	}
	return out, ss
}

func callRules() []config.Extract {
	return append(adRules(), config.Extract{
		Name: "reach", Tool: "query_reach", Type: "Product", Value: "$.name",
		Attributes: map[string]config.Attribute{"reach": {Path: "$.reach", Type: entity.KindNumber}},
	}, config.Extract{Name: "said", In: config.InContent, Event: record.UserMessageReceived, Type: "Brief", Value: "$.text_summary"},
		config.Extract{Name: "node", In: config.InContent, Event: record.NodeOutput, Type: "Node", Value: "$.name"})
}

func TestCallsOfAnEntity(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.ready("T1", "c1=query_ad_inventory", m{"page": 1}, placements("Reels", "Strava"))
	r.ready("T2", "c2=query_ad_inventory", m{"page": 2}, placements("Reels"))
	r.ready("T3", "c3=query_reach", m{"id": "Reels"}, m{"name": "Reels", "reach": 7})
	r.ready("T4", "c4=query_audience", m{}, m{"audience": "Runners"})
	r.add(record.NodeOutput, "root", "N", "R", m{"name": "Scout"}, m{"adk.node": m{"path": "wf/find@1"}})
	seen, ss := r.seen(callRules())

	source := func(span, id, tool string, args m, attributes ...string) graphsync.Source {
		return graphsync.Source{
			Call:       graphsync.Call{Node: r.key(span), ID: id, Tool: tool, Agent: "planner", Args: args},
			Attributes: attributes,
		}
	}
	for name, want := range map[string][]graphsync.Source{
		"Strava":  {source("T1", "c1", "query_ad_inventory", m{"page": 1.0}, "availability", "price")},
		"Reels":   {source("T2", "c2", "query_ad_inventory", m{"page": 2.0}, "availability", "price"), source("T3", "c3", "query_reach", m{"id": "Reels"}, "reach")},
		"Runners": {source("T4", "c4", "query_audience", m{}, "exists")},
	} {
		got, err := ss.Sources(t.Context(), testSession, seen[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		slices.SortFunc(got, func(a, b graphsync.Source) int { return strings.Compare(a.Call.ID, b.Call.ID) })
		diff(t, name, want, got)
	}
	gone := seen["Strava"]
	gone.Seen = slices.Clone(gone.Seen)
	gone.Seen[0].EventID = "gone"
	for _, test := range []struct {
		e    entity.Canonical
		want string
	}{
		{seen["hello"], "it was never seen in the result of a tool"},
		{seen["Scout"], "exists was seen in a row of type NODE_OUTPUT, not in the result of a tool"},
		{gone, "availability was seen in a row that the record does not have"},
	} {
		if _, err := ss.Sources(t.Context(), testSession, test.e); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %q", test.e.Value, err, test.want)
		}
	}
}

// What a refusal told is read, and looked up by the call that showed the thing before.
func TestCallBehindARefusal(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.ready("T1", "c1=query_ad_inventory", m{"page": 1}, placements("Reels"))
	started := r.start("T2", "P", "c2=provision_campaign", m{"budget": 7})
	r.add(record.ToolError, "", "T2", "P", m{"tool": "provision_campaign", "args": m{"budget": 7}}, m{
		"call_id": "c2", "adk.started": started.EventID, "adk.drift": true,
		"entities": []any{m{"type": "Product", "value": "Reels", "attributes": m{"price": m{"kind": "money", "value": "52000", "currency": "USD"}}}},
	})
	seen, ss := r.seen(callRules())
	if now := seen["Reels"].Attributes["price"].String(); now != "$52,000" {
		t.Fatalf("the latest price read is %s, want that of the refusal", now)
	}
	got, err := ss.Sources(t.Context(), testSession, seen["Reels"])
	if err != nil || len(got) != 1 || got[0].Call.ID != "c1" || !slices.Equal(got[0].Attributes, []string{"availability", "price"}) {
		t.Errorf("sources %+v, %v; want the call that found it", got, err)
	}
}

// Every reason why a call cannot be repeated is told.
func TestCallProblems(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(r *recorder, started *record.Event)
		want  string
	}{
		"none":           {func(*recorder, *record.Event) {}, ""},
		"not registered": {func(r *recorder, e *record.Event) { e.Attributes = r.json(m{"adk": m{}}) }, "was not registered with Replayable"},
		"redacted": {func(r *recorder, e *record.Event) {
			e.Attributes = r.json(m{"adk": m{"replay": "its arguments were redacted"}})
		}, "its arguments were redacted"},
		"cut":           {func(_ *recorder, e *record.Event) { e.IsTruncated = true }, "cut to a limit"},
		"no attributes": {func(_ *recorder, e *record.Event) { e.Attributes = []byte("x") }, "cannot be read"},
		"changed later": {func(r *recorder, e *record.Event) {
			r.rows[len(r.rows)-1].Attributes = r.json(m{"adk": m{"started": e.EventID, "replay": "its arguments were changed"}})
		}, "its arguments were changed"},
		"no beginning": {func(_ *recorder, e *record.Event) { e.EventType = record.NodeOutput }, "does not have its beginning"},
	} {
		r := &recorder{t: t}
		r.turn("1", "R")
		r.ready("T1", "c1=query_audience", m{}, m{"audience": "Runners"})
		for i := range r.rows {
			if r.rows[i].EventType == record.ToolStarting {
				test.spoil(r, &r.rows[i])
			}
		}
		seen, ss := r.seen(adRules())
		got, err := ss.Sources(t.Context(), testSession, seen["Runners"])
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, error %v", name, got, err)
		}
		if problem := got[0].Call.Problem; (problem == "") != (test.want == "") || !strings.Contains(problem, test.want) || (problem != "" && got[0].Call.Args != nil) {
			t.Errorf("%s: %q, want %q", name, problem, test.want)
		}
	}
}

// A repeated call is read by the same rules as the first one.
func TestFound(t *testing.T) {
	r := &recorder{t: t}
	row := *r.end("", "", "c=query_ad_inventory", placements("Reels", "Strava", "reels"), nil)
	x := compile(t, adRules())
	got, err := x.Found(row, graphsync.Call{Tool: "query_ad_inventory", Args: m{"segment": "Runners", "day": "2026-03-05"}})
	if err != nil || len(got) != 4 || got["Product:text:reels"].Value != "reels" {
		t.Errorf("%v, error %v", got, err)
	}
	all := got[`all Product:text:query_ad_inventory(day: "2026-03-05", segment: Runners)`]
	if want := entity.Set("Reels", "Strava", "reels"); !all.Attributes[entity.Names].Equal(want) || all.Source != entity.SourceRule {
		t.Errorf("the set is %v, want %v, in %v", all, want, got)
	}
	row = *r.end("", "", "c=query_ad_inventory", placements("Reels"), m{"entities": []any{m{"type": "Region", "value": "EMEA"}}})
	if got, err := x.Found(row, graphsync.Call{}); err != nil || len(got) != 3 || got["Region:text:EMEA"].Source != entity.SourceDeclared {
		t.Errorf("with what the tool declares: %v, error %v", got, err)
	}
	row = *r.end("", "", "c=query_ad_inventory", m{"placements": []any{m{"price": 1}}}, nil)
	if _, err := x.Found(row, graphsync.Call{}); err == nil || !strings.Contains(err.Error(), "value $.name") {
		t.Errorf("error %v", err)
	}
}
