// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A call is asked for again in another run while another tool of its answer still runs, before anybody is shown the
// first request. A yes to that one says that the later request counts, and a yes to the later one runs.
func TestSupersededWhileAToolRuns(t *testing.T) {
	ways := slices.DeleteFunc(cgtest.AllWays(), func(w cgtest.Way) bool {
		return strings.Contains(w.Name, "streaming") // no callback tells when such a tool has asked
	})
	cgtest.OnEach(t, ways, func(t *testing.T, w cgtest.Way) {
		asked, goOn := make(chan bool, 9), make(chan bool)
		release := sync.OnceFunc(func() { close(goOn) })
		defer release()
		buy := &genai.FunctionCall{Name: "buy", Args: map[string]any{"item": cgtest.Item, "count": 1}}
		look := func(query string) *genai.FunctionCall {
			return &genai.FunctionCall{Name: "search", Args: map[string]any{"query": query}}
		}
		h := cgtest.New(t, w.Option, func(o *cgtest.Options) {
			o.Answer = adktest.Script(adktest.Calls(look("routes")), adktest.Text("There."), adktest.Calls(buy, look("slow")), adktest.Calls(buy), adktest.Text("Well."), adktest.Text("Done.")).Answer
			search := o.Search
			o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
				if a.Query == "slow" {
					<-goOn
				}
				return search(ctx, a)
			}
			o.Plugins = append(o.Plugins, cgtest.NewPlugin(t, plugin.Config{
				Name: "tells",
				AfterToolCallback: func(_ agent.Context, tl tool.Tool, _, _ map[string]any, _ error) (map[string]any, error) {
					if tl.Name() == "buy" {
						asked <- true
					}
					return nil, nil
				},
			}))
		})
		h.Say("what is there?")
		first := make(chan []*session.Event, 1)
		go func() { first <- h.Say("buy it, and look on") }()
		<-asked
		later, _ := h.Ask(cgtest.SessionID)
		release()
		requests := adktest.Confirmations(<-first)
		if len(requests) != 1 {
			t.Fatalf("%d requests in the first run, want 1", len(requests))
		}
		got := h.Answer(cgtest.SessionID, requests[0].ID, true)
		if message, _ := got["message"].(string); got["reason"] != safety.CodeSuperseded || !strings.Contains(message, "only the later request counts") {
			t.Errorf("a yes to the first request: %v", got)
		}
		h.WantBought(0)
		if got := h.Answer(cgtest.SessionID, later, true); h.Bought.Load() != 1 {
			t.Errorf("a yes to the later request: %v", got)
		}
	})
}
