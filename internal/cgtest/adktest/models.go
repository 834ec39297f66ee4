// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adktest

import (
	"context"
	"errors"
	"iter"
	"sync"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"
)

// Says returns a model that answers every request with the text.
func Says(text string) *Model {
	return &Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return Text(text), nil }}
}

// CallsOnce returns a model that asks for the calls, and says done once it has a result. Whoever
// asks it anew gets calls of its own: ADK gives ids to those that have none.
func CallsOnce(calls ...*genai.FunctionCall) *Model {
	return &Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if LastResponse(req) != nil {
			return Text("done"), nil
		}
		own := make([]*genai.FunctionCall, len(calls))
		for i, c := range calls {
			call := *c
			own[i] = &call
		}
		return Calls(own...), nil
	}}
}

// Script returns a model that gives the answers one after the other, and then fails.
func Script(answers ...*model.LLMResponse) *Model {
	var mu sync.Mutex
	return &Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(answers) == 0 {
			return nil, errors.New("the script is over")
		}
		next := answers[0]
		answers = answers[1:]
		return next, nil
	}}
}

// Forgetful is a [model.LLM] that answers as its script does, and keeps no request.
type Forgetful struct{ Script *Model }

// Name implements [model.LLM].
func (Forgetful) Name() string { return "forgetful" }

// GenerateContent implements [model.LLM].
func (f Forgetful) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) { yield(f.Script.Answer(req)) }
}
