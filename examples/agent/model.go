// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/model/gemini"
)

// newModel returns Gemini when there is a key for it, else the scripted model.
func newModel(ctx context.Context, key string) (model.LLM, error) {
	if key == "" {
		return scriptedModel{}, nil
	}
	return gemini.NewModel(ctx, "gemini-flash-latest", &genai.ClientConfig{APIKey: key, Backend: genai.BackendGeminiAPI})
}

// scriptedModel stands in for a language model: it looks the price up, then says it.
type scriptedModel struct{}

func (scriptedModel) Name() string { return "scripted-barista" }

func (m scriptedModel) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	next := genai.NewPartFromFunctionCall("get_price", map[string]any{"drink": "flat white"})
	if n := len(req.Contents); n > 0 {
		for _, part := range req.Contents[n-1].Parts {
			if part.FunctionResponse != nil {
				next = genai.NewPartFromText(fmt.Sprintf("A flat white costs %v.", part.FunctionResponse.Response["price"]))
			}
		}
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{
			Content:       genai.NewContentFromParts([]*genai.Part{next}, genai.RoleModel),
			ModelVersion:  m.Name(),
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 40, CandidatesTokenCount: 10, TotalTokenCount: 50},
		}, nil)
	}
}
