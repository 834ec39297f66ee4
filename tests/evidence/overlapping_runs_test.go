// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// While a model still answers one message of a session, another message asks. A reading from before
// counts all the same.
func TestOverlappingModelCalls(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, rise func(*cgtest.Harness), refused bool) {
		began, goOn := make(chan struct{}), make(chan struct{})
		h := cgtest.New(t, cgtest.Covered, script{
			"find": searches, "<search": says("Found."), "buy it": buys, "<buy": says("Done."),
			"hello?": func(*model.LLMRequest) *model.LLMResponse {
				close(began)
				<-goOn
				return adktest.Text("Hello.")
			},
		}.model)
		h.Say("find")
		hello := begin(h, "hello?")
		<-began
		events := h.Say("buy it")
		rise(h)
		wantOutcome(h, events, refused)
		close(goOn)
		<-hello
	})
}

// Another tab of the same session reads the new price while the run that asks knows the old one: ADK
// gives each run its own copy of the session.
func TestOtherTabReadsTheNewPrice(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, rise func(*cgtest.Harness), refused bool) {
		var h *cgtest.Harness
		think := cgtest.NewTool(t, "think", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			rise(h)
			<-begin(h, "look")
			return map[string]any{"thought": "it is a good route"}, nil
		})
		searched := 0
		h = cgtest.New(t, cgtest.Covered, cgtest.NotChecked, script{
			"find": searches, "look": searches, "<think": buys, "<buy": says("Done."),
			"<search": func(*model.LLMRequest) *model.LLMResponse {
				if searched++; searched > 1 {
					return adktest.Text("Looked.")
				}
				return adktest.Call("think", map[string]any{"query": "which"})
			},
		}.model, func(o *cgtest.Options) {
			o.ChangeTools = func(_ *contextgraph.Instance, tools []tool.Tool) []tool.Tool { return append(tools, think) }
		})
		wantOutcome(h, h.Say("find"), refused)
	})
}

// inBothWorlds tests in a world in which the price rises, and in one in which nothing changes.
func inBothWorlds(t *testing.T, test func(t *testing.T, rise func(*cgtest.Harness), refused bool)) {
	t.Run("the price rises", func(t *testing.T) { test(t, func(h *cgtest.Harness) { h.Shop.Set("$80,000", true) }, true) })
	t.Run("nothing changes", func(t *testing.T) { test(t, func(*cgtest.Harness) {}, false) })
}

// script is what a model answers to the last thing it is told: the text of a user, or the name of a
// tool after "<" for its result.
type script map[string]func(*model.LLMRequest) *model.LLMResponse

func (s script) model(o *cgtest.Options) {
	o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		answer := s[lastTold(req)]
		if answer == nil {
			return nil, fmt.Errorf("the script has no answer to %q", lastTold(req))
		}
		return answer(req), nil
	}
}

// lastTold returns the end of a prompt in the form of the keys of a script.
func lastTold(req *model.LLMRequest) string {
	if last := adktest.LastResponse(req); last != nil {
		return "<" + last.Name
	}
	parts := req.Contents[len(req.Contents)-1].Parts
	return parts[len(parts)-1].Text
}

func says(text string) func(*model.LLMRequest) *model.LLMResponse {
	return func(*model.LLMRequest) *model.LLMResponse { return adktest.Text(text) }
}

func searches(*model.LLMRequest) *model.LLMResponse {
	return adktest.Call("search", map[string]any{"query": "routes"})
}

func buys(*model.LLMRequest) *model.LLMResponse {
	return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1})
}

// begin runs a turn beside others and returns a channel that closes at its end.
func begin(h *cgtest.Harness, text string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := adktest.TryRun(h.T.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText(text)); err != nil {
			h.T.Errorf("the turn %q ended with %v", text, err)
		}
	}()
	return done
}

// wantOutcome approves what the events ask for. The call must run, or be refused for the price.
func wantOutcome(h *cgtest.Harness, events []*session.Event, refused bool) {
	h.T.Helper()
	asked := adktest.Confirmations(events)
	if len(asked) != 1 {
		h.T.Fatalf("%d confirmations, want 1", len(asked))
	}
	got := encoded(h.Answer(cgtest.SessionID, asked[0].ID, true))
	ran, changed := h.Bought.Load() > 0, strings.Contains(got, `"drift_type":"price_changed"`)
	if ran == refused || changed != refused {
		h.T.Errorf("buy ran: %t, and answered %s; refused for the price: want %t", ran, got, refused)
	}
}
