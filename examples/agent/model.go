// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

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
