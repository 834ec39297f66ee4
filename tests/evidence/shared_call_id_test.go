// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

type quoteArgs struct {
	Item string `json:"item"`
}

// Models that give their calls no ids of their own use one again. Two calls with one id and
// equal results are two all the same, if they are about different things.
func TestOneIDForCallsAboutDifferentThings(t *testing.T) {
	quotes := func(name string) *model.LLMResponse {
		return adktest.Calls(&genai.FunctionCall{ID: "call_0", Name: "quote", Args: map[string]any{"item": name}})
	}
	onBoth(t, func(t *testing.T, m *market, _ func(), refused bool) {
		m.set("Superbowl", "$80,000")
		m.tools = []tool.Tool{cgtest.NewTool(t, "quote", func(_ agent.Context, a quoteArgs) (map[string]any, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return map[string]any{"price": m.price[a.Item], "available": true}, nil
		})}
		h := cgtest.New(t, cgtest.Covered, m.open, configured(t, `
extract:
  - name: quoted
    tool: quote
    in: result
    each: $
    type: Product
    value: {args: $.item}
    attributes:
      price: {path: $.price, type: money, currency: USD}
      availability: {path: $.available, type: boolean}
`))
		tab := func() {
			m.rise()
			r, err := runner.New(runner.Config{
				AppName: cgtest.App, SessionService: h.Sessions, PluginConfig: h.CG.PluginConfig(),
				Agent: cgtest.RootAgent(t, scripted(func(*model.LLMRequest) *model.LLMResponse { return quotes(cgtest.Item) }, says("Quoted.")), h.Tools[len(h.Tools)-1]),
			})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := adktest.TryRun(t.Context(), r, cgtest.User, cgtest.SessionID, adktest.UserText("quote")); err != nil {
				t.Error(err)
			}
		}
		h.Serve(cgtest.RootAgent(t, scripted(
			func(*model.LLMRequest) *model.LLMResponse { return quotes(cgtest.Item) },
			func(*model.LLMRequest) *model.LLMResponse { return quotes("Superbowl") },
			func(req *model.LLMRequest) *model.LLMResponse {
				if refused {
					done := make(chan struct{})
					go func() { defer close(done); tab() }()
					<-done
				}
				return buys(req)
			}, says("Done.")), h.Tools...))
		wantOutcome(h, refused, settle(h, h.Say("buy"), nil), priceChanged)
	})
}
