// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package adktest holds what tests need to run real ADK agents without a model
// service: a model that a function answers for, and messages as a client of the
// agent sends them.
package adktest

import (
	"context"
	"iter"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
)

// Model is a [model.LLM] whose answers a function gives. It keeps the requests.
type Model struct {
	// Answer returns the model's answer. An error is the model's failure.
	Answer func(req *model.LLMRequest) (*model.LLMResponse, error)

	mu       sync.Mutex
	requests []*model.LLMRequest
}

// Name implements [model.LLM].
func (m *Model) Name() string { return "scripted" }

// GenerateContent implements [model.LLM].
func (m *Model) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		m.mu.Lock()
		m.requests = append(m.requests, req)
		m.mu.Unlock()
		yield(m.Answer(req))
	}
}

// Stalled is a [model.LLM] that streams the beginning of an answer and then says
// nothing more until its context ends. A consumer that stops at that beginning
// stops in the middle of a model call, whichever goroutine runs first.
type Stalled struct{}

// Name implements [model.LLM].
func (Stalled) Name() string { return "stalled" }

// GenerateContent implements [model.LLM].
func (Stalled) GenerateContent(ctx context.Context, _ *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		begin := Text("Let me")
		begin.Partial = true
		if !yield(begin, nil) {
			return
		}
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// Requests returns the requests so far.
func (m *Model) Requests() []*model.LLMRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*model.LLMRequest(nil), m.requests...)
}

// Text returns an answer that is a text, with usage.
func Text(text string) *model.LLMResponse {
	return response(&genai.Part{Text: text})
}

// Call returns an answer that asks for one tool call.
func Call(name string, args map[string]any) *model.LLMResponse {
	return response(&genai.Part{FunctionCall: &genai.FunctionCall{Name: name, Args: args}})
}

// Calls returns an answer that asks for several tool calls at once.
func Calls(calls ...*genai.FunctionCall) *model.LLMResponse {
	parts := make([]*genai.Part, len(calls))
	for i, c := range calls {
		parts[i] = &genai.Part{FunctionCall: c}
	}
	return response(parts...)
}

func response(parts ...*genai.Part) *model.LLMResponse {
	return &model.LLMResponse{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: parts},
		ModelVersion: "scripted-1",
		FinishReason: genai.FinishReasonStop,
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: 11, CandidatesTokenCount: 7, TotalTokenCount: 18,
		},
	}
}

// LastResponse returns the newest function response in the request and its name,
// when it stands in the last content; nil when the last content is a text.
func LastResponse(req *model.LLMRequest) *genai.FunctionResponse {
	if len(req.Contents) == 0 {
		return nil
	}
	last := req.Contents[len(req.Contents)-1]
	for i := len(last.Parts) - 1; i >= 0; i-- {
		if fr := last.Parts[i].FunctionResponse; fr != nil {
			return fr
		}
	}
	return nil
}

// UserText returns a user message.
func UserText(text string) *genai.Content {
	return genai.NewContentFromText(text, genai.RoleUser)
}

// Answer returns the message that answers a confirmation request.
func Answer(confirmationID string, confirmed bool) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{
			ID: confirmationID, Name: toolconfirmation.FunctionCallName,
			Response: map[string]any{"confirmed": confirmed},
		},
	}}}
}

// Run runs one turn and returns its events. An error of the run fails the test.
func Run(t testing.TB, r *runner.Runner, user, sessionID string, msg *genai.Content) []*session.Event {
	t.Helper()
	events, err := TryRun(t.Context(), r, user, sessionID, msg)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return events
}

// TryRun runs one turn and returns its events and its first error.
func TryRun(ctx context.Context, r *runner.Runner, user, sessionID string, msg *genai.Content) (events []*session.Event, first error) {
	for ev, err := range r.Run(ctx, user, sessionID, msg, agent.RunConfig{}) {
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		events = append(events, ev)
	}
	return events, first
}

// Confirmations returns the confirmation requests among the events.
func Confirmations(events []*session.Event) []*genai.FunctionCall {
	var calls []*genai.FunctionCall
	for _, ev := range events {
		if ev.Content == nil || len(ev.LongRunningToolIDs) == 0 {
			continue
		}
		for _, p := range ev.Content.Parts {
			if p.FunctionCall != nil && p.FunctionCall.Name == toolconfirmation.FunctionCallName {
				calls = append(calls, p.FunctionCall)
			}
		}
	}
	return calls
}

// Responses returns the responses of the named tool among the events.
func Responses(events []*session.Event, name string) []map[string]any {
	var out []map[string]any
	for _, ev := range events {
		if ev.Content == nil {
			continue
		}
		for _, p := range ev.Content.Parts {
			if p.FunctionResponse != nil && p.FunctionResponse.Name == name {
				out = append(out, p.FunctionResponse.Response)
			}
		}
	}
	return out
}
