// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"encoding/json"
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

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// asking is the workflow with a request of its own, as JSON.
func asking(w *cgtest.Workflow, request string) agent.Agent {
	w.T.Helper()
	find := workflow.NewFunctionNode("find", func(agent.Context, any) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000"}}}, nil
	}, workflow.NodeConfig{})
	review := workflow.NewEmittingFunctionNode("review", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		var ask session.RequestInput
		if err := json.Unmarshal([]byte(request), &ask); err != nil {
			return nil, err
		}
		if err := emit(workflow.NewRequestInputEvent(ctx, ask)); err != nil {
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
	w.Serve(asking(w, `{"interruptId": "review-1", "message": "Buy it?"}`), other)
	w.AskInput()
	refuse = true
	if _, err := adktest.TryRun(t.Context(), w.Runner, cgtest.User, cgtest.SessionID, cgtest.InputAnswer("review-1", "yes")); err == nil {
		t.Fatal("the run ended well")
	}
	if a := w.WantState(safety.StateExecuting); !a.InDoubt() {
		t.Error("the approval is not in doubt")
	}
	refuse = false
	w.WantTurnedAway(cgtest.InputAnswer("review-1", "yes"), safety.CodeAlreadyUsed)
	w.WantBought(0)

	w.Clock.Advance(11 * time.Minute)
	adktest.Run(t, w.Runner, cgtest.User, "another", adktest.UserText("buy a route"))
	w.WantState(safety.StateFailed)
}

// An answer that the node does not take is used up all the same, and what stands behind
// the node does not run.
func TestInputThatTheNodeDoesNotTake(t *testing.T) {
	w := cgtest.NewWorkflow(t)
	w.Serve(asking(w, `{"interruptId": "review-1", "message": "How many?", "responseSchema": {"type": "integer"}}`))
	w.AskInput()
	if err := w.Reply(cgtest.InputAnswer("review-1", "many")); err == nil {
		t.Error("the node took the answer")
	}
	w.WantBought(0)
	as := w.Approvals(cgtest.SessionID)
	if a := as[len(as)-1]; a.State != safety.StateFailed && !a.InDoubt() {
		t.Errorf("approval state = %q, want it used up", a.State)
	}
	w.WantTurnedAway(cgtest.InputAnswer("review-1", 7), safety.CodeAlreadyUsed)
	w.WantBought(0)
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
	w.AskInput()
	err := w.Reply(cgtest.InputAnswer("review-1", "yes"))
	broken.Store(false)
	var refusal *safety.Refusal
	if !errors.As(err, &refusal) || refusal.Code != safety.CodeClock {
		t.Fatalf("the run ended with %v, want the refusal of a clock", err)
	}
	if strings.Contains(err.Error(), "stays open") || !strings.Contains(err.Error(), "run the workflow again") {
		t.Errorf("the remedy is wrong: %v", err)
	}
	w.WantTurnedAway(cgtest.InputAnswer("review-1", "yes"), safety.CodeAlreadyUsed)
	w.WantBought(0)
}

// A run that another plugin answers in the place of the nodes executed nothing.
func TestInputWhoseRunAnotherPluginAnswers(t *testing.T) {
	on := false
	p := cgtest.NewPlugin(t, plugin.Config{Name: "answers", BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
		if on {
			return genai.NewContentFromText("closed", genai.RoleModel), nil
		}
		return nil, nil
	}})
	w := cgtest.NewWorkflow(t)
	w.Serve(asking(w, `{"interruptId": "review-1", "message": "Buy it?"}`), p)
	w.AskInput()
	on = true
	_ = w.Reply(cgtest.InputAnswer("review-1", "yes"))
	w.WantBought(0)
	w.WantState(safety.StateFailed)
}
