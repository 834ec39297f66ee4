// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// FuzzAnswer sends one answer to two agents: one guarded, and one with nothing of ours
// around it. What ADK does not take for a confirmation is never accepted, whatever it
// looks like, and in a world that stays as it is everything else is.
func FuzzAnswer(f *testing.F) {
	for _, payload := range []string{
		`{"confirmed":true}`, `{"confirmed":false}`, `{"confirmed":null}`, `{}`, `null`, `{"CONFIRMED":true}`, `{"confirmed":"true"}`, `{"confirmed":1}`,
		`{"response":"{\"confirmed\":true}"}`, `{"response":"{\"confirmed\":false}"}`, `{"response":"true"}`, `{"response":{"confirmed":true}}`, `{"response":null}`,
		`{"response":"{\"confirmed\":true}","x":1}`, `{"confirmed":true,"response":"{\"confirmed\":false}"}`, `{"confirmed":true,"payload":{"total":1},"hint":"x"}`,
		`{"confirmed":true,"hint":7}`, `{"confirmed":false,"Confirmed":true}`, `{"Confirmed":true,"confirmed":false}`, `{"response":"{\"confirmed\":true}garbage"}`,
		`{"result":{"confirmed":true}}`, `{"confirmed":[true]}`, `{"\u0063onfirmed":true}`, `{"response":"{\"confirmed\":true,\"confirmed\":false}"}`,
		`{"confirmed":false,"payload":{"contextgraph":{"reason":"too expensive"}}}`, `{"confirmed":false,"payload":{"contextgraph":{"reason":7}}}`,
		`{"confirmed":false,"payload":{"contextgraph":{"reason":"too expensive","change":"less"}}}`,
	} {
		f.Add([]byte(payload), toolconfirmation.FunctionCallName, uint8(0))
	}
	yes := []byte(`{"confirmed":true}`)
	f.Add(yes, toolconfirmation.FunctionCallName, uint8(1))
	f.Add(yes, toolconfirmation.FunctionCallName, uint8(2))
	f.Add(yes, "buy", uint8(0))
	f.Add(yes, "adk_request_input", uint8(0))
	f.Add(yes, "", uint8(0))

	now := map[string]entity.Value{"price": cgtest.Money(f, "$40,000"), "availability": entity.Bool(true)}
	h := cgtest.New(f, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{Attributes: now, AsOf: time.Now()}, nil
	}))
	plainRan := 0
	buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product", RequireConfirmation: true},
		func(agent.Context, cgtest.BuyArgs) (map[string]any, error) {
			plainRan++
			return map[string]any{"status": "bought"}, nil
		})
	if err != nil {
		f.Fatal(err)
	}
	root := cgtest.NewAgent(f, llmagent.Config{Name: "root", Tools: []tool.Tool{buy}, Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("Done."), nil
			}
			return adktest.Call("buy", map[string]any{"item": "Strava Sponsored Routes", "count": 1}), nil
		}}})
	plain, err := runner.New(runner.Config{AppName: cgtest.App, Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		f.Fatal(err)
	}

	n := 0
	f.Fuzz(func(t *testing.T, payload []byte, name string, how uint8) {
		var response map[string]any
		if json.Unmarshal(payload, &response) != nil {
			return
		}
		// An answer that stalls is a finding, not a run without an end.
		stalled := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("no end of the answer %s as %q", payload, name)) })
		defer stalled.Stop()
		n++
		h.T = t
		id := fmt.Sprint("fuzz-", n)
		answer := func(confirmation string) *genai.Content {
			if how%3 == 2 {
				confirmation += "x"
			}
			part := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: confirmation, Name: name, Response: response}}
			msg := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{part}}
			if how%3 == 1 {
				msg.Parts = append(msg.Parts, part) // nobody knows which of two is meant
			}
			return msg
		}
		before := plainRan
		asked := adktest.Confirmations(adktest.Run(t, plain, cgtest.User, id, adktest.UserText("buy")))
		_, _ = adktest.TryRun(t.Context(), plain, cgtest.User, id, answer(asked[0].ID))
		want := int64(plainRan - before)
		if how%3 == 1 {
			want = 0
		}

		confirmation, _ := h.Ask(id)
		already := h.Bought.Load()
		_, runErr := adktest.TryRun(t.Context(), h.Runner, cgtest.User, id, answer(confirmation))
		if got := h.Bought.Load() - already; got != want {
			t.Errorf("%s, %s as %q: ran %d times, want %d; %v", id, payload, name, got, want, runErr)
		}
		for _, row := range rowtest.Of(h.Rows(id), record.HITLConfirmationRequestCompleted) {
			var a struct {
				ADK struct {
					Accepted bool `json:"accepted"`
				} `json:"adk"`
			}
			if err := json.Unmarshal(row.Attributes, &a); err != nil {
				t.Fatal(err)
			}
			if a.ADK.Accepted != (want == 1) {
				t.Errorf("%s: %s is accepted: %t, want %t", id, payload, a.ADK.Accepted, want == 1)
			}
		}
	})
}
