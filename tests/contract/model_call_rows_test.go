// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

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
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

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
	h := cgtest.New(t)
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: streaming{}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	var chunks int
	for ev, err := range h.Runner.Run(t.Context(), cgtest.User, cgtest.SessionID, adktest.UserText("count"), agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
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
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	answers := rowtest.Of(rows, record.LLMResponse)
	if len(answers) != 1 {
		t.Fatalf("%d LLM_RESPONSE rows, want 1", len(answers))
	}
	if got := rowtest.Field(t, answers[0].Content, "response"); got != "text: 'one two three'" {
		t.Errorf("content.response = %v", got)
	}
	if got := rowtest.Field(t, answers[0].Content, "usage", "total"); got != 18.0 {
		t.Errorf("content.usage.total = %v, want it counted once", got)
	}
	if _, ok := rowtest.Field(t, answers[0].LatencyMS, "time_to_first_token_ms").(float64); !ok {
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
		"failed":                {model: failing, want: []string{record.LLMRequest, record.LLMError}, message: "model offline"},
		"failed, then answered": {model: failing, plugins: []*plugin.Plugin{recovering}, want: []string{record.LLMRequest, record.LLMResponse}, message: "model offline"},
		"no answer":             {model: several{}, want: []string{record.LLMRequest, record.LLMError}, message: "the run ended before this step did"},
		"blocked by a callback": {model: failing, before: func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			return &model.LLMResponse{ErrorCode: "BLOCKED", ErrorMessage: "not allowed"}, nil
		}, want: []string{record.LLMRequest, record.LLMResponse}, message: "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t)
			cfg := llmagent.Config{Name: "root", Model: tt.model}
			if tt.before != nil {
				cfg.BeforeModelCallbacks = []llmagent.BeforeModelCallback{tt.before}
			}
			root, err := llmagent.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			h.Serve(root, tt.plugins...)
			_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("hi"))
			rows := h.Rows(cgtest.SessionID)
			cgtest.CheckTree(t, rows)
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
	h := cgtest.New(t)
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: several{[]*model.LLMResponse{adktest.Text("one"), adktest.Text("two")}}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("hi"))
	answers := rowtest.Of(h.Rows(cgtest.SessionID), record.LLMResponse)
	if len(answers) != 2 || answers[0].SpanID == answers[1].SpanID || answers[0].ParentSpanID != answers[1].ParentSpanID {
		t.Errorf("answers = %+v, want two on spans of their own under one agent", answers)
	}
}

// An agent whose callback answers in its place ends without a callback of its own;
// the agents after it are not inside of it.
func TestSkippedAgentAdoptsNobody(t *testing.T) {
	h := cgtest.New(t)
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
	h.Serve(root)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("hi"))
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	spans := make(map[string]string)
	for _, e := range rowtest.Of(rows, record.AgentStarting) {
		spans[e.SpanID] = e.Agent
	}
	for _, e := range rowtest.Of(rows, record.AgentStarting) {
		if e.Agent != "all" && spans[e.ParentSpanID] != "all" {
			t.Errorf("agent %s lies in %q, want it in all", e.Agent, spans[e.ParentSpanID])
		}
	}
	for _, e := range rowtest.Of(rows, record.AgentCompleted) {
		if rowtest.Field(t, e.Attributes, "adk", "unfinished") != nil {
			t.Errorf("agent %s is marked unfinished", e.Agent)
		}
	}
	for _, e := range rowtest.Of(rows, record.AgentResponse) {
		if spans[e.SpanID] != e.Agent {
			t.Errorf("the answer of %s stands on the span of %q", e.Agent, spans[e.SpanID])
		}
	}
}
