// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// asking is a workflow that asks before it buys.
func asking(w *cgtest.Workflow) agent.Agent {
	w.T.Helper()
	find := workflow.NewFunctionNode("find", func(agent.Context, any) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000"}}}, nil
	}, workflow.NodeConfig{})
	review := workflow.NewEmittingFunctionNode("review", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		if err := emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: "review-1", Message: "Buy it?"})); err != nil {
			return nil, err
		}
		return nil, workflow.ErrNodeInterrupted
	}, workflow.NodeConfig{})
	buy := workflow.NewFunctionNode("buy", func(agent.Context, any) (string, error) {
		w.Bought.Add(1)
		return "bought", nil
	}, workflow.NodeConfig{})
	wf, err := workflowagent.New(workflowagent.Config{Name: "wf", Edges: workflow.Chain(workflow.Start, find, review, buy)})
	if err != nil {
		w.T.Fatal(err)
	}
	return wf
}

// A message that another plugin refuses has used its answer up: nobody can tell what of it
// took place.
func TestInputRefusedByAnotherPlugin(t *testing.T) {
	refuse := false
	other := cgtest.NewPlugin(t, plugin.Config{Name: "refuses", OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
		if refuse {
			return nil, errors.New("no")
		}
		return nil, nil
	}})
	w := cgtest.NewWorkflow(t)
	w.Serve(asking(w), other)
	askInput(w)
	refuse = true
	if _, err := adktest.TryRun(t.Context(), w.Runner, cgtest.User, cgtest.SessionID, cgtest.InputAnswer("review-1", "yes")); err == nil {
		t.Fatal("the run ended well")
	}
	if a := wantState(w, safety.StateExecuting); !a.InDoubt() {
		t.Error("the approval is not in doubt")
	}
	refuse = false
	wantTurnedAway(w, cgtest.InputAnswer("review-1", "yes"), safety.CodeAlreadyUsed)
	w.WantBought(0)

	w.Clock.Advance(11 * time.Minute)
	adktest.Run(t, w.Runner, cgtest.User, "another", adktest.UserText("buy a route"))
	wantState(w, safety.StateFailed)
}

// An answer whose permit could not be used up is not said to be good for another time.
func TestInputThatIsUsedUpSaysSo(t *testing.T) {
	var checks atomic.Int64
	var broken atomic.Bool
	w := cgtest.NewWorkflow(t, func(o *cgtest.Options) {
		now := o.Config.Now
		o.Config.Now = func() time.Time {
			if broken.Load() {
				return time.Time{}
			}
			return now()
		}
		// The row of the second check is written between the permit and its use.
		o.Config.Format = func(eventType string, content []byte) ([]byte, error) {
			if eventType == record.WorldChangeCheck && checks.Add(1) == 2 {
				broken.Store(true)
			}
			return content, nil
		}
	})
	askInput(w)
	err := w.Reply(cgtest.InputAnswer("review-1", "yes"))
	broken.Store(false)
	var refusal *safety.Refusal
	if !errors.As(err, &refusal) || refusal.Code != safety.CodeClock {
		t.Fatalf("the run ended with %v, want the refusal of a clock", err)
	}
	if strings.Contains(err.Error(), "stays open") || !strings.Contains(err.Error(), "run the workflow again") {
		t.Errorf("the remedy is wrong: %v", err)
	}
	wantTurnedAway(w, cgtest.InputAnswer("review-1", "yes"), safety.CodeAlreadyUsed)
	w.WantBought(0)
}
