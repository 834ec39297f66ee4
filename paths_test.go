// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
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

// several is a model that gives more than one answer to a request.
type several struct{ answers []*model.LLMResponse }

func (several) Name() string { return "several" }

func (m several) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, a := range m.answers {
			if !yield(a, nil) {
				return
			}
		}
	}
}

// Whatever a model or a callback in its place does, a model call ends once.
func TestEveryModelCallEndsOnce(t *testing.T) {
	recovering, err := plugin.New(plugin.Config{Name: "recovers", OnModelErrorCallback: func(agent.Context, *model.LLMRequest, error) (*model.LLMResponse, error) {
		return adktest.Text("sorry"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	failing := &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return nil, errors.New("model offline") }}
	for name, tt := range map[string]struct {
		model   model.LLM
		before  llmagent.BeforeModelCallback
		plugins []*plugin.Plugin
		want    []string // the rows of model calls
		message string   // of the last of them
	}{
		"failed":                {model: failing, want: []string{schema.LLMRequest, schema.LLMError}, message: "model offline"},
		"failed, then answered": {model: failing, plugins: []*plugin.Plugin{recovering}, want: []string{schema.LLMRequest, schema.LLMResponse}, message: "model offline"},
		"no answer":             {model: several{}, want: []string{schema.LLMRequest, schema.LLMError}, message: "the run ended before this step did"},
		"blocked by a callback": {model: failing, before: func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			return &model.LLMResponse{ErrorCode: "BLOCKED", ErrorMessage: "not allowed"}, nil
		}, want: []string{schema.LLMRequest, schema.LLMResponse}, message: "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			cfg := llmagent.Config{Name: "root", Model: tt.model}
			if tt.before != nil {
				cfg.BeforeModelCallbacks = []llmagent.BeforeModelCallback{tt.before}
			}
			root, err := llmagent.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			h.serve(root, tt.plugins...)
			_, _ = adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("hi"))
			rows := h.rows(sess)
			checkTree(t, rows)
			var got []string
			var message string
			for _, e := range rows {
				if strings.HasPrefix(e.EventType, "LLM_") {
					got, message = append(got, e.EventType), e.ErrorMessage
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || message != tt.message {
				t.Errorf("message %q, want %q; rows (-want +got):\n%s", message, tt.message, diff)
			}
		})
	}
}

// A model that answers twice gives two rows; the second has a span of its own.
func TestTwoAnswersToOneRequest(t *testing.T) {
	h := newHarness(t)
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: several{[]*model.LLMResponse{adktest.Text("one"), adktest.Text("two")}}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	adktest.Run(t, h.runner, user, sess, adktest.UserText("hi"))
	answers := rowsOf(h.rows(sess), schema.LLMResponse)
	if len(answers) != 2 || answers[0].SpanID == answers[1].SpanID || answers[0].ParentSpanID != answers[1].ParentSpanID {
		t.Errorf("answers = %+v, want two on spans of their own under one agent", answers)
	}
}

// An agent whose callback answers in its place ends without a callback of its own;
// the agents after it are not inside of it.
func TestSkippedAgentAdoptsNobody(t *testing.T) {
	h := newHarness(t)
	var agents []agent.Agent
	for _, name := range []string{"a", "b", "c"} {
		cfg := llmagent.Config{Name: name, Model: several{[]*model.LLMResponse{adktest.Text(name)}}}
		if name == "a" {
			cfg.BeforeAgentCallbacks = []agent.BeforeAgentCallback{func(agent.Context) (*genai.Content, error) {
				return genai.NewContentFromText("skipped", genai.RoleModel), nil
			}}
		}
		a, err := llmagent.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	root, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: agents}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	adktest.Run(t, h.runner, user, sess, adktest.UserText("hi"))
	rows := h.rows(sess)
	checkTree(t, rows)
	spans := make(map[string]string)
	for _, e := range rowsOf(rows, schema.AgentStarting) {
		spans[e.SpanID] = e.Agent
	}
	for _, e := range rowsOf(rows, schema.AgentStarting) {
		if e.Agent != "all" && spans[e.ParentSpanID] != "all" {
			t.Errorf("agent %s lies in %q, want it in all", e.Agent, spans[e.ParentSpanID])
		}
	}
	for _, e := range rowsOf(rows, schema.AgentCompleted) {
		if get(t, e.Attributes, "adk", "unfinished") != nil {
			t.Errorf("agent %s is marked unfinished", e.Agent)
		}
	}
	for _, e := range rowsOf(rows, schema.AgentResponse) {
		if spans[e.SpanID] != e.Agent {
			t.Errorf("the answer of %s stands on the span of %q", e.Agent, spans[e.SpanID])
		}
	}
}
