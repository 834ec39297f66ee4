// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"iter"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// maskedResult has a callback of the agent hide what the tool found.
func maskedResult(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.NewAgent(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{found(t)}, Model: adktest.Script(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("One route.")),
		AfterToolCallbacks: []llmagent.AfterToolCallback{
			func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
				return map[string]any{"items": "masked"}, nil
			},
		},
	}))
	h.Say("Find routes")
}

// givenResults has an agent of the host and a callback that bring results of their own.
func givenResults(t *testing.T, h *cgtest.Harness) {
	result := func(id string, price string) *genai.Content {
		return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
			FunctionResponse: &genai.FunctionResponse{ID: id, Name: "search", Response: map[string]any{"price": price}},
		}}}
	}
	host, err := agent.New(agent.Config{Name: "host", Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Author, ev.Content = "host", result("own", "$1")
			yield(ev, nil)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	buyer := cgtest.NewAgent(t, llmagent.Config{
		Name: "buyer", Model: adktest.Script(adktest.Text("Cheap.")),
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			req.Contents = append(req.Contents, result("", "$2"))
			return nil, nil
		}},
	})
	root, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "root", SubAgents: []agent.Agent{host, buyer}}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	h.Say("Find routes")
}

// streamedResults has a tool that streams its result, and fails the second time. ADK calls no callback.
func streamedResults(t *testing.T, h *cgtest.Harness) {
	failed := false
	streams, err := functiontool.NewStreaming(functiontool.Config{Name: "stream"}, func(agent.Context, cgtest.SearchArgs) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			var err error
			if failed {
				err = errors.New("no route")
			}
			failed = true
			yield("One route.", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func() *model.LLMResponse { return adktest.Call("stream", map[string]any{"query": "routes"}) }
	h.Serve(cgtest.RootAgent(t, adktest.Script(call(), call(), adktest.Text("One route.")), streams))
	h.Say("Find routes")
}

// argsChanged has a callback of the agent resolve an alias in the arguments of two tools that ask.
// One of them fails besides.
func argsChanged(t *testing.T, h *cgtest.Harness) {
	asks := func(name string, err error) tool.Tool {
		return cgtest.NewTool(t, name, func(ctx agent.Context, _ cgtest.BuyArgs) (map[string]any, error) {
			return map[string]any{"status": "asked"}, errors.Join(ctx.RequestConfirmation("Buy it?", nil), err)
		})
	}
	call := func(name string) *model.LLMResponse {
		return adktest.Call(name, map[string]any{"item": "the usual", "count": 1})
	}
	h.Serve(cgtest.NewAgent(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{asks("rent", nil), asks("lease", errors.New("no contract"))},
		Model: adktest.Script(call("rent"), call("lease"), adktest.Text("Asked.")),
		BeforeToolCallbacks: []llmagent.BeforeToolCallback{
			func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
				args["item"] = cgtest.Item
				return nil, nil
			},
		},
	}))
	h.Say("Rent the usual")
	h.Say("And lease it")
}

// regional has a search that goes by the state of the session.
func regional(o *cgtest.Options) {
	o.Search = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		region, err := ctx.State().Get("region")
		if err != nil {
			return nil, err
		}
		return map[string]any{"items": []any{map[string]any{"name": cgtest.Item + " " + region.(string), "price": "$40,000", "available": true}}}, nil
	}
}

func oneSearch(t *testing.T, h *cgtest.Harness) {
	if _, err := h.Sessions.Create(t.Context(), &session.CreateRequest{
		AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID, State: map[string]any{"region": "EU"},
	}); err != nil {
		t.Fatal(err)
	}
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("One route.")), h.Tools[0]))
	h.Say("Find routes")
}
