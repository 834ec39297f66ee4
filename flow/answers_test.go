// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// A turn is a message, and what the nodes do about it: with ADK, and with this package.
type turn struct {
	say         func(before []*session.Event) *genai.Content
	stock, flow string
	// twice is what the same answer does when it is sent again; ours is always nothing.
	twice string
}

func text(s string) func([]*session.Event) *genai.Content {
	return func([]*session.Event) *genai.Content { return adktest.UserText(s) }
}

func says(parts ...*genai.Part) func([]*session.Event) *genai.Content {
	return func([]*session.Event) *genai.Content { return answer(parts...) }
}

func confirms(yesNo bool) func([]*session.Event) *genai.Content {
	return func(events []*session.Event) *genai.Content { return yes(events, yesNo) }
}

func edges(e ...workflow.Edge) []workflow.Edge { return e }

func to(from, to workflow.Node) workflow.Edge { return workflow.Edge{From: from, To: to} }

func by(from, to workflow.Node, r workflow.Route) workflow.Edge {
	return workflow.Edge{From: from, To: to, Route: r}
}

// joined has two nodes side by side, a join, and told C behind it.
func joined(w *world, a, b workflow.Node) []workflow.Edge {
	j := workflow.NewJoinNode("J")
	return edges(to(workflow.Start, a), to(workflow.Start, b), to(a, j), to(b, j), to(j, told(w, "C")))
}

// answerCases are what a person's answer does in workflows.
var answerCases = []struct {
	name  string
	edges func(w *world, k kit) []workflow.Edge
	turns []turn
}{
	{"join, one hands over",
		func(w *world, k kit) []workflow.Edge { return joined(w, done(w, "A"), hands(w, "B")) },
		[]turn{
			{say: text("go"), stock: "A B?", flow: "A B?"},
			{say: says(pair("B-1", "yes")), stock: "", flow: `C({"A":"A!","B":"yes"})`},
		}},
	{"join, one runs again",
		func(w *world, k kit) []workflow.Edge { return joined(w, done(w, "A"), reruns(w, "B")) },
		[]turn{
			{say: text("go"), stock: "A B?", flow: "A B?"},
			{say: says(pair("B-1", "yes")), stock: "B", flow: `B C({"A":"A!","B":"yes"})`, twice: "B"},
		}},
	{"join, a sibling without output",
		func(w *world, k kit) []workflow.Edge { return joined(w, silent(w, "A"), reruns(w, "B")) },
		[]turn{
			{say: text("go"), stock: "A B?", flow: "A B?"},
			{say: says(pair("B-1", "yes")), stock: "B", flow: `B C({"A":null,"B":"yes"})`, twice: "B"},
		}},
	{"two who hand over, one by one",
		func(w *world, k kit) []workflow.Edge { return joined(w, hands(w, "A"), hands(w, "B")) },
		[]turn{
			{say: text("go"), stock: "A? B?", flow: "A? B?"},
			{say: says(pair("A-1", "a")), stock: "", flow: ""},
			{say: says(pair("B-1", "b")), stock: `C({"A":"a","B":"b"})`, flow: `C({"A":"a","B":"b"})`},
		}},
	{"one runs again, one hands over",
		func(w *world, k kit) []workflow.Edge { return joined(w, reruns(w, "A"), hands(w, "B")) },
		[]turn{
			{say: text("go"), stock: "A? B?", flow: "A? B?"},
			{say: says(pair("A-1", "a")), stock: "A", flow: "A", twice: "A"},
			{say: says(pair("B-1", "b")), stock: "", flow: `C({"A":"a","B":"b"})`},
		}},
	{"two answers at once",
		func(w *world, k kit) []workflow.Edge { return joined(w, reruns(w, "A"), hands(w, "B")) },
		[]turn{
			{say: text("go"), stock: "A? B?", flow: "A? B?"},
			{say: says(pair("A-1", "a"), pair("B-1", "b")), stock: `A C({"A":"a","B":"b"})`, flow: `A C({"A":"a","B":"b"})`, twice: `A C({"A":"a","B":"b"})`},
		}},
	{"the answer is the route",
		func(w *world, k kit) []workflow.Edge {
			r := routes(w, "R")
			return edges(to(workflow.Start, r), by(r, told(w, "Y"), workflow.StringRoute("yes")), by(r, told(w, "N"), workflow.Default))
		},
		[]turn{
			{say: text("go"), stock: "R?", flow: "R?"},
			{say: says(pair("R-1", "yes")), stock: `R Y("yes")`, flow: `R Y("yes")`, twice: `R Y("yes")`},
		}},
	{"asks, loops back, asks again",
		func(w *world, k kit) []workflow.Edge {
			r, f := routes(w, "R"), done(w, "F")
			return edges(to(workflow.Start, r), by(r, f, workflow.StringRoute("again")), by(f, r, workflow.Default), by(r, told(w, "E"), workflow.Default))
		},
		[]turn{
			{say: text("go"), stock: "R?", flow: "R?"},
			{say: says(pair("R-1", "again")), stock: "F R R?", flow: "F R R?", twice: "F R R?"},
			{say: says(pair("R-2", "ok")), stock: `E("ok") R`, flow: `E("ok") R`, twice: `E("ok") R`},
		}},
	{"a dynamic node: prepare, ask, finish",
		func(w *world, k kit) []workflow.Edge {
			prep, ask := done(w, "P"), reruns(w, "Q")
			d := workflow.NewDynamicNode("D", func(ctx agent.Context, in any, _ func(*session.Event) error) (any, error) {
				if _, err := workflow.RunNode[any](ctx, prep, in); err != nil {
					return nil, err
				}
				return workflow.RunNode[any](ctx, ask, in)
			}, workflow.NodeConfig{})
			return edges(to(workflow.Start, d), to(d, told(w, "C")))
		},
		[]turn{
			{say: text("go"), stock: "P Q?", flow: "P Q?"},
			{say: says(pair("Q-1", "a")), stock: `C("a") P Q`, flow: `C("a") Q`, twice: `C("a")`},
		}},
	{"a nested workflow asks",
		func(w *world, k kit) []workflow.Edge {
			in := reruns(w, "I")
			n, err := k.nested("N", edges(to(workflow.Start, in), to(in, told(w, "I2"))))
			if err != nil {
				w.t.Fatal(err)
			}
			return edges(to(workflow.Start, n), to(n, told(w, "C")))
		},
		[]turn{
			{say: text("go"), stock: "I?", flow: "I?"},
			{say: says(pair("I-1", "a")), stock: `C("a")`, flow: `C("I2!") I I2("a")`},
		}},
	{"a join in a nested workflow beside a silent node, both levels",
		func(w *world, k kit) []workflow.Edge {
			n, err := k.nested("N", joined(w, silent(w, "I"), hands(w, "K")))
			if err != nil {
				w.t.Fatal(err)
			}
			j, s := workflow.NewJoinNode("J2"), silent(w, "S")
			return edges(to(workflow.Start, n), to(workflow.Start, s), to(n, j), to(s, j), to(j, told(w, "Z")))
		},
		[]turn{
			{say: text("go"), stock: "I K? S", flow: "I K? S"},
			{say: says(pair("K-1", "a")), stock: ``, flow: `C({"I":null,"K":"a"}) Z({"N":"C!","S":null})`},
		}},
	{"a confirmation in an agent",
		func(w *world, k kit) []workflow.Edge {
			a, b := done(w, "A"), k.node(buyer(w, "B"))
			return edges(to(workflow.Start, a), to(a, b), to(b, told(w, "C")))
		},
		[]turn{
			{say: text("go"), stock: "A B?", flow: "A B?"},
			{say: confirms(true), stock: "A B?", flow: `B:buy C("Bought.")`, twice: "A B?"},
		}},
	{"confirmations in two agents, one by one, and a join",
		func(w *world, k kit) []workflow.Edge { return joined(w, k.node(buyer(w, "A")), k.node(buyer(w, "B"))) },
		[]turn{
			{say: text("go"), stock: "A? B?", flow: "A? B?"},
			{say: confirms(true), stock: "A? B?", flow: `A:buy B:buy C({"A":"Bought.","B":"Bought."})`, twice: "A? B?"},
		}},
}

func TestAnswers(t *testing.T) {
	for _, k := range []kit{stock, ours} {
		for where, service := range services() {
			for _, c := range answerCases {
				t.Run(k.name+"/"+where+"/"+c.name, func(t *testing.T) {
					w := &world{t: t, service: service(), root: func(w *world) agent.Agent {
						a, err := k.agent(workflowagent.Config{Name: "w", Edges: c.edges(w, k)})
						if err != nil {
							t.Fatal(err)
						}
						return a
					}}
					play(t, w, k, c.turns)
				})
			}
		}
	}
}

// play plays the turns. Each answer is sent twice.
func play(t *testing.T, w *world, k kit, turns []turn) {
	t.Helper()
	var before []*session.Event
	for i, turn := range turns {
		msg := turn.say(before)
		events, err := w.run(msg)
		want := turn.flow
		if k.name == "stock" {
			want = turn.stock
		} else if err != nil {
			t.Fatalf("turn %d: %v", i+1, err)
		}
		for _, ev := range events {
			if path := ev.NodeInfo; k.name == "flow" && path != nil && !strings.HasPrefix(path.Path, "w@1") && !strings.HasPrefix(path.Path, "root") {
				t.Errorf("turn %d: the path of an event is %q", i+1, path.Path)
			}
		}
		if got := w.take(); got != want {
			t.Fatalf("turn %d: the nodes did %q, want %q; error %v", i+1, got, want, err)
		}
		if k.name == "stock" && len(adktest.Confirmations(events)) == 0 {
			events = before
		}
		before = events
		if i == 0 {
			continue
		}
		_, err = w.run(msg)
		got := w.take()
		if k.name == "stock" {
			if got != turn.twice {
				t.Fatalf("turn %d, sent again: ADK did %q, we thought %q", i+1, got, turn.twice)
			}
			continue
		}
		if !errors.Is(err, flow.ErrAnswered) || got != "" {
			t.Fatalf("turn %d, sent again: the nodes did %q, error %v; want ErrAnswered", i+1, got, err)
		}
	}
}

// below puts a workflow below an LLM agent that hands over to it.
func below(w *world, k kit, e []workflow.Edge) agent.Agent {
	inner, err := k.agent(workflowagent.Config{Name: "w", Description: "the workflow", Edges: e})
	if err != nil {
		w.t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Mode: llmagent.ModeChat, SubAgents: []agent.Agent{inner},
		Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			return adktest.Call("transfer_to_agent", map[string]any{"agent_name": "w"}), nil
		}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return root
}

func TestBelowAnAgent(t *testing.T) {
	for where, service := range services() {
		for name, c := range map[string]struct {
			ask   func(*world) workflow.Node
			say   func([]*session.Event) *genai.Content
			wants string
		}{
			"input":        {func(w *world) workflow.Node { return reruns(w, "B") }, says(pair("B-1", "yes")), `B C({"A":"A!","B":"yes"})`},
			"confirmation": {func(w *world) workflow.Node { return flow.AgentNode(buyer(w, "B")) }, confirms(true), `B:buy C({"A":"A!","B":"Bought."})`},
		} {
			t.Run(where+"/"+name, func(t *testing.T) {
				w := &world{t: t, service: service(), root: func(w *world) agent.Agent {
					return below(w, ours, joined(w, done(w, "A"), c.ask(w)))
				}}
				play(t, w, ours, []turn{{say: text("go"), flow: "A B?"}, {say: c.say, flow: c.wants}})
			})
		}
	}
}

// Below an LLM agent too, a message while the flow waits runs nothing, and two who asked are answered one by one.
func TestBelowAnAgentItWaits(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := &world{t: t, service: service(), root: func(w *world) agent.Agent {
				return below(w, ours, joined(w, flow.AgentNode(buyer(w, "A")), flow.AgentNode(buyer(w, "B"))))
			}}
			both := yes(w.want(adktest.UserText("go"), "A? B?", nil), true)
			if got := said(w.want(adktest.UserText("well?"), "", nil)); strings.Count(got, "The flow waits for an answer") != 1 {
				t.Errorf("the flow says %q", got)
			}
			first, err := w.run(answer(both.Parts[0]))
			if got := w.take(); err != nil || got != "A:buy" && got != "B:buy" || len(adktest.Confirmations(first)) > 0 {
				t.Fatalf("the nodes did %q, error %v", got, err)
			}
			w.want(answer(both.Parts[0]), "", flow.ErrAnswered)
			second, err := w.run(answer(both.Parts[1]))
			if got := w.take(); err != nil || !strings.HasSuffix(got, `:buy C({"A":"Bought.","B":"Bought."})`) || len(second) == 0 {
				t.Fatalf("the nodes did %q, error %v", got, err)
			}
		})
	}
}
