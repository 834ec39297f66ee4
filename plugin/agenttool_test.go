// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// makeTool makes a tool of an agent: ADK's way or ours.
type makeTool func(agent.Agent, *agenttool.Config) tool.Tool

// calling returns an agent whose model calls the tool once with args.
func calling(t tool.Tool, args map[string]any) agent.Agent {
	return modelAgent("root", &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) != nil {
			return adktest.Text("done"), nil
		}
		return adktest.Calls(&genai.FunctionCall{ID: "call-1", Name: t.Name(), Args: args}), nil
	}}, func(c *llmagent.Config) { c.Tools = []tool.Tool{t} })
}

func withSchemas(in, out *genai.Schema) func(*llmagent.Config) {
	return func(c *llmagent.Config) { c.InputSchema, c.OutputSchema = in, out }
}

func objectOf(props map[string]*genai.Schema, required ...string) *genai.Schema {
	return &genai.Schema{Type: "OBJECT", Properties: props, Required: required}
}

// AgentTool answers as ADK's own tool does, and asks the agent the same.
func TestAgentToolIsADKs(t *testing.T) {
	order := objectOf(map[string]*genai.Schema{
		"item": {Type: "STRING"}, "count": {Type: "INTEGER"}, "price": {Type: "number"}, "gift": {Type: "BOOLEAN"},
		"tags": {Type: "ARRAY", Items: &genai.Schema{Type: "STRING"}}, "bare": {Type: "ARRAY"},
		"to":  objectOf(map[string]*genai.Schema{"city": {Type: "STRING"}}, "city"),
		"odd": {Type: "WHATEVER"}, "null": nil,
	}, "item")
	answers := func(text string) func() model.LLM { return func() model.LLM { return adktest.Says(text) } }
	ask := map[string]any{"request": "how many?"}
	type test struct {
		name  string
		model func() model.LLM
		opts  []func(*llmagent.Config)
		make  func(model.LLM) agent.Agent
		cfg   *agenttool.Config
		args  map[string]any
		state map[string]any
	}
	tests := []test{
		{name: "text", model: answers("seven"), args: ask},
		{name: "config", model: answers("seven"), cfg: &agenttool.Config{}, args: ask},
		{name: "skip summarization", model: answers("seven"), cfg: &agenttool.Config{SkipSummarization: true}, args: ask},
		{name: "no request", model: answers("seven"), args: map[string]any{"question": "?"}},
		{name: "no arguments", model: answers("seven")},
		{name: "request is a number", model: answers("seven"), args: map[string]any{"request": 7.5}},
		{name: "empty answer", model: answers(""), args: ask},
		{name: "model fails", model: func() model.LLM { return broken() }, args: ask},
		{name: "model refuses", model: func() model.LLM {
			return &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
				return &model.LLMResponse{ErrorCode: "SAFETY", ErrorMessage: "blocked"}, nil
			}}
		}, args: ask},
		{name: "several parts", model: func() model.LLM {
			return &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
				return &model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "a"}, {Text: "b"}}}}, nil
			}}
		}, args: ask},
		{name: "state", model: answers("seven"), args: ask, state: map[string]any{"color": "red", "_adk_secret": "x"},
			opts: []func(*llmagent.Config){func(c *llmagent.Config) { c.Instruction = "Paint it {color}. {_adk_secret?}" }}},
		{name: "agent of its own kind", args: ask, model: answers(""), make: func(model.LLM) agent.Agent {
			return codeAgent("sub", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
				yield(textEvent(ctx, "from code"), nil)
			})
		}},
		{name: "agent of its own kind fails", args: ask, model: answers(""), make: func(model.LLM) agent.Agent {
			return codeAgent("sub", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
				yield(nil, errors.New("own agent failed"))
			})
		}},
		{name: "agent that is in the tree twice", args: ask, model: answers("seven"), make: func(m model.LLM) agent.Agent {
			return modelAgent("sub", m, func(c *llmagent.Config) { c.SubAgents = []agent.Agent{modelAgent("sub", m)} })
		}},
		{name: "first of several with a schema", args: map[string]any{"item": "x"}, model: answers("seven"), make: func(m model.LLM) agent.Agent {
			return sequential("sub", modelAgent("a", m, withSchemas(order, nil)))
		}},
		{name: "output", model: answers(`{"item":"route","count":3}`), opts: []func(*llmagent.Config){withSchemas(nil, order)}, args: ask},
		{name: "output is no JSON", model: answers("three"), opts: []func(*llmagent.Config){withSchemas(nil, order)}, args: ask},
		{name: "output is null", model: answers("null"), opts: []func(*llmagent.Config){withSchemas(nil, order)}, args: ask},
		{name: "output of another type", model: answers(`{"item":1}`), opts: []func(*llmagent.Config){withSchemas(nil, order)}, args: ask},
		{name: "output lacks a property", model: answers(`{"count":1}`), opts: []func(*llmagent.Config){withSchemas(nil, order)}, args: ask},
		{name: "empty output", model: answers(""), opts: []func(*llmagent.Config){withSchemas(nil, order)}, args: ask},
		{name: "empty schema", model: answers(`{}`), opts: []func(*llmagent.Config){withSchemas(&genai.Schema{}, &genai.Schema{})}, args: map[string]any{}},
		{name: "schema like the default", model: answers("seven"), args: ask, opts: []func(*llmagent.Config){
			withSchemas(objectOf(map[string]*genai.Schema{"request": {Type: "STRING"}}, "request"), nil),
		}},
	}
	for _, args := range []map[string]any{
		{"item": "route"},
		{"item": "route", "count": 3.0, "price": 1.5, "gift": true, "tags": []any{"a"}, "to": map[string]any{"city": "x"}},
		{},
		{"item": nil},
		{"item": 1.0},
		{"item": "x", "count": 1.5},
		{"item": "x", "count": math.Inf(1)},
		{"item": "x", "count": "1"},
		{"item": "x", "price": "1"},
		{"item": "x", "gift": "yes"},
		{"item": "x", "tags": "a"},
		{"item": "x", "tags": []any{1.0}},
		{"item": "x", "tags": []string{"a"}},
		{"item": "x", "bare": []any{1.0}},
		{"item": "x", "to": "city"},
		{"item": "x", "to": map[string]any{}},
		{"item": "x", "to": map[string]any{"city": 1.0}},
		{"item": "x", "odd": 1.0},
		{"item": "x", "null": 1.0},
		{"item": "x", "more": 1.0},
	} {
		tests = append(tests, test{
			name: fmt.Sprintf("input %v", args), model: answers("seven"), opts: []func(*llmagent.Config){withSchemas(order, nil)}, args: args,
		})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			type outcome struct {
				Declaration *genai.FunctionDeclaration
				Responses   []map[string]any
				Final       []bool
				Asked       []*model.LLMRequest
				Description string
				LongRunning bool
			}
			with := func(b *bench, build makeTool) outcome {
				m := tt.model()
				sub := tt.make
				if sub == nil {
					sub = func(m model.LLM) agent.Agent { return modelAgent("sub", m, tt.opts...) }
				}
				at := build(sub(m), tt.cfg)
				root := calling(at, maps.Clone(tt.args))
				sessions := session.InMemoryService()
				must(sessions.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "s", State: tt.state}))
				r := must(runner.New(runner.Config{AppName: "app", Agent: root, SessionService: sessions, PluginConfig: recorder.Plugins(b.rec)}))
				events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
				o := outcome{Responses: adktest.Responses(events, at.Name()), Description: at.Description(), LongRunning: at.IsLongRunning()}
				o.Declaration = at.(interface {
					Declaration() *genai.FunctionDeclaration
				}).Declaration()
				for _, ev := range events {
					o.Final = append(o.Final, ev.IsFinalResponse())
				}
				if m, ok := m.(*adktest.Model); ok {
					o.Asked = m.Requests()
				}
				return o
			}
			adk := with(newBench(t, modelAgent("unused", adktest.Says(""))), agenttool.New)
			b := newBench(t, modelAgent("unused", adktest.Says("")))
			ours := with(b, func(a agent.Agent, cfg *agenttool.Config) tool.Tool {
				return b.rec.AgentTool(a, cfg, recorder.Plugins(b.rec))
			})
			if len(adk.Responses) != 1 {
				t.Fatalf("ADK's tool answered %v", adk.Responses)
			}
			if diff := cmp.Diff(adk, ours, cmpopts.IgnoreFields(model.LLMRequest{}, "Tools"), cmpopts.IgnoreUnexported(genai.HTTPOptions{})); diff != "" {
				t.Errorf("mismatch with ADK's tool (-adk +ours):\n%s", diff)
			}
		})
	}
}

func TestAgentToolRefusesOtherArguments(t *testing.T) {
	b := newBench(t, modelAgent("root", adktest.Says("hi")))
	type runs interface {
		Run(agent.Context, any) (map[string]any, error)
	}
	a := modelAgent("sub", adktest.Says("x"))
	_, want := agenttool.New(a, nil).(runs).Run(nil, "text")
	_, err := b.rec.AgentTool(a, nil, recorder.Plugins(b.rec)).(runs).Run(nil, "text")
	if err == nil || err.Error() != want.Error() {
		t.Errorf("Run of a text = %v, want %v", err, want)
	}
}

// A run that a tool starts by itself with the recorder's plugins is no part of the
// one that Run launched.
func TestLaunchBelongsToOneRun(t *testing.T) {
	b := newBench(t, modelAgent("other", adktest.Says("hi")))
	fails := codeAgent("root", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
		if !yield(nil, errors.New("outer failed")) {
			return
		}
		for range b.runner.Run(context.WithoutCancel(ctx), "u", "s", adktest.UserText("inner"), agent.RunConfig{}) {
		}
		yield(nil, errors.New("outer failed"))
	})
	outer := must(runner.New(runner.Config{
		AppName: "app", Agent: fails, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: recorder.Plugins(b.rec),
	}))
	readAll(b.rec.Run(t.Context(), outer, "u", "s", adktest.UserText("outer"), agent.RunConfig{}))
	want := []string{
		"AGENT_COMPLETED other", "INVOCATION_COMPLETED other", "AGENT_ERROR root: outer failed", "INVOCATION_ERROR root: outer failed",
	}
	got := ends(t, b.sink)
	for i := range got { // the root agent of an application is that of its first run
		got[i] = strings.Replace(got[i], "INVOCATION_COMPLETED root", "INVOCATION_COMPLETED other", 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends mismatch (-want +got):\n%s", diff)
	}
}
