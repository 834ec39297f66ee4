// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// No model asks in a workflow of functions. The step that asks has read what its own run
// had recorded before it began.
func TestWorkflowNodeRests(t *testing.T) {
	// serve makes a workflow that finds, does something else, asks, and buys.
	serve := func(t *testing.T, m *market, between func(*cgtest.Harness)) *cgtest.Workflow {
		w := &cgtest.Workflow{Harness: cgtest.New(t, m.open, cgtest.FoundByNode, cgtest.GuardInputs("review"))}
		find := cgtest.FunctionNode("find", func(ctx agent.Context, _ any) (map[string]any, error) {
			return m.search(ctx, cgtest.SearchArgs{Query: cgtest.Item})
		})
		pause := cgtest.FunctionNode("pause", func(agent.Context, any) (map[string]any, error) {
			if between != nil {
				between(w.Harness)
			}
			return map[string]any{"paused": true}, nil
		})
		review := workflow.NewEmittingFunctionNode("review", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
			ask := session.RequestInput{InterruptID: "review-" + string(rune('0'+w.Asks.Add(1))), Message: "Buy it?"}
			if err := emit(workflow.NewRequestInputEvent(ctx, ask)); err != nil {
				return nil, err
			}
			return nil, workflow.ErrNodeInterrupted
		}, workflow.NodeConfig{})
		buy := cgtest.FunctionNode("buy", func(agent.Context, any) (string, error) {
			w.Bought.Add(1)
			return "bought", nil
		})
		cgtest.ServeWorkflow(t, w.Harness, workflow.Chain(workflow.Start, find, pause, review, buy), func(*runner.Config) {})
		return w
	}
	settle := func(t *testing.T, w *cgtest.Workflow, id string, refused bool) {
		t.Helper()
		if refused {
			w.WantTurnedAway(cgtest.InputAnswer(id, "yes"), safety.CodeDrift)
			w.WantBought(0)
			return
		}
		if err := w.Reply(cgtest.InputAnswer(id, "yes")); err != nil {
			t.Errorf("the run ended with %v", err)
		}
		w.WantBought(1)
	}
	t.Run("after the request", func(t *testing.T) {
		onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
			w := serve(t, m, nil)
			w.AskInput()
			if change != nil {
				change()
			}
			settle(t, w, "review-1", refused)
		})
	})
	t.Run("another run of the session reads the new price", func(t *testing.T) {
		onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
			w := serve(t, m, func(h *cgtest.Harness) {
				if change != nil {
					change()
				}
				tab, err := runner.New(runner.Config{
					AppName: cgtest.App, SessionService: h.Sessions, PluginConfig: h.CG.PluginConfig(),
					Agent: cgtest.RootAgent(t, scripted(searches, func(*model.LLMRequest) *model.LLMResponse { return adktest.Text("Looked.") }), h.Tools[0]),
				})
				if err != nil {
					t.Error(err)
					return
				}
				ended := make(chan error, 1)
				go func() {
					_, err := adktest.TryRun(t.Context(), tab, cgtest.User, cgtest.SessionID, genai.NewContentFromText("look", genai.RoleUser))
					ended <- err
				}()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
			w.AskInput()
			settle(t, w, "review-1", refused)
		})
	})
	t.Run("an earlier run read the old price", func(t *testing.T) {
		m := newMarket(t)
		w := serve(t, m, nil)
		w.AskInput()
		m.rise()
		w.AskInput()
		settle(t, w, "review-2", false)
	})
}
