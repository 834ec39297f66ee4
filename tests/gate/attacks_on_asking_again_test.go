// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// clerked is a session whose root hands over to a clerk when its call is refused. Both call
// the same tool with the same arguments.
func clerked(t *testing.T, contents llmagent.IncludeContents, opts ...cgtest.Option) (h *cgtest.Harness, clerkTold *[]map[string]any) {
	t.Helper()
	h = cgtest.New(t, opts...)
	told := []map[string]any{}
	calls := 0
	clerk := cgtest.NewAgent(t, llmagent.Config{
		Name: "clerk", Description: "buys", Tools: h.Tools[1:], IncludeContents: contents,
		Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "buy" && calls > 0 {
				told = append(told, cgtest.Unstreamed(last.Response))
				return adktest.Text("Done."), nil
			}
			calls++
			return adktest.Call("buy", cgtest.SameArgs(0)), nil
		}},
	})
	h.Serve(cgtest.NewAgent(t, llmagent.Config{
		Name: "root", Tools: h.Tools, SubAgents: []agent.Agent{clerk},
		Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := adktest.LastResponse(req)
			switch {
			case last == nil:
				return adktest.Call("search", map[string]any{"query": "routes"}), nil
			case last.Name == "search":
				return adktest.Call("buy", cgtest.SameArgs(0)), nil
			}
			return adktest.Call("transfer_to_agent", map[string]any{"agent_name": "clerk"}), nil
		}},
	}))
	return h, &told
}

// Another agent that makes the same call goes on with the chain: if it has read the refusal
// it asks for what replaces the request, if it has not it is told to, and if a person said no
// it may not ask at all.
func TestAskedAgainByAnotherAgent(t *testing.T) {
	t.Run("that read the refusal", func(t *testing.T) {
		h, _ := clerked(t, llmagent.IncludeContentsDefault)
		id, _ := h.Ask(cgtest.SessionID)
		h.Shop.Set("$52,000", true)
		cgtest.OnlyRequest(t, h.Decide(id, true))
		as := h.WantStates(safety.StateBlocked, safety.StatePending)
		if as[1].Agent != "clerk" || as[1].Replaces != as[0].ID {
			t.Errorf("%s asks and replaces %q", as[1].Agent, as[1].Replaces)
		}
	})
	t.Run("that read nothing", func(t *testing.T) {
		h, told := clerked(t, llmagent.IncludeContentsNone)
		id, _ := h.Ask(cgtest.SessionID)
		h.Shop.Set("$52,000", true)
		if calls := h.Decide(id, true); len(calls) != 0 {
			t.Fatal("an agent asks that has not read what its peer was told")
		}
		h.WantStates(safety.StateBlocked)
		if len(*told) != 1 || (*told)[0]["reason"] != safety.CodeDrift || !strings.Contains(fmt.Sprint((*told)[0]["message"]), "you have not read since: price of") {
			t.Errorf("the clerk was told %v", *told)
		}
	})
	t.Run("after a rejection", func(t *testing.T) {
		h, told := clerked(t, llmagent.IncludeContentsDefault)
		id, _ := h.Ask(cgtest.SessionID)
		if calls := h.Decide(id, false); len(calls) != 0 {
			t.Fatal("another agent asks a person who said no")
		}
		h.WantStates(safety.StateRejected)
		if len(*told) != 1 || (*told)[0]["reason"] != safety.CodeRejected {
			t.Errorf("the clerk was told %v", *told)
		}
	})
}

// Two processes that resume one turn at the same time ask once.
func TestAskedAgainByTwoProcesses(t *testing.T) {
	for range testsize.Rounds(t, 1, 20) {
		a := cgtest.NewRepeating(t, &cgtest.Repeater{})
		b := cgtest.NewRepeating(t, &cgtest.Repeater{}, func(o *cgtest.Options) { o.Config.Journal.Path = a.Path })
		for _, h := range []*cgtest.Harness{a, b} {
			h.Sessions, h.Shop = a.Sessions, a.Shop
			h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Tools: h.Tools, Model: h.Model}))
		}
		id, _ := a.Ask(cgtest.SessionID)
		a.Shop.Set("$52,000", true)
		b.Shop.Set("$52,000", true)
		var wg sync.WaitGroup
		for _, h := range []*cgtest.Harness{a, b} {
			wg.Go(func() {
				_, _ = adktest.TryRun(context.WithoutCancel(t.Context()), h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
			})
		}
		wg.Wait()
		as := a.Approvals(cgtest.SessionID)
		replacing := 0
		for _, p := range as[1:] {
			if p.Replaces == as[0].ID {
				replacing++
			} else {
				t.Errorf("a request replaces %q", p.Replaces)
			}
		}
		if replacing > 1 || a.Bought.Load()+b.Bought.Load() != 0 {
			t.Errorf("%d requests replace the first, bought %d times", replacing, a.Bought.Load()+b.Bought.Load())
		}
	}
}

// A tool that asks once and then runs is asked for by the gate when its call comes again:
// what was refused never runs unasked.
func TestRefusedCallOfAToolThatAsksOnce(t *testing.T) {
	asked := false
	h := cgtest.NewRepeating(t, &cgtest.Repeater{}, cgtest.Covered, func(o *cgtest.Options) {
		o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
			return functiontool.New(functiontool.Config{Name: "buy", Description: "buys"}, func(ctx agent.Context, a cgtest.BuyArgs) (map[string]any, error) {
				if !asked {
					asked = true
					return map[string]any{"status": "waiting"}, ctx.RequestConfirmation("Buy it?", map[string]any{"limit": 1})
				}
				return h.Buy(ctx, a)
			})
		}
	})
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	request := cgtest.ShownBy(t, cgtest.OnlyRequest(t, h.Decide(id, true)))
	h.WantBought(0)
	if !strings.HasPrefix(request.Hint, "Buy it? Replaces the request of") || request.Payload["limit"] == nil {
		t.Errorf("it is not asked for as the tool asked: %+v", request)
	}
}
