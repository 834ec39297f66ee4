// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"iter"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/plugin/retryandreflect"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A tool node of a workflow passes no callback and cannot ask.
func TestProtectDeniesInAWorkflowToolNode(t *testing.T) {
	h := newHarness(t)
	buy := mustTool(t, "buy", func(agent.Context, buyArgs) (map[string]any, error) {
		h.bought.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
	node, err := workflow.NewToolNode(h.cg.Protect(buy), workflow.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	start := workflow.NewFunctionNode("plan", func(agent.Context, any) (map[string]any, error) {
		return map[string]any{"item": "x", "count": 1}, nil
	}, workflow.NodeConfig{})
	root, err := workflowagent.New(workflowagent.Config{Name: "flow", Edges: workflow.Chain(workflow.Start, start, node)})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	events, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("go"))
	if err != nil {
		t.Fatal(err)
	}
	h.wantBought(0)
	var told bool
	for _, ev := range events {
		if out, ok := ev.Output.(map[string]any); ok && out["reason"] == "cannot_ask" {
			told = true
		}
	}
	if !told {
		t.Error("the workflow was not told why the tool did not run")
	}
	checkTree(t, h.rows(sess))
}

// A long-running tool that is listed does not start before it is approved.
func TestLongRunningToolIsGatedBeforeItStarts(t *testing.T) {
	h := newHarness(t, listed)
	search := mustTool(t, "search", func(agent.Context, searchArgs) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000", "available": true}}}, nil
	})
	buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buys", IsLongRunning: true},
		func(agent.Context, buyArgs) (map[string]any, error) {
			h.bought.Add(1)
			return map[string]any{"status": "bought"}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: h.model, Tools: []tool.Tool{search, buy}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	id, _ := h.ask(sess)
	h.wantBought(0)
	h.answer(sess, id, true)
	h.wantBought(1)
	h.answer(sess, id, true)
	h.wantBought(1)
}

// The plugin that makes models retry failed tools neither hides a request nor
// gets a blocked call through.
func TestBesideRetryAndReflect(t *testing.T) {
	h := newHarness(t, func(o *options) { o.plugins = []*plugin.Plugin{retryandreflect.MustNew()} })
	id, _ := h.ask(sess)
	h.world.set("$52,000", true)
	if got := h.answer(sess, id, true); got["status"] != "blocked" || got["reason"] != "drift" {
		t.Errorf("buy answered %v, want the refusal as it is", got)
	}
	h.wantBought(0)
	if got := h.approvals(sess)[0].State; got != safety.StateBlocked {
		t.Errorf("approval state = %q, want blocked", got)
	}
}

// streaming is a model that answers in chunks and then once more as a whole, as
// ADK's own models do.
type streaming struct{}

func (streaming) Name() string { return "streaming" }

func (streaming) GenerateContent(_ context.Context, _ *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		if stream {
			for _, chunk := range []string{"one ", "two ", "three"} {
				if !yield(&model.LLMResponse{Partial: true, Content: genai.NewContentFromText(chunk, genai.RoleModel)}, nil) {
					return
				}
			}
		}
		yield(adktest.Text("one two three"), nil)
	}
}

func TestStreamedAnswerIsOneRow(t *testing.T) {
	h := newHarness(t)
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: streaming{}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	var chunks int
	for ev, err := range h.runner.Run(t.Context(), user, sess, adktest.UserText("count"), agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Partial {
			chunks++
		}
	}
	if chunks != 3 {
		t.Fatalf("%d chunks, want 3", chunks)
	}
	rows := h.rows(sess)
	checkTree(t, rows)
	answers := rowsOf(rows, schema.LLMResponse)
	if len(answers) != 1 {
		t.Fatalf("%d LLM_RESPONSE rows, want 1", len(answers))
	}
	if got := get(t, answers[0].Content, "response"); got != "text: 'one two three'" {
		t.Errorf("content.response = %v", got)
	}
	if got := get(t, answers[0].Content, "usage", "total"); got != 18.0 {
		t.Errorf("content.usage.total = %v, want it counted once", got)
	}
	if _, ok := get(t, answers[0].LatencyMS, "time_to_first_token_ms").(float64); !ok {
		t.Logf("latency_ms = %s: the first chunk came within a millisecond", answers[0].LatencyMS)
	}
}
