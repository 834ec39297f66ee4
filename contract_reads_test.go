// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
)

// maskedResult has a callback of the agent hide what the tool found.
func maskedResult(t *testing.T, h *harness) {
	h.serve(mustAgent(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{found(t)}, Model: answering(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("One route.")),
		AfterToolCallbacks: []llmagent.AfterToolCallback{
			func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
				return map[string]any{"items": "masked"}, nil
			},
		},
	}))
	h.say("Find routes")
}

// asksByArgs has a rule whose value stands in the arguments of the call.
func asksByArgs(o *options) {
	o.cfg.Extract = []contextgraph.ExtractConfig{{
		Name: "looked up", Tool: "look", Type: "Product", Each: "$", ValueArgs: "$.query",
		Attributes: map[string]contextgraph.AttributeConfig{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}},
	}}
}

func oneLook(t *testing.T, h *harness) {
	look := mustTool(t, "look", func(agent.Context, searchArgs) (map[string]any, error) {
		return map[string]any{"price": "$40,000"}, nil
	})
	h.serve(root(t, answering(adktest.Call("look", map[string]any{"query": item}), adktest.Text("$40,000.")), look))
	h.say("What does it cost?")
}

// argsChanged has a callback of the agent resolve an alias in the arguments of two tools that ask.
// One of them fails besides.
func argsChanged(t *testing.T, h *harness) {
	asks := func(name string, err error) tool.Tool {
		return mustTool(t, name, func(ctx agent.Context, _ buyArgs) (map[string]any, error) {
			return map[string]any{"status": "asked"}, errors.Join(ctx.RequestConfirmation("Buy it?", nil), err)
		})
	}
	call := func(name string) *model.LLMResponse {
		return adktest.Call(name, map[string]any{"item": "the usual", "count": 1})
	}
	h.serve(mustAgent(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{asks("rent", nil), asks("lease", errors.New("no contract"))},
		Model: answering(call("rent"), call("lease"), adktest.Text("Asked.")),
		BeforeToolCallbacks: []llmagent.BeforeToolCallback{
			func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
				args["item"] = item
				return nil, nil
			},
		},
	}))
	h.say("Rent the usual")
	h.say("And lease it")
}

// regional has a search that goes by the state of the session.
func regional(o *options) {
	o.search = func(ctx agent.Context, _ searchArgs) (map[string]any, error) {
		region, err := ctx.State().Get("region")
		if err != nil {
			return nil, err
		}
		return map[string]any{"items": []any{map[string]any{"name": item + " " + region.(string), "price": "$40,000", "available": true}}}, nil
	}
}

func oneSearch(t *testing.T, h *harness) {
	if _, err := h.sessions.Create(t.Context(), &session.CreateRequest{
		AppName: app, UserID: user, SessionID: sess, State: map[string]any{"region": "EU"},
	}); err != nil {
		t.Fatal(err)
	}
	h.serve(root(t, answering(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("One route.")), h.tools[0]))
	h.say("Find routes")
}

// listCut has a call whose id takes more than a list may.
func listCut(t *testing.T, h *harness) {
	long := adktest.Calls(&genai.FunctionCall{ID: strings.Repeat("x", 40_000), Name: "search", Args: map[string]any{"query": "routes"}})
	h.serve(root(t, answering(long, adktest.Text("One route.")), found(t)))
	h.say("Find routes")
}
