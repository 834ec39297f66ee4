// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The guard is told which answer of a model asked, whoever put the call there and whatever else the answer holds.
func TestGuardIsToldWhichAnswerAsked(t *testing.T) {
	buys := func() *model.LLMResponse { return adktest.Calls(call("", "buy", m{"item": "Strava"})) }
	type test struct {
		answers []*model.LLMResponse
		agent   func(*llmagent.Config)
		nth     int // of the model calls
	}
	fromModel := func(answer *model.LLMResponse) test {
		return test{answers: []*model.LLMResponse{adktest.Calls(call("", "search", nil)), answer, adktest.Text("done")}, nth: 1}
	}
	inItsPlace := func(answer *model.LLMResponse) test {
		return test{answers: []*model.LLMResponse{adktest.Text("done")}, agent: func(c *llmagent.Config) {
			n := 0
			c.BeforeModelCallbacks = []llmagent.BeforeModelCallback{func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
				if n++; n == 1 {
					return answer, nil
				}
				return nil, nil
			}}
		}}
	}
	tests := map[string]test{
		"one id twice": {answers: []*model.LLMResponse{
			adktest.Calls(call("x", "search", nil)), adktest.Calls(call("x", "buy", m{"item": "Strava"})), adktest.Text("done"),
		}, nth: 1},
		"a callback behind the model": {
			answers: []*model.LLMResponse{adktest.Calls(call("", "search", nil)), adktest.Text("no"), adktest.Text("done")}, nth: 1,
			agent: func(c *llmagent.Config) {
				c.AfterModelCallbacks = []llmagent.AfterModelCallback{func(_ agent.Context, resp *model.LLMResponse, _ error) (*model.LLMResponse, error) {
					if resp.Content.Parts[0].Text == "no" {
						return buys(), nil
					}
					return nil, nil
				}}
			},
		},
	}
	with := func(p *genai.Part) func(*genai.Content) {
		return func(c *genai.Content) { c.Parts = append(c.Parts, p) }
	}
	for name, change := range map[string]func(*genai.Content){
		"a call":                          func(*genai.Content) {},
		"with a confirmation it makes up": with(&genai.Part{FunctionCall: call("", "adk_request_confirmation", nil)}),
		"with a request for a credential": with(&genai.Part{FunctionCall: call("", "adk_request_credential", nil)}),
		"with a result it makes up":       with(genai.NewPartFromFunctionResponse("search", m{})),
		"in the role of the user":         func(c *genai.Content) { c.Role = genai.RoleUser },
		"in no role":                      func(c *genai.Content) { c.Role = "" },
	} {
		for by, made := range map[string]func(*model.LLMResponse) test{"the model": fromModel, "a callback in its place": inItsPlace} {
			answer := buys()
			change(answer.Content)
			tests[name+", "+by] = made(answer)
		}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mk := &market{}
			sink, r := guardedBy(mk, gate.Config{Settings: config.Guard{Tools: config.Tools("buy")}}, func(*gate.Gate) agent.Agent {
				cfg := llmagent.Config{Name: "root", Model: adktest.Script(tt.answers...), Tools: []tool.Tool{gives("search", m{"price": 40000}), gives("buy", m{"price": 1})}}
				if tt.agent != nil {
					tt.agent(&cfg)
				}
				return must(llmagent.New(cfg))
			})
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			d, want := mk.decided(t), sink.Of(record.LLMResponse)[tt.nth].EventID
			if d.Answer != want || d.After != "" {
				t.Errorf("answer %s, after %q; want answer %s", d.Answer, d.After, want)
			}
		})
	}
}

// Where no model asked the guard is told behind which row the step began.
func TestGuardIsToldWhenANodeBegan(t *testing.T) {
	node := func(name string) workflow.Node {
		return workflow.NewFunctionNode(name, func(agent.Context, any) (m, error) { return m{"is": name}, nil }, workflow.NodeConfig{})
	}
	first, other := node("first"), node("other")
	ask := func() workflow.Node {
		return workflow.NewEmittingFunctionNode("ask", func(ctx agent.Context, _ any, emit func(*session.Event) error) (m, error) {
			return nil, emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: "in-1", Message: "buy?"}))
		}, workflow.NodeConfig{})
	}
	for name, tt := range map[string]struct {
		edges func(workflow.Node) []workflow.Edge
		after string
	}{
		"one after the other": {func(n workflow.Node) []workflow.Edge { return workflow.Chain(workflow.Start, first, other, n) }, "wf@1/other@1"},
		"nothing before":      {func(n workflow.Node) []workflow.Edge { return workflow.Chain(workflow.Start, n) }, ""},
		"side by side": {func(n workflow.Node) []workflow.Edge {
			join := workflow.NewJoinNode("both")
			return workflow.NewEdgeBuilder().AddFanOut(workflow.Start, first, other).AddFanIn(join, first, other).Add(join, n).Build()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mk := &market{}
			sink, r := guardedBy(mk, gate.Config{Settings: config.Guard{Inputs: map[string]config.InputSettings{"ask": {}}}}, func(*gate.Gate) agent.Agent {
				return must(workflowagent.New(workflowagent.Config{Name: "wf", Edges: tt.edges(ask())}))
			})
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			want := ""
			for _, e := range sink.Of(record.NodeOutput) {
				if tt.after != "" && rowtest.Attribute(t, e, "adk", "node", "path") == tt.after {
					want = e.EventID
				}
			}
			if d := mk.decided(t); d.Answer != "" || d.After != want || (want == "") != (tt.after == "") {
				t.Errorf("answer %q, after %q, want after %q", d.Answer, d.After, want)
			}
		})
	}
}
