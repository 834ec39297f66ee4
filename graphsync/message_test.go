// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A message that only answers calls names nothing: rules read what a user says.
func TestMessagesThatAnswerNameNothing(t *testing.T) {
	const (
		text   = `{"mime_type":"text/plain","text":"Strava Routes","part_attributes":"{}"}`
		answer = `{"mime_type":"application/json","text":"Function response: buy","part_attributes":"{\"function_response\":{\"name\":\"buy\"}}"}`
		call   = `{"mime_type":"application/json","text":"Function: buy","part_attributes":"{\"function_name\":\"buy\"}"}`
		looks  = `{"mime_type":"text/plain","text":"Function response: buy","part_attributes":"{}"}`
	)
	rules := compile(t, []config.Extract{{Name: "said", In: config.InContent, Event: record.UserMessageReceived, Type: "Brief", Value: "$.text_summary"}})
	for name, tt := range map[string]struct {
		summary, parts string
		want           []string
		failed         int
	}{
		"a text":                      {"Strava Routes", "[" + text + "]", []string{"Strava Routes"}, 0},
		"a text, its parts not kept":  {"Strava Routes", "", []string{"Strava Routes"}, 0},
		"an answer":                   {"Function response: buy", "[" + answer + "]", nil, 0},
		"answers":                     {"Function response: buy | Function response: buy", "[" + answer + "," + answer + "]", nil, 0},
		"an answer and a text":        {"Function response: buy | Strava Routes", "[" + answer + "," + text + "]", []string{"Function response: buy | Strava Routes"}, 0},
		"a text that looks like one":  {"Function response: buy", "[" + looks + "]", []string{"Function response: buy"}, 0},
		"a call":                      {"", "[" + call + "]", nil, 1},
		"no text":                     {"", "[]", nil, 1},
		"parts that are none":         {"Strava Routes", `{"a":1}`, []string{"Strava Routes"}, 0},
		"attributes that are no JSON": {"Strava Routes", `[{"part_attributes":"x"}]`, []string{"Strava Routes"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			e := r.add(record.UserMessageReceived, "root", "R", "", m{"text_summary": tt.summary}, nil)
			if tt.parts != "" {
				e.ContentParts = []byte(tt.parts)
			}
			session := graphsync.Fold(rules, r.rows)
			var got []string
			for _, e := range session.Graph().Entities() {
				got = append(got, e.Value)
			}
			if c := session.Counts(); !slices.Equal(got, tt.want) || c.Failed != tt.failed {
				t.Errorf("%q and %d failed rows, want %q and %d: %s", got, c.Failed, tt.want, tt.failed, c.Error)
			}
		})
	}
}

// The path of the example finds a budget in a message that is one, and no fault in others.
func TestBudgetInBrief(t *testing.T) {
	example, err := os.ReadFile("../contextgraph.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	each := regexp.MustCompile(`# amount: "(.*?)"`).FindSubmatch(example)
	if each == nil {
		t.Fatal("the example has no path of a message that is an amount")
	}
	rules := []config.Extract{{
		Name: "budget_in_brief", Event: record.UserMessageReceived, In: config.InContent, Each: string(each[1]),
		Type: "Budget", Value: "$", ValueType: entity.KindMoney, Currency: "USD",
	}}
	for text, want := range map[string][]string{
		"$50,000": {"Budget $50,000 (claim 1)"}, "$50000": {"Budget $50,000 (claim 1)"}, "$5,00": {}, "about $50,000": {}, "": {}, "$": {}, "2 routes": {},
	} {
		r := &recorder{t: t}
		r.add(record.UserMessageReceived, "root", "R", "", m{"text_summary": text}, nil)
		diff(t, text, want, shown(fold(t, rules, r.rows).Graph().Entities()))
	}
}
