// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"
)

// scriptedModel stands in for a language model: it looks the price up, orders, and reports the
// result.
type scriptedModel struct{}

func (scriptedModel) Name() string { return "scripted-barista" }

func (m scriptedModel) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	drink := map[string]any{"drink": "flat white"}
	next := genai.NewPartFromFunctionCall("get_price", drink)
	for _, content := range req.Contents {
		for _, part := range content.Parts {
			switch result := part.FunctionResponse; {
			case result == nil:
			case result.Name == "get_price":
				next = genai.NewPartFromFunctionCall("order_drink", drink)
			case result.Response["status"] == "blocked": // by the gate
				next = genai.NewPartFromText(refusal(result.Response))
			default:
				next = genai.NewPartFromText("Here is your flat white.")
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

// refusal says why the gate refused.
func refusal(response map[string]any) string {
	text := fmt.Sprint(response["message"])
	alerts, _ := response["alerts"].([]any)
	for _, a := range alerts {
		if alert, ok := a.(map[string]any); ok {
			text += fmt.Sprintf(" %v: %v, no longer %v.", alert["entity"], alert["after"], alert["before"])
		}
	}
	return text
}
