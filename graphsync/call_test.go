// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// ready records a call of a tool that can be repeated.
func (r *recorder) ready(span, call string, args, result any) {
	id, tool, _ := strings.Cut(call, "=")
	e := r.add(schema.ToolStarting, "planner", span, "P", m{"tool": tool, "args": args}, nil)
	e.Attributes = r.json(m{"adk": m{"app_name": "ads", "function_call_id": id, "replay": schema.ReplayReady}})
	r.end(span, "P", call, result, nil)
}

// seen returns the entities in the rows, by value.
func (r *recorder) seen(rules []graphsync.Rule) map[string]entity.Canonical {
	out := make(map[string]entity.Canonical)
	for _, e := range entity.Canonicalize(compile(r.t, rules).Extract(r.rows).Entities) {
		out[e.Value] = e
	}
	return out
}

func callRules() []graphsync.Rule {
	return append(adRules(), graphsync.Rule{
		Name: "reach", Tool: "query_reach", Type: "Product", Value: "$.name",
		Attributes: map[string]graphsync.AttributeRule{"reach": {Path: "$.reach", Kind: entity.KindNumber}},
	}, graphsync.Rule{
		Name: "wanted", Tool: "query_reach", In: graphsync.InArgs, Type: "Product", Value: "$.name",
		Attributes: map[string]graphsync.AttributeRule{"share": {Path: "$.share", Kind: entity.KindNumber, Optional: true}},
	}, graphsync.Rule{Name: "said", In: graphsync.InContent, Event: schema.UserMessageReceived, Type: "Brief", Value: "$.text_summary"})
}

func TestCallsOfAnEntity(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.ready("T1", "c1=query_ad_inventory", m{"page": 1}, placements("Reels", "Strava"))
	r.ready("T2", "c2=query_ad_inventory", m{"page": 2}, placements("Reels"))
	r.ready("T3", "c3=query_reach", m{"name": "Reels"}, m{"name": "Reels", "reach": 7})
	r.ready("T4", "c4=query_audience", m{}, m{"audience": "Runners"})
	r.ask("T5", "P", "c5=provision_campaign", "H", "conf", m{"budget": "$50,000"})
	calls, seen := graphsync.NewCalls(r.rows), r.seen(callRules())

	source := func(span, id, tool string, args m, attributes ...string) graphsync.Source {
		return graphsync.Source{
			Call:       graphsync.Call{Node: r.key(span), ID: id, Tool: tool, Agent: "planner", Args: args},
			Attributes: attributes, Named: true,
		}
	}
	for name, want := range map[string][]graphsync.Source{
		"Strava":  {source("T1", "c1", "query_ad_inventory", m{"page": 1.0}, "availability", "price")},
		"Reels":   {source("T2", "c2", "query_ad_inventory", m{"page": 2.0}, "availability", "price"), source("T3", "c3", "query_reach", m{"name": "Reels"}, "reach")},
		"Runners": {source("T4", "c4", "query_audience", m{})},
	} {
		got, err := calls.Sources(seen[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, byCall()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, want := range map[string]string{
		"$50,000": "it was never seen in the result of a tool",
		"hello":   "it was never seen in the result of a tool",
	} {
		if _, err := calls.Sources(seen[name]); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

func byCall() cmp.Option {
	return cmp.Transformer("byCall", func(in []graphsync.Source) map[string]graphsync.Source {
		out := make(map[string]graphsync.Source, len(in))
		for _, s := range in {
			out[s.Call.ID] = s
		}
		return out
	})
}

// What no result of a tool gave cannot be asked for again.
func TestCallsOfOtherPlaces(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.start("T1", "P", "c1=query_reach", m{"name": "Reels", "share": 3})
	calls, seen := graphsync.NewCalls(r.rows), r.seen(callRules())
	reels := seen["Reels"]
	if _, err := calls.Sources(reels); err == nil || !strings.Contains(err.Error(), "share stands in the arguments of a call") {
		t.Errorf("error %v", err)
	}
	model := reels
	model.Seen = []entity.Entity{reels.Seen[0]}
	model.Seen[0].Source = entity.SourceModel
	if _, err := calls.Sources(model); err == nil || !strings.Contains(err.Error(), "share was found by a model") {
		t.Errorf("error %v", err)
	}
	// An exact source counts before a model, whatever came last.
	exact, late := reels.Seen[0], reels.Seen[0]
	exact.Source, late.Source = entity.SourceRule, entity.SourceModel
	model.Seen = []entity.Entity{late, exact, late}
	if _, err := calls.Sources(model); err == nil || !strings.Contains(err.Error(), "share stands in the arguments") {
		t.Errorf("error %v", err)
	}
	model.Seen = []entity.Entity{exact}
	model.Seen[0].EventID = "gone"
	if _, err := calls.Sources(model); err == nil || !strings.Contains(err.Error(), "share was seen in a row that the record does not have") {
		t.Errorf("error %v", err)
	}
	model.Seen[0].EventID = r.rows[0].EventID
	if _, err := calls.Sources(model); err == nil || !strings.Contains(err.Error(), "in a row of type USER_MESSAGE_RECEIVED") {
		t.Errorf("error %v", err)
	}
	model.Seen = nil
	if _, err := calls.Sources(model); err == nil || !strings.Contains(err.Error(), "does not say where share was seen") {
		t.Errorf("error %v", err)
	}
}

// Every reason why a call cannot be repeated is told.
func TestCallProblems(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(r *recorder, started *schema.Event)
		want  string
	}{
		"none":           {func(*recorder, *schema.Event) {}, ""},
		"not registered": {func(r *recorder, e *schema.Event) { e.Attributes = r.json(m{"adk": m{}}) }, "was not registered with Replayable"},
		"redacted": {func(r *recorder, e *schema.Event) {
			e.Attributes = r.json(m{"adk": m{"replay": "its arguments were redacted"}})
		}, "its arguments were redacted"},
		"cut":           {func(_ *recorder, e *schema.Event) { e.IsTruncated = true }, "cut to a limit"},
		"no content":    {func(_ *recorder, e *schema.Event) { e.Content = nil }, "cannot be read"},
		"no attributes": {func(_ *recorder, e *schema.Event) { e.Attributes = []byte("x") }, "cannot be read"},
		"changed later": {func(r *recorder, _ *schema.Event) {
			r.rows[len(r.rows)-1].Attributes = r.json(m{"adk": m{"replay": "its arguments were changed"}})
		}, "its arguments were changed"},
		"two beginnings": {func(r *recorder, e *schema.Event) {
			again := *e
			again.EventID, again.Content = "again", r.json(m{"tool": "query_audience", "args": m{"page": 2}})
			r.rows = append(r.rows, again)
		}, "several beginnings"},
		"no beginning": {func(_ *recorder, e *schema.Event) { e.EventType = schema.NodeOutput }, "does not have its beginning"},
	} {
		r := &recorder{t: t}
		r.turn("1", "R")
		r.ready("T1", "c1=query_audience", m{}, m{"audience": "Runners"})
		for i := range r.rows {
			if r.rows[i].EventType == schema.ToolStarting {
				test.spoil(r, &r.rows[i])
			}
		}
		got, err := graphsync.NewCalls(r.rows).Sources(r.seen(callRules())["Runners"])
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
	got, err := x.Found(row)
	if err != nil || len(got) != 2 || got[0].Value != "reels" || got[1].Value != "Strava" {
		t.Errorf("%v, error %v", got, err)
	}
	row = *r.end("", "", "c=query_ad_inventory", m{"placements": []any{m{"price": 1}}}, nil)
	if _, err := x.Found(row); err == nil || !strings.Contains(err.Error(), "value $.name") {
		t.Errorf("error %v", err)
	}
}

// A call that showed the entity by its own name is repeated beside those that gave its
// values under another one.
func TestCallsOfSpellings(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.ready("T1", "c1=query_ad_inventory", m{"page": 1}, placements("reels"))
	r.ready("T2", "c2=query_ad_inventory", m{"page": 2}, placements("Reels"))
	r.ready("T3", "c3=query_reach", m{"name": "REELS"}, m{"name": "REELS", "reach": 7})
	calls, seen := graphsync.NewCalls(r.rows), r.seen(callRules())
	e, ok := seen["REELS"]
	if !ok {
		t.Fatalf("seen %v", seen)
	}
	for value, want := range map[string]string{"reels": "c1[] true c2[availability price] false c3[reach] false", "Reels": "c2[availability price] true c3[reach] false",
		"REELS": "c2[availability price] false c3[reach] true", "rEELS": "c2[availability price] false c3[reach] false"} {
		e.Value = value
		sources, err := calls.Sources(e)
		var got []string
		for _, s := range sources {
			got = append(got, fmt.Sprint(s.Call.ID, s.Attributes, " ", s.Named))
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); err != nil || text != want {
			t.Errorf("%s: %q, %v, want %q", value, text, err, want)
		}
	}
}
