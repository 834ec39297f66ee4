// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// answerWith is an approval with a payload.
func answerWith(confirmationID string, payload any) *genai.Content {
	msg := adktest.Answer(confirmationID, true)
	msg.Parts[0].FunctionResponse.Response["payload"] = payload
	return msg
}

// The answer that a protected tool sees is its own: nobody changes it while it runs.
func TestProtectedToolHasItsOwnAnswer(t *testing.T) {
	var shared *toolconfirmation.ToolConfirmation
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.BeforeTool = []llmagent.BeforeToolCallback{func(ctx agent.Context, _ tool.Tool, _ map[string]any) (map[string]any, error) {
			shared = ctx.ToolConfirmation()
			return nil, nil
		}}
	})
	var seen []any
	h.Effect = func(ctx agent.Context) error {
		shared.Payload = 9999
		derived, cancel := ctx.WithAgentCancel()
		defer cancel()
		seen = append(seen, ctx.ToolConfirmation().Payload, derived.ToolConfirmation().Payload)
		return nil
	}
	id, _ := h.Ask(cgtest.SessionID)
	_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, answerWith(id, 10))
	if diff := cmp.Diff([]any{10.0, 10.0}, seen); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

type panickingPayload struct{ Order int64 }

func (panickingPayload) MarshalJSON() ([]byte, error) { panic("boom") }

// A payload that cannot be encoded costs neither the process nor the run.
func TestPayloadThatPanics(t *testing.T) {
	for name, opt := range map[string]cgtest.Option{"observed": cgtest.Unprotected, "enforced": cgtest.Listed} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, opt)
			h.OnAsk = func(ctx agent.Context) error { return ctx.RequestConfirmation("sure?", panickingPayload{1 << 60}) }
			if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route")); err != nil {
				t.Fatalf("the run failed: %v", err)
			}
		})
	}
}
