// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What the same call was given is no reading of its result, by its typed value.
func TestEchoes(t *testing.T) {
	rule := func(change func(*config.Attribute)) []config.Extract {
		price := config.Attribute{Path: "$.price", Type: entity.KindMoney, Currency: "USD"}
		if change != nil {
			change(&price)
		}
		return []config.Extract{{Name: "r", Tool: "plan", Type: "Product", Value: "$.name", Attributes: map[string]config.Attribute{
			"price": price, "availability": {Path: "$.is_free", Type: entity.KindBool, Optional: true},
		}}}
	}
	lookedUp := rule(func(a *config.Attribute) { a.LookedUp = true })
	tests := []struct {
		name   string
		rules  []config.Extract
		args   any
		result m
		want   []string
	}{
		{"nothing in common", rule(nil), m{"name": "x"}, m{"name": "x", "price": 40}, nil},
		{"the same number", rule(nil), m{"price": 40}, m{"name": "x", "price": 40}, []string{"price"}},
		{"under another name", rule(nil), m{"max": 40.0}, m{"name": "x", "price": 40}, nil},
		{"under another name, of the thing", rule(nil), m{"item": " X", "plan": []any{m{"cost": 40.0}}}, m{"name": "x", "price": 40}, []string{"price"}},
		{"under another name, of another thing", rule(nil), m{"item": "y", "cost": 40.0}, m{"name": "x", "price": 40}, nil},
		{"deep", rule(nil), m{"plan": []any{m{"price": 40.0}}}, m{"name": "x", "price": 40}, []string{"price"}},
		{"spelled as money", rule(nil), m{"price": "$40.00"}, m{"name": "x", "price": 40}, []string{"price"}},
		{"inside of a text", rule(nil), m{"text": "for $40 at most"}, m{"name": "x", "price": 40}, nil},
		{"another number", rule(nil), m{"price": 41}, m{"name": "x", "price": 40}, nil},
		{"another currency", rule(nil), m{"price": "40 EUR"}, m{"name": "x", "price": 40}, nil},
		{"looked up", lookedUp, m{"price": 40}, m{"name": "x", "price": 40}, nil},
		{"a boolean of another name", rule(nil), m{"only_new": true}, m{"name": "x", "price": 40, "is_free": true}, nil},
		{"a boolean of the attribute's name", rule(nil), m{"availability": true}, m{"name": "x", "price": 40, "is_free": true}, []string{"availability"}},
		{"a boolean of the name in the result", rule(nil), m{"is_free": true}, m{"name": "x", "price": 40, "is_free": true}, []string{"availability"}},
		{"no arguments", rule(nil), nil, m{"name": "x", "price": 40}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			r.tool("T", "A", "c1=plan", test.args, test.result)
			found := fold(t, test.rules, r.rows).Graph().Entities()
			if len(found) != 1 {
				t.Fatalf("found %v", found)
			}
			diff(t, "echoes", test.want, found[0].Echoes)
		})
	}
}

// Only results are readings: not arguments, and not what a user or an agent says.
func TestSources(t *testing.T) {
	content := func(event string) []config.Extract {
		return []config.Extract{{Name: "r", In: config.InContent, Event: event, Type: "Thing", Value: "$.v"}}
	}
	tool := func(in config.In) []config.Extract {
		return []config.Extract{{Name: "r", In: in, Tool: "t", Type: "Thing", Value: "$.v"}}
	}
	result := m{"tool": "t", "result": m{"v": "x"}}
	tests := []struct {
		name    string
		rules   []config.Extract
		event   string
		content any
		attrs   m
		want    entity.Source
	}{
		{"result", tool(config.InResult), record.ToolCompleted, result, nil, entity.SourceRule},
		{"arguments", tool(config.InArgs), record.ToolStarting, m{"tool": "t", "args": m{"v": "x"}}, nil, entity.SourceClaim},
		{"action", tool(config.InAction), record.ToolStarting, m{"tool": "t", "args": m{"v": "x"}}, nil, entity.SourceAction},
		{"result of an agent", tool(config.InResult), record.ToolCompleted, m{"tool": "t", "result": m{"v": "x"}, "tool_origin": "SUB_AGENT"}, nil, entity.SourceClaim},
		{"result of a remote agent", tool(config.InResult), record.ToolCompleted, m{"tool": "t", "result": m{"v": "x"}, "tool_origin": "A2A"}, nil, entity.SourceClaim},
		{"user", content(record.UserMessageReceived), record.UserMessageReceived, m{"v": "x"}, nil, entity.SourceClaim},
		{"answer", content(record.AgentResponse), record.AgentResponse, m{"v": "x"}, nil, entity.SourceClaim},
		{"model", content(record.LLMResponse), record.LLMResponse, m{"v": "x"}, nil, entity.SourceClaim},
		{"state", content(record.StateDelta), record.StateDelta, m{"v": "x"}, nil, entity.SourceClaim},
		{"remote agent", content(record.A2AInteraction), record.A2AInteraction, m{"v": "x"}, nil, entity.SourceClaim},
		{"node", content(record.NodeOutput), record.NodeOutput, m{"v": "x"}, m{"adk.node": m{"path": "wf/find@1"}}, entity.SourceRule},
		{"node that is an agent", content(record.NodeOutput), record.NodeOutput, m{"v": "x"}, m{"adk.node": m{"path": "wf/root@1"}}, entity.SourceClaim},
		{"node that joins what agents said", content(record.NodeOutput), record.NodeOutput, m{"v": "x"}, m{"adk.node": m{"path": "wf/join@1"}, "adk.joins": true}, entity.SourceClaim},
		{"input that was taken", content(record.HITLInputRequestCompleted), record.HITLInputRequestCompleted, m{"v": "x"}, m{"adk.accepted": true}, entity.SourceRule},
		{"input that was not", content(record.HITLInputRequestCompleted), record.HITLInputRequestCompleted, m{"v": "x"}, nil, entity.SourceClaim},
		{"refused for drift", nil, record.ToolError, m{"tool": "t", "args": m{}}, m{"entities": []any{m{"type": "Thing", "value": "x"}}, "adk.drift": true}, entity.SourceDeclared},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			r.add(test.event, "root", "T", "A", test.content, test.attrs)
			found := fold(t, test.rules, r.rows).Graph().Entities()
			if len(found) != 1 {
				t.Fatalf("found %v", found)
			}
			if got := found[0].Source; got != test.want {
				t.Errorf("source %q, want %q", got, test.want)
			}
		})
	}
}

// Where a callback changed the arguments of a call that asks, the request names what the
// changed ones say.
func TestChangedArgumentsAreRead(t *testing.T) {
	rules := []config.Extract{{Name: "r", In: config.InAction, Tool: "buy", Type: "Product", Value: "$.item"}}
	r := &recorder{t: t, run: "1"}
	r.start("T", "A", "c1=buy", m{"item": "the usual"})
	r.end("T", "A", "c1=buy", m{"error": "requires confirmation"}, m{"adk.args_changed": true, "adk.args": m{"item": "Superbowl"}})
	r.end("U", "A", "c2=buy", m{"error": "requires confirmation"}, m{"adk.args_changed": true, "adk.args": m{}})
	s := graphsync.Fold(compile(t, rules), r.rows)
	var got []string
	for _, e := range s.Graph().Entities() {
		got = append(got, string(e.Source)+" "+e.Value)
	}
	diff(t, "entities", []string{"action the usual", "action Superbowl"}, got)
	if c := s.Counts(); c.Failed != 0 {
		t.Errorf("%d rows failed: %s", c.Failed, c.Error)
	}
}

// A look-up may answer without the name of the thing: then it was asked for by it.
func TestValueFromArguments(t *testing.T) {
	rules := rulesOf(t, "tool: price_of, value: {args: $.id}, attributes: {price: {path: $.price, type: money, currency: USD}}")
	for _, test := range []struct {
		args any
		want string
	}{
		{m{"id": "sku-1"}, "sku-1 $40"},
		{m{"id": 7}, "7 $40"},
		{m{"id": []any{"a", "b"}}, "failed"},
		{m{}, "failed"},
		{nil, "failed"},
	} {
		r := &recorder{t: t, run: "1"}
		attrs := m{}
		if test.args != nil {
			attrs["adk.args"] = test.args
		}
		r.end("T", "A", "c1=price_of", m{"price": 40}, attrs)
		s := graphsync.Fold(compile(t, rules), r.rows)
		got := "failed"
		for _, e := range s.Graph().Entities() {
			got = fmt.Sprint(e.Value, " ", e.Attributes["price"])
		}
		if c := s.Counts(); got != test.want || (test.want == "failed") != (c.Failed == 1) {
			t.Errorf("arguments %v: %s, %d rows failed: %s; want %s", test.args, got, c.Failed, c.Error, test.want)
		}
	}
}
