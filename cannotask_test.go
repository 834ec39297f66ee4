// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Inside of an agent that runs as a tool nobody can be asked. With AgentTool every
// guarded tool denies there; in a runner of ADK's own, without plugins, every protected
// one does.
func TestAgentRunAsAToolDenies(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w way) {
		for name, ours := range map[string]bool{"AgentTool": true, "agenttool.New": false} {
			if !ours && !strings.HasPrefix(w.name, "protected") {
				continue
			}
			h := newHarness(t, w.opt)
			var told map[string]any
			inner, err := llmagent.New(llmagent.Config{Name: "helper", Description: "helps", Tools: h.tools, Toolsets: h.toolsets, Model: &adktest.Model{
				Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
					if last := adktest.LastResponse(req); last != nil {
						told = unstreamed(last.Response)
						return adktest.Text("not bought"), nil
					}
					return adktest.Call("buy", aRoute), nil
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			asTool := agenttool.New(inner, nil)
			if ours {
				asTool = h.cg.AgentTool(inner, nil)
			}
			h.serve(caller(t, "root", "helper", map[string]any{"request": "buy"}, asTool))
			events := adktest.Run(t, h.runner, user, sess, adktest.UserText("buy"))
			h.wantBought(0)
			if len(adktest.Confirmations(events)) != 0 {
				t.Errorf("%s: a confirmation was asked for", name)
			}
			if why := told["reason"]; why != "cannot_ask" && (ours || why != "not_recorded") {
				t.Errorf("%s: the model was told %v", name, told)
			}
		}
	})
}

// A node of a workflow that calls a protected tool by itself is told why it does not run.
func TestNodeThatCallsAProtectedToolDenies(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w way) {
		if !strings.HasPrefix(w.name, "protected") {
			return
		}
		h := newHarness(t, w.opt)
		tools := slices.Clone(h.tools)
		for _, ts := range h.toolsets {
			more, err := ts.Tools(nil)
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, more...)
		}
		buy := tools[len(tools)-1]
		var told []map[string]any
		node := workflow.NewFunctionNode("plan", func(ctx agent.Context, _ any) (map[string]any, error) {
			actions := &session.EventActions{}
			for _, tc := range []agent.Context{ctx, agent.NewToolContext(ctx, "call-1", actions, nil)} {
				told = append(told, callDirectly(t, buy, tc))
			}
			if len(actions.RequestedToolConfirmations) != 0 {
				t.Error("a confirmation was asked for that nobody sees")
			}
			return map[string]any{}, nil
		}, workflow.NodeConfig{})
		edges := workflow.Chain(workflow.Start, node)
		tn, err := workflow.NewToolNode(buy, workflow.NodeConfig{})
		if _, streams := buy.(streamer); streams != (err != nil) {
			t.Errorf("a tool node of a %T: %v", buy, err)
		}
		if err == nil {
			args := workflow.NewFunctionNode("args", func(agent.Context, any) (map[string]any, error) { return aRoute, nil }, workflow.NodeConfig{})
			edges = workflow.Chain(workflow.Start, node, args, tn)
		}
		root, err := workflowagent.New(workflowagent.Config{Name: "flow", Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		h.serve(root)
		for _, ev := range adktest.Run(t, h.runner, user, sess, adktest.UserText("go")) {
			if out, ok := ev.Output.(map[string]any); ok && len(out) > 0 && out["reason"] != nil {
				told = append(told, out)
			}
		}
		h.wantBought(0)
		if len(told) < 2 {
			t.Fatalf("told %v", told)
		}
		for _, refusal := range told {
			if refusal["reason"] != "cannot_ask" {
				t.Errorf("the node was told %v", refusal)
			}
		}
		if got := h.approvals(sess); len(got) != 0 {
			t.Errorf("approvals = %+v, want none that nobody can answer", got)
		}
	})
}

type streamer interface {
	RunStream(agent.Context, any) iter.Seq2[string, error]
}

// callDirectly calls a tool as ADK does, but without ADK.
func callDirectly(t testing.TB, tl tool.Tool, ctx agent.Context) map[string]any {
	t.Helper()
	if s, ok := tl.(streamer); ok {
		for chunk, err := range s.RunStream(ctx, aRoute) {
			if err == nil {
				t.Errorf("a chunk: %q", chunk)
				continue
			}
			return unstreamed(map[string]any{"error": err.Error()})
		}
		return nil
	}
	result, err := tl.(interface {
		Run(agent.Context, any) (map[string]any, error)
	}).Run(ctx, aRoute)
	if err != nil {
		t.Errorf("an error in the place of a refusal: %v", err)
	}
	return result
}

// A streaming tool inside of another tool does not run on that one's approval.
func TestStreamingToolInsideOfAnApprovedTool(t *testing.T) {
	var inner tool.Tool
	var told map[string]any
	h := newHarness(t, streamed(functiontool.Config{}))
	inner = h.tools[1]
	outer := mustTool(t, "buy", func(ctx agent.Context, _ buyArgs) (map[string]any, error) {
		told = callDirectly(t, inner, ctx)
		return map[string]any{"status": "bought"}, nil
	})
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: h.model, Tools: []tool.Tool{h.tools[0], h.cg.Protect(outer)}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	id, _ := h.ask(sess)
	h.answer(sess, id, true)
	h.wantBought(0)
	if told["reason"] != "unsupported" {
		t.Errorf("the outer tool was told %v", told)
	}
}

// The permit of a streaming tool is used up before its first chunk, and the end of the
// stream is the end of the call.
func TestStreamingToolConsumesBeforeTheFirstChunk(t *testing.T) {
	for name, tt := range map[string]struct {
		stream func(h *harness, yield func(string, error) bool)
		want   safety.ApprovalState
		result map[string]any
	}{
		"whole": {func(_ *harness, yield func(string, error) bool) { _ = yield("a", nil) && yield("b", nil) }, safety.StateExecuted, map[string]any{"result": "ab"}},
		"empty": {func(*harness, func(string, error) bool) {}, safety.StateExecuted, map[string]any{"result": ""}},
		"failed": {func(_ *harness, yield func(string, error) bool) {
			_ = yield("a", nil) && yield("", errors.New("sold out"))
		}, safety.StateFailed, map[string]any{"error": "sold out"}},
		"failed at first": {func(_ *harness, yield func(string, error) bool) { yield("", errors.New("closed")) }, safety.StateFailed, map[string]any{"error": "closed"}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []safety.ApprovalState
			h := newHarness(t, func(o *options) {
				o.makeBuy = func(h *harness) (tool.Tool, error) {
					return functiontool.NewStreaming(functiontool.Config{Name: "buy", Description: "buys"}, func(agent.Context, buyArgs) iter.Seq2[string, error] {
						return func(yield func(string, error) bool) {
							h.bought.Add(1)
							seen = append(seen, h.approvals(sess)[0].State)
							tt.stream(h, yield)
						}
					})
				}
			})
			id, _ := h.ask(sess)
			events := adktest.Run(t, h.runner, user, sess, adktest.Answer(id, true))
			h.wantBought(1)
			if diff := cmp.Diff([]safety.ApprovalState{safety.StateExecuting}, seen); diff != "" {
				t.Errorf("state of the approval while it streams (-want +got):\n%s", diff)
			}
			if got := h.approvals(sess)[0].State; got != tt.want {
				t.Errorf("approval state = %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff([]map[string]any{tt.result}, adktest.Responses(events, "buy")); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			checkTree(t, h.rows(sess))
		})
	}
}

// What a protected streaming tool gave is evidence like any other result.
func TestStreamedResultIsOnRecord(t *testing.T) {
	h := newHarness(t, streamed(functiontool.Config{}))
	id, _ := h.ask(sess)
	h.answer(sess, id, true)
	var results []string
	for _, e := range h.rows(sess) {
		if e.EventType == "TOOL_COMPLETED" && get(t, e.Content, "tool") == "buy" {
			text, _ := json.Marshal(get(t, e.Content, "result"))
			results = append(results, string(text))
		}
	}
	if len(results) != 2 || !strings.Contains(results[0], "requires confirmation") || results[1] != `{"result":"{\"status\":\"bought\"}"}` {
		t.Errorf("results on record: %q", results)
	}
}
