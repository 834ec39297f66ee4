// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"fmt"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// However the answer looks that asks for the action, a model gave it, and that model has to
// have read what it names. Here an agent buys that has read nothing: another one did.
func TestAskingModelIsKnownByAnyAnswer(t *testing.T) {
	buy := func() *genai.FunctionCall {
		return &genai.FunctionCall{Name: "buy", Args: map[string]any{"item": cgtest.Item, "count": 1}}
	}
	byUser := adktest.Calls(buy())
	byUser.Content.Role = genai.RoleUser
	noRole := adktest.Calls(buy())
	noRole.Content.Role = ""
	withResponse := adktest.Calls(buy())
	withResponse.Content.Parts = append(withResponse.Content.Parts, genai.NewPartFromFunctionResponse("search", map[string]any{}))
	answers := map[string]*model.LLMResponse{
		"a call":                               adktest.Calls(buy()),
		"with a confirmation that it makes up": adktest.Calls(buy(), &genai.FunctionCall{Name: "adk_request_confirmation"}),
		"with a credential that it asks for":   adktest.Calls(buy(), &genai.FunctionCall{Name: "adk_request_credential"}),
		"with a result that it makes up":       withResponse,
		"in the role of the user":              byUser,
		"in no role":                           noRole,
	}
	for _, c := range testsize.Combinations(t, 2, len(answers), 2) {
		name, shorted := sorted(answers)[c[0]], c[1] == 1
		t.Run(fmt.Sprint(name, ", by a callback: ", shorted), func(t *testing.T) {
			m := newMarket(t)
			h := cgtest.New(t, cgtest.Covered, m.open)
			given := *answers[name]
			content := *given.Content
			given.Content = &content
			cfg := llmagent.Config{Name: "buyer", Tools: h.Tools[1:2], IncludeContents: llmagent.IncludeContentsNone,
				Model: scripted(func(*model.LLMRequest) *model.LLMResponse { return &given })}
			if shorted {
				done := false
				cfg.BeforeModelCallbacks = []llmagent.BeforeModelCallback{func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
					if done {
						return nil, nil
					}
					done = true
					return &given, nil
				}}
			}
			buyer := cgtest.NewAgent(t, cfg)
			h.Serve(directed(t, h, searchThenBuy(), buyer))
			h.Say("find")
			wantRefused(h, settle(h, h.Say("to buyer"), nil), notRead)
		})
	}
}
