// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// scripted is a model that gives its answers one after the other, and a text once it has
// none: an agent that runs again because a run is resumed does nothing.
func scripted(answers ...func(*model.LLMRequest) *model.LLMResponse) *adktest.Model {
	var mu sync.Mutex
	return &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		mu.Lock()
		if len(answers) == 0 {
			mu.Unlock()
			return adktest.Text("Nothing to do."), nil
		}
		next := answers[0]
		answers = answers[1:]
		mu.Unlock()
		return next(req), nil
	}}
}

func sideBySide(t *testing.T, name string, agents ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: name, SubAgents: agents}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// directed is an agent that sends a turn on to the agent named after "to ", and answers
// any other by the script.
func directed(t *testing.T, h *cgtest.Harness, s script, agents ...agent.Agent) agent.Agent {
	t.Helper()
	return cgtest.NewAgent(t, llmagent.Config{Name: "root", Tools: h.Tools, SubAgents: agents, Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if to, ok := strings.CutPrefix(lastTold(req), "to "); ok {
				return adktest.Call("transfer_to_agent", map[string]any{"agent_name": to}), nil
			}
			return s.answer(req)
		}}})
}

// What agents side by side read counts for the one behind them, and what one of them reads
// is not known to the other.
func TestParallelChildren(t *testing.T) {
	t.Run("one of them asks while the other reads a new price", func(t *testing.T) {
		onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
			h := cgtest.New(t, cgtest.Covered, m.open)
			read, again := make(chan struct{}), make(chan struct{})
			left := cgtest.NewAgent(t, llmagent.Config{Name: "left", Tools: h.Tools[:1], Model: scripted(
				func(req *model.LLMRequest) *model.LLMResponse {
					<-read
					if change != nil {
						change()
					}
					return searches(req)
				},
				func(*model.LLMRequest) *model.LLMResponse {
					close(again)
					return adktest.Text("Found.")
				})})
			right := cgtest.NewAgent(t, llmagent.Config{Name: "right", Tools: h.Tools[:2], Model: scripted(
				searches,
				func(req *model.LLMRequest) *model.LLMResponse {
					close(read)
					<-again
					return buys(req)
				})})
			h.Serve(directed(t, h, nil, sideBySide(t, "both", left, right)))
			wantOutcome(h, refused, settle(h, h.Say("to both"), nil), priceChanged)
		})
	})
	// A model call of one child is under way while the other asks.
	t.Run("one of them asks while the other chats", func(t *testing.T) {
		onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
			h := cgtest.New(t, cgtest.Covered, m.open)
			began, asks, said := make(chan struct{}), make(chan struct{}), make(chan struct{})
			left := cgtest.NewAgent(t, llmagent.Config{Name: "left", Model: scripted(func(*model.LLMRequest) *model.LLMResponse {
				close(began)
				<-asks
				return adktest.Text("Nice weather.")
			}), AfterModelCallbacks: []llmagent.AfterModelCallback{
				func(agent.Context, *model.LLMResponse, error) (*model.LLMResponse, error) {
					select {
					case <-said:
					default:
						close(said)
					}
					return nil, nil
				},
			}})
			right := cgtest.NewAgent(t, llmagent.Config{Name: "right", Tools: h.Tools[1:2], Model: scripted(func(req *model.LLMRequest) *model.LLMResponse {
				<-began
				close(asks)
				<-said
				return buys(req)
			})})
			h.Serve(directed(t, h, searchThenBuy(), sideBySide(t, "both", left, right)))
			h.Say("find")
			wantOutcome(h, refused, settle(h, h.Say("to both"), change), priceChanged)
		})
	})
}

// The same in the children of a dynamic node, which have one branch.
func TestDynamicChildren(t *testing.T) {
	onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
		h := cgtest.New(t, cgtest.Covered, m.open)
		began, asks, said := make(chan struct{}), make(chan struct{}), make(chan struct{})
		finder := agentNode(t, llmagent.Config{Name: "finder", Tools: h.Tools[:1], Model: scripted(searches, says("Found."))})
		left := agentNode(t, llmagent.Config{Name: "left", Model: scripted(func(*model.LLMRequest) *model.LLMResponse {
			close(began)
			<-asks
			return adktest.Text("Nice weather.")
		}), AfterModelCallbacks: []llmagent.AfterModelCallback{
			func(agent.Context, *model.LLMResponse, error) (*model.LLMResponse, error) {
				select {
				case <-said:
				default:
					close(said)
				}
				return nil, nil
			},
		}})
		right := agentNode(t, llmagent.Config{Name: "right", Tools: h.Tools[1:2], Model: scripted(func(req *model.LLMRequest) *model.LLMResponse {
			close(asks)
			<-said
			return buys(req)
		})})
		both := workflow.NewDynamicNode("both", func(ctx agent.Context, _ any, _ func(*session.Event) error) (string, error) {
			if _, err := workflow.RunNode[any](ctx, finder, "find"); err != nil {
				return "", err
			}
			var wg sync.WaitGroup
			var errs [2]error
			for i, n := range []workflow.Node{left, right} {
				if n == right {
					<-began
				}
				wg.Go(func() { _, errs[i] = workflow.RunNode[any](ctx, n, "buy it") })
			}
			wg.Wait()
			return "done", errors.Join(errs[:]...)
		}, workflow.NodeConfig{})
		cgtest.ServeWorkflow(t, h, workflow.Chain(workflow.Start, both), func(*runner.Config) {})
		if asked := adktest.Confirmations(h.Say("go")); len(asked) != 1 {
			t.Fatalf("%d confirmations, want 1", len(asked))
		}
		if change != nil {
			change()
		}
		// A run that is resumed runs all children again, so the answer does not reach buy.
		report, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
		// The child that asked was given its task alone, so it had not read the price.
		if err != nil || report.IsSafeToApprove() || !refused && !strings.Contains(report.Summary(), safety.ReasonNotRead) {
			t.Errorf("error %v, and the report says\n%s", err, report.Summary())
		}
	})
}
