// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The decision of a guarded input rests on what its run read: what another run of the session reads
// meanwhile has to hold as well.
func TestWorkflowNodeRests(t *testing.T) {
	onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
		w := &cgtest.Workflow{Harness: cgtest.New(t, m.open, cgtest.FoundByNode, cgtest.GuardInputs("review"))}
		find := cgtest.FunctionNode("find", func(ctx agent.Context, _ any) (map[string]any, error) {
			return m.search(ctx, cgtest.SearchArgs{Query: cgtest.Item})
		})
		pause := cgtest.FunctionNode("pause", func(agent.Context, any) (map[string]any, error) {
			if change != nil {
				change()
			}
			tab, err := runner.New(runner.Config{
				AppName: cgtest.App, SessionService: w.Sessions, PluginConfig: w.CG.PluginConfig(),
				Agent: cgtest.RootAgent(t, scripted(searches, says("Looked.")), w.Tools[0]),
			})
			if err != nil {
				return nil, err
			}
			ended := make(chan error, 1)
			go func() {
				_, err := adktest.TryRun(t.Context(), tab, cgtest.User, cgtest.SessionID, adktest.UserText("look"))
				ended <- err
			}()
			return map[string]any{"paused": true}, <-ended
		})
		review := workflow.NewEmittingFunctionNode("review", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
			if err := emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: "review-1", Message: "Buy it?"})); err != nil {
				return nil, err
			}
			return nil, workflow.ErrNodeInterrupted
		}, workflow.NodeConfig{})
		buy := cgtest.FunctionNode("buy", func(agent.Context, any) (string, error) {
			w.Bought.Add(1)
			return "bought", nil
		})
		cgtest.ServeWorkflow(t, w.Harness, workflow.Chain(workflow.Start, find, pause, review, buy), func(*runner.Config) {})
		w.AskInput()
		if refused {
			w.WantTurnedAway(cgtest.InputAnswer("review-1", "yes"), safety.CodeDrift)
			w.WantBought(0)
			return
		}
		if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); err != nil {
			t.Errorf("the run ended with %v", err)
		}
		w.WantBought(1)
	})
}
