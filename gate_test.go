// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// counter is a buy tool that counts its runs.
func counter(t testing.TB, n *atomic.Int64) tool.Tool {
	t.Helper()
	return mustTool(t, "buy", func(agent.Context, buyArgs) (map[string]any, error) {
		n.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
}

// A name that one protected tool bears is guarded on every tool that bears it.
func TestProtectGuardsEveryToolOfThatName(t *testing.T) {
	for name, opt := range map[string]option{
		"listed":                         listed,
		"not listed":                     func(o *options) { o.protect, o.confirm = false, false },
		"with a confirmation of its own": func(o *options) { o.protect = false },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, opt)
			var other atomic.Int64
			h.cg.Protect(counter(t, &other)) // the tool of some other agent
			id, _ := h.ask(sess)
			h.wantBought(0)
			h.answer(sess, id, true)
			h.wantBought(1)
			if got := h.approvals(sess)[0].State; got != safety.StateExecuted {
				t.Errorf("approval state = %q, want executed: the permit must be consumed", got)
			}
			h.answer(sess, id, true)
			h.wantBought(1)
		})
	}
}

// An approved tool cannot run a protected one inside of itself on its own approval.
func TestApprovalOfOneToolDoesNotRunAnotherInside(t *testing.T) {
	var inner atomic.Int64
	h := newHarness(t, listed)
	pay := h.cg.Protect(mustTool(t, "pay", func(agent.Context, buyArgs) (map[string]any, error) {
		inner.Add(1)
		return map[string]any{}, nil
	}))
	type runner interface {
		Run(agent.Context, any) (map[string]any, error)
	}
	search := mustTool(t, "search", func(agent.Context, searchArgs) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000", "available": true}}}, nil
	})
	buy := mustTool(t, "buy", func(ctx agent.Context, a buyArgs) (map[string]any, error) {
		h.bought.Add(1)
		return pay.(runner).Run(ctx, map[string]any{"item": a.Item, "count": a.Count})
	})
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: h.model, Tools: []tool.Tool{search, buy}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	id, _ := h.ask(sess)
	h.answer(sess, id, true)
	h.wantBought(1)
	if n := inner.Load(); n != 0 {
		t.Errorf("the protected tool ran %d times on the approval of another", n)
	}
}

// On a resume a sequential agent runs its agents anew, and one before the asking one
// may have a tool of that name.
func TestApprovalOfOneAgentDoesNotRunAnothersTool(t *testing.T) {
	h := newHarness(t)
	var firsts, seconds atomic.Int64
	first, err := llmagent.New(llmagent.Config{Name: "first", Tools: []tool.Tool{h.cg.Protect(counter(t, &firsts))}, Model: &adktest.Model{
		Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return adktest.Text("nothing to do"), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	search := mustTool(t, "search", func(agent.Context, searchArgs) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000", "available": true}}}, nil
	})
	step := 0
	second, err := llmagent.New(llmagent.Config{Name: "second", Tools: []tool.Tool{search, h.cg.Protect(counter(t, &seconds))}, Model: &adktest.Model{
		Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
			switch step++; step {
			case 1:
				return adktest.Call("search", map[string]any{"query": "routes"}), nil
			case 2:
				return adktest.Call("buy", map[string]any{"item": "Strava Sponsored Routes", "count": 1}), nil
			}
			return adktest.Text("done"), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: []agent.Agent{first, second}}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(root)
	events := adktest.Run(t, h.runner, user, sess, adktest.UserText("go"))
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		t.Fatalf("%d confirmations, want 1", len(calls))
	}
	_, _ = adktest.TryRun(t.Context(), h.runner, user, sess, adktest.Answer(calls[0].ID, true))
	if n := firsts.Load(); n != 0 {
		t.Errorf("the tool of the first agent ran %d times on an approval the second asked for", n)
	}
}

type panickingPayload struct{ Order int64 }

func (panickingPayload) MarshalJSON() ([]byte, error) { panic("boom") }

// A payload that cannot be encoded costs neither the process nor the run.
func TestPayloadThatPanics(t *testing.T) {
	for name, opt := range map[string]option{"observed": plain, "enforced": listed} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, opt)
			h.onAsk = func(ctx agent.Context) error { return ctx.RequestConfirmation("sure?", panickingPayload{1 << 60}) }
			if _, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("buy a route")); err != nil {
				t.Fatalf("the run failed: %v", err)
			}
		})
	}
}

// An effect does not begin once nobody is there to see it.
func TestCanceledRunDoesNotBeginTheEffect(t *testing.T) {
	onEveryGuard(t, func(t *testing.T, h *harness) {
		id, _ := h.ask(sess)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h.onCheck = func(n int64) {
			if n == 2 { // the check before the effect
				cancel()
			}
		}
		_, _ = adktest.TryRun(ctx, h.runner, user, sess, adktest.Answer(id, true))
		h.wantBought(0)
	}, func(o *options) { o.counted = true })
}

// Two calls of one turn under one id: what runs is at most what was approved.
func TestCallsThatShareAnID(t *testing.T) {
	onEveryGuard(t, func(t *testing.T, h *harness) {
		events, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("buy"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range adktest.Confirmations(events) {
			h.answer(sess, c.ID, true)
		}
		if n := h.bought.Load(); n > 1 {
			t.Fatalf("the tool ran %d times, want at most once", n)
		}
		if got, ok := h.lastBuy.Load().(buyArgs); ok {
			if a := h.approvals(sess)[0]; string(a.Args) != `{"count":`+string(rune('0'+got.Count))+`,"item":"Strava Sponsored Routes"}` {
				t.Errorf("ran with %+v, approved was %s", got, a.Args)
			}
		}
	}, func(o *options) {
		shop := o.answer
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "search" {
				call := func(n int) *genai.FunctionCall {
					return &genai.FunctionCall{ID: "same", Name: "buy", Args: map[string]any{"item": "Strava Sponsored Routes", "count": n}}
				}
				return adktest.Calls(call(1), call(2)), nil
			}
			return shop(req)
		}
	})
}

// A live run that cannot start fires no further callback. It is closed when a later
// run starts, and does not spoil the session.
func TestLiveRunThatCannotStartIsClosedLater(t *testing.T) {
	h := newHarness(t)
	if _, err := h.sessions.Create(t.Context(), &session.CreateRequest{AppName: app, UserID: user, SessionID: sess}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.runner.RunLive(t.Context(), user, sess, agent.LiveRunConfig{}); err == nil {
		t.Fatal("the scripted model cannot be live, and yet the run started")
	}
	h.clock.advance(time.Hour)
	id, _ := h.ask(sess)
	if got := h.answer(sess, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v, want it bought", got)
	}
	checkTree(t, h.rows(sess))
}

// A slow answer is not taken for a message that was refused.
func TestRunWhoseAnswerTakesLongIsNotGivenUp(t *testing.T) {
	h := newHarness(t, func(o *options) { o.counted = true })
	id, _ := h.ask(sess)
	h.onCheck = func(n int64) {
		if n == 1 {
			h.clock.advance(time.Hour)
			adktest.Run(t, h.runner, user, "another session", adktest.UserText("buy a route"))
			h.clock.advance(-time.Hour)
		}
	}
	if got := h.answer(sess, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v, want it bought", got)
	}
	for _, e := range rowsOf(h.rows(sess), schema.InvocationCompleted) {
		if e.Status != schema.StatusOK {
			t.Errorf("a run ended with %s: %s", e.Status, e.ErrorMessage)
		}
	}
}

// The request rests on everything that led to it, however long ago in the session.
func TestEntitiesFarBeforeTheRequestAreChecked(t *testing.T) {
	const rounds = 40
	step := 0
	h := newHarness(t, func(o *options) {
		o.answer = func(*model.LLMRequest) (*model.LLMResponse, error) {
			switch step++; {
			case step == 1:
				return adktest.Call("search", map[string]any{"query": "first"}), nil
			case step <= rounds:
				return adktest.Call("search", map[string]any{"query": "other"}), nil
			case step == rounds+1:
				return adktest.Call("buy", map[string]any{"item": "First", "count": 1}), nil
			}
			return adktest.Text("done"), nil
		}
		o.search = func(_ agent.Context, a searchArgs) (map[string]any, error) {
			name := "Other"
			if a.Query == "first" {
				name = "First"
			}
			return map[string]any{"items": []any{map[string]any{"name": name, "price": "$40,000", "available": true}}}, nil
		}
	}, checker(func(_ context.Context, e entity.Canonical) (safety.State, error) {
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": money(t, "$40,000"), "availability": entity.Bool(e.Value != "First"),
		}}, nil
	}))
	id, _ := h.ask(sess)
	if n := len(h.approvals(sess)[0].Entities); n != 2 {
		t.Errorf("the approval rests on %d entities, want 2", n)
	}
	if got := h.answer(sess, id, true); got["reason"] != "drift" {
		t.Errorf("buy answered %v, want drift: the first product is sold out", got)
	}
	h.wantBought(0)
}
