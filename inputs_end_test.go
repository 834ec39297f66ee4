// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

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
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// asking is the workflow with a request of its own, as JSON.
func (w *reviewed) asking(request string) agent.Agent {
	w.t.Helper()
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
		w.bought.Add(1)
		return "bought", nil
	}, workflow.NodeConfig{})
	wf, err := workflowagent.New(workflowagent.Config{Name: "wf", Edges: workflow.Chain(workflow.Start, find, review, buy)})
	if err != nil {
		w.t.Fatal(err)
	}
	return wf
}

// Of the answers in one message none counts unless all do.
func TestInputsOfOneMessage(t *testing.T) {
	w := newReviewed(t)
	w.askInput()
	both := reply("review-1", "yes")
	both.Parts = append(both.Parts, reply("review-9", "yes").Parts...)
	w.wantTurnedAway(both, safety.CodeUnknownRequest)
	w.wantBought(0)
	if err := w.reply(reply("review-1", "yes")); err != nil {
		t.Error(err)
	}
	w.wantBought(1)
}

// A message that another plugin refuses has used its answer up: nobody can tell what of it
// took place.
func TestInputRefusedByAnotherPlugin(t *testing.T) {
	refuse := false
	other, err := plugin.New(plugin.Config{Name: "refuses", OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
		if refuse {
			return nil, errors.New("no")
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := newReviewed(t)
	w.serve(w.asking(`{"interruptId": "review-1", "message": "Buy it?"}`), other)
	w.askInput()
	refuse = true
	if _, err := adktest.TryRun(t.Context(), w.runner, user, sess, reply("review-1", "yes")); err == nil {
		t.Fatal("the run ended well")
	}
	if a := w.wantState(safety.StateExecuting); !a.InDoubt() {
		t.Error("the approval is not in doubt")
	}
	refuse = false
	w.wantTurnedAway(reply("review-1", "yes"), safety.CodeAlreadyUsed)
	w.wantBought(0)

	w.clock.advance(11 * time.Minute)
	adktest.Run(t, w.runner, user, "another", adktest.UserText("buy a route"))
	w.wantState(safety.StateFailed)
}

// An answer that the node does not take is used up all the same, and what stands behind
// the node does not run.
func TestInputThatTheNodeDoesNotTake(t *testing.T) {
	w := newReviewed(t)
	w.serve(w.asking(`{"interruptId": "review-1", "message": "How many?", "responseSchema": {"type": "integer"}}`))
	w.askInput()
	if err := w.reply(reply("review-1", "many")); err == nil {
		t.Error("the node took the answer")
	}
	w.wantBought(0)
	as := w.approvals(sess)
	if a := as[len(as)-1]; a.State != safety.StateFailed && !a.InDoubt() {
		t.Errorf("approval state = %q, want it used up", a.State)
	}
	w.wantTurnedAway(reply("review-1", 7), safety.CodeAlreadyUsed)
	w.wantBought(0)
}

// A peer agent, which asked, does not answer.
func TestInputAnsweredByAPeer(t *testing.T) {
	const peer = "A2A_USER_context"
	w := newReviewed(t)
	asked := false
	for _, ev := range adktest.Run(t, w.runner, peer, sess, adktest.UserText("buy a route")) {
		asked = asked || ev.RequestedInput != nil
	}
	if !asked {
		t.Fatal("nobody was asked")
	}
	var refusal *safety.Refusal
	for _, err := range w.cg.Run(t.Context(), w.runner, peer, sess, reply("review-1", "yes"), agent.RunConfig{}) {
		errors.As(err, &refusal)
	}
	if refusal == nil || refusal.Code != safety.CodeNotAuthorized {
		t.Errorf("refusal %+v, want %s", refusal, safety.CodeNotAuthorized)
	}
	w.wantBought(0)
}

// An answer whose permit could not be used up is not said to be good for another time.
func TestInputThatIsUsedUpSaysSo(t *testing.T) {
	var checks atomic.Int64
	var broken atomic.Bool
	w := newReviewed(t, func(o *options) {
		now := o.cfg.Now
		o.cfg.Now = func() time.Time {
			if broken.Load() {
				return time.Time{}
			}
			return now()
		}
		// The row of the second check is written between the permit and its use.
		o.cfg.Format = func(eventType string, content []byte) ([]byte, error) {
			if eventType == schema.WorldChangeCheck && checks.Add(1) == 2 {
				broken.Store(true)
			}
			return content, nil
		}
	})
	w.askInput()
	err := w.reply(reply("review-1", "yes"))
	broken.Store(false)
	var refusal *safety.Refusal
	if !errors.As(err, &refusal) || refusal.Code != safety.CodeClock {
		t.Fatalf("the run ended with %v, want the refusal of a clock", err)
	}
	if strings.Contains(err.Error(), "stays open") || !strings.Contains(err.Error(), "run the workflow again") {
		t.Errorf("the remedy is wrong: %v", err)
	}
	w.wantTurnedAway(reply("review-1", "yes"), safety.CodeAlreadyUsed)
	w.wantBought(0)
}
