// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"errors"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
)

func rewrittenResult(t *testing.T, h *harness) {
	h.serve(mustAgent(t, llmagent.Config{
		Name: "root", Model: answering(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("One route.")), Tools: []tool.Tool{found(t)},
		AfterToolCallbacks: []llmagent.AfterToolCallback{func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
			return map[string]any{"items": "masked"}, nil
		}},
	}))
	h.say("Find a route")
}

func changedArguments(t *testing.T, h *harness) {
	asks := func(name string, err error) tool.Tool {
		return mustTool(t, name, func(ctx agent.Context, _ searchArgs) (map[string]any, error) {
			if e := ctx.RequestConfirmation("sure?", nil); e != nil {
				return nil, e
			}
			return map[string]any{"status": "asked"}, err
		})
	}
	call := func(name string) *model.LLMResponse { return adktest.Call(name, map[string]any{"query": "the usual"}) }
	h.serve(mustAgent(t, llmagent.Config{
		Name: "root", Model: answering(call("order"), call("fail")),
		Tools: []tool.Tool{asks("order", nil), asks("fail", errors.New("not now"))},
		BeforeToolCallbacks: []llmagent.BeforeToolCallback{func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
			args["query"] = "Superbowl"
			return nil, nil
		}},
	}))
	h.say("Order the usual")
	h.say("And try the other")
}

func readsState(t *testing.T, h *harness) {
	look := mustTool(t, "search", func(ctx agent.Context, _ searchArgs) (map[string]any, error) {
		_, err := ctx.State().Get("region")
		return map[string]any{"known": err == nil}, nil
	})
	if _, err := h.cg.Replayable(look); err != nil {
		t.Fatal(err)
	}
	h.serve(mustAgent(t, llmagent.Config{
		Name: "root", Model: answering(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("Done.")), Tools: []tool.Tool{look},
	}))
	h.say("Look")
}
