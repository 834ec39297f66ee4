// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// While a model still answers one message of a session, another message asks. What was
// found before counts all the same.
func TestOverlappingModelCalls(t *testing.T) {
	type world struct {
		change  func(*market)
		refused bool
	}
	worlds := map[string]world{
		"the price rises":   {(*market).rise, true},
		"the budget is cut": {(*market).cut, true},
		"nothing changes":   {func(*market) {}, false},
	}
	ends := []string{"while the other asks", "before the approval", "after the approval"}
	for _, c := range testsize.Combinations(t, 2, len(guards), len(worlds), len(ends)) {
		guard, change, end := sorted(guards)[c[0]], sorted(worlds)[c[1]], ends[c[2]]
		w := worlds[change]
		t.Run(guard+", "+change+", "+end, func(t *testing.T) {
			m := newMarket(t)
			began, goOn := make(chan struct{}), make(chan struct{})
			var hello <-chan struct{}
			answered := sync.OnceFunc(func() { close(goOn); <-hello })
			h := cgtest.New(t, guards[guard], m.open, script{
				"find": func(*model.LLMRequest) *model.LLMResponse {
					return adktest.Calls(&genai.FunctionCall{Name: "search", Args: map[string]any{"query": "routes"}},
						&genai.FunctionCall{Name: "budget", Args: map[string]any{"query": "summer"}})
				},
				"<search": says("Found."), "<budget": says("Found."),
				"hello?": func(*model.LLMRequest) *model.LLMResponse {
					close(began)
					<-goOn
					return adktest.Text("Hello.")
				},
				"buy it": func(req *model.LLMRequest) *model.LLMResponse {
					if end == "while the other asks" {
						answered()
					}
					return buys(req)
				},
				"<buy": says("Done."),
			}.model)
			h.Say("find")
			hello = begin(h, "hello?")
			defer answered()
			<-began
			events := h.Say("buy it")
			if end != "after the approval" {
				answered()
			}
			wantOutcome(h, w.refused, settle(h, events, func() { w.change(m) }), priceChanged, "changed")
		})
	}
}

// One response asks for a search and for the purchase. The search is recorded before the
// purchase asks, and the model that asked had not read it.
func TestSearchAndBuyInOneResponse(t *testing.T) {
	for name, test := range map[string]struct {
		first   bool // the model has read a price in an earlier turn
		risen   bool // before the response
		refused bool
	}{
		"an old price was read, the new one was not": {true, true, true},
		"nothing was read":                           {false, false, true},
		"the price that was read holds":              {true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			h := cgtest.New(t, cgtest.Covered, m.open)
			var searched atomic.Pointer[chan struct{}]
			buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buys"},
				func(ctx agent.Context, a cgtest.BuyArgs) (map[string]any, error) {
					switch c := ctx.ToolConfirmation(); {
					case c == nil:
						<-*searched.Load()
						return map[string]any{"status": "waiting"}, ctx.RequestConfirmation("Buy it?", nil)
					case !c.Confirmed:
						return nil, tool.ErrConfirmationRejected
					}
					return h.Buy(ctx, a)
				})
			if err != nil {
				t.Fatal(err)
			}
			both := func(*model.LLMRequest) *model.LLMResponse {
				return adktest.Calls(&genai.FunctionCall{Name: "search", Args: map[string]any{"query": "routes"}},
					&genai.FunctionCall{Name: "buy", Args: map[string]any{"item": cgtest.Item, "count": 1}})
			}
			h.Serve(cgtest.NewAgent(t, llmagent.Config{
				Name: "root", Tools: []tool.Tool{h.Tools[0], buy},
				Model: &adktest.Model{Answer: script{
					"find": searches, "<search": says("Found."), "both": both, "<buy": says("Done."),
				}.answer},
				// The callbacks of the agent come after those of all plugins.
				AfterToolCallbacks: []llmagent.AfterToolCallback{
					func(_ agent.Context, tl tool.Tool, _, _ map[string]any, _ error) (map[string]any, error) {
						if done := searched.Load(); tl.Name() == "search" && done != nil {
							close(*done)
						}
						return nil, nil
					},
				},
			}))
			if test.first {
				h.Say("find")
			}
			if test.risen {
				m.rise()
			}
			done := make(chan struct{})
			searched.Store(&done)
			events := h.Say("both")
			searched.Store(nil)
			wantOutcome(h, test.refused, settle(h, events, nil), priceChanged, notRead)
		})
	}
}

// Another tab of the same session reads the new price while the run that asks knows the
// old one: ADK gives each run its own copy of the session.
func TestOtherTabReadsTheNewPrice(t *testing.T) {
	onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
		var h *cgtest.Harness
		m.tools = []tool.Tool{cgtest.NewTool(t, "think", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			if change != nil {
				change()
			}
			<-begin(h, "look")
			return map[string]any{"thought": "it is a good route"}, nil
		})}
		turns := 0
		h = cgtest.New(t, cgtest.Covered, m.open, script{
			"find": searches, "look": searches,
			"<search": func(req *model.LLMRequest) *model.LLMResponse {
				if turns++; turns > 1 {
					return adktest.Text("Looked.")
				}
				return adktest.Call("think", map[string]any{"query": "which"})
			},
			"<think": func(req *model.LLMRequest) *model.LLMResponse {
				if shows(req, "80,000") {
					t.Error("the run that asks has seen the other tab")
				}
				return buys(req)
			},
			"<buy": says("Done."),
		}.model)
		wantOutcome(h, refused, settle(h, h.Say("find"), nil), priceChanged)
	})
}

// A run of another process on the same journal is open: what it reads may be recorded
// late, so the record has a gap until it ends.
func TestLateRowOfAnotherProcess(t *testing.T) {
	m := newMarket(t)
	h := cgtest.New(t, cgtest.Covered, m.open, searchThenBuy().model)
	began, goOn := make(chan struct{}), make(chan struct{})
	other := cgtest.New(t, cgtest.Covered, m.open, script{"look": searches, "<search": says("Looked.")}.model, func(o *cgtest.Options) {
		o.Config.Journal.Path = h.Path
		o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = h.Sessions }
		search := o.Search
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			close(began)
			<-goOn
			return search(ctx, a)
		}
	})
	h.Say("find")
	looked := begin(other, "look")
	<-began
	if err := other.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRefused(h, settle(h, h.Say("buy it"), nil), safety.ReasonIncompleteRecord)
	m.rise()
	close(goOn)
	<-looked
	if err := other.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := recorded(h, record.ToolCompleted, "search"); n != 2 {
		t.Fatalf("%d searches on record, want that of each process", n)
	}
	m.set(cgtest.Item, "$40,000")
	wantRefused(h, settle(h, h.Say("buy it"), nil), priceChanged) // the other process has read another price
	h.Say("find")
	wantRan(h, settle(h, h.Say("buy it"), nil))
}
