// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// rewriting is a plugin behind the observer that changes the messages of users.
func rewriting(t *testing.T, rewrite func(*genai.Content) *genai.Content) *plugin.Plugin {
	t.Helper()
	p := cgtest.NewPlugin(t, plugin.Config{Name: "rewrites", OnUserMessageCallback: func(_ agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
		return rewrite(msg), nil
	}})
	return p
}

// What the gate looked at is what the nodes get: a plugin behind it that changes the answer,
// or makes one up, starts nothing.
func TestInputChangedByAnotherPlugin(t *testing.T) {
	for name, tt := range map[string]struct {
		msg     *genai.Content
		rewrite func(*genai.Content) *genai.Content
		want    safety.ApprovalState
	}{
		"an answer made of a text": {adktest.UserText("yes"), func(*genai.Content) *genai.Content { return cgtest.InputAnswer("review-1", "yes") }, safety.StatePending},
		"an answer added in place": {adktest.UserText("yes"), func(msg *genai.Content) *genai.Content {
			msg.Parts = append(msg.Parts, cgtest.InputAnswer("review-1", "yes").Parts...)
			return nil
		}, safety.StatePending},
		"another answer": {cgtest.InputAnswer("review-1", "no"), func(*genai.Content) *genai.Content { return cgtest.InputAnswer("review-1", "yes") }, safety.StateFailed},
		"another answer in place": {cgtest.InputAnswer("review-1", "no"), func(msg *genai.Content) *genai.Content {
			msg.Parts[0].FunctionResponse.Response["response"] = "yes"
			return nil
		}, safety.StateFailed},
		"the id of another": {cgtest.InputAnswer("other", "yes"), func(*genai.Content) *genai.Content { return cgtest.InputAnswer("review-1", "yes") }, safety.StatePending},
	} {
		t.Run(name, func(t *testing.T) {
			w := cgtest.NewWorkflow(t)
			on := false
			w.Serve(asking(w, `{"interruptId": "review-1", "message": "Buy it?"}`), rewriting(t, func(msg *genai.Content) *genai.Content {
				if !on {
					return nil
				}
				return tt.rewrite(msg)
			}))
			w.AskInput()
			if tt.want == safety.StatePending {
				w.Shop.Set("$90,000", true)
			}
			on = true
			err := w.Reply(tt.msg)
			if err == nil || !strings.Contains(err.Error(), "review-1") && !strings.Contains(err.Error(), "other") {
				t.Errorf("the run ended with %v", err)
			}
			w.WantBought(0)
			w.WantState(tt.want)
			// Nor does what the session has kept of it.
			on = false
			_ = w.Reply(cgtest.InputAnswer("review-1", "yes"))
			if tt.want == safety.StatePending {
				w.WantState(safety.StateBlocked)
			}
			w.WantBought(0)
		})
	}
}

// A plugin may change what the gate has no part in.
func TestMessageChangedByAnotherPlugin(t *testing.T) {
	w := cgtest.NewWorkflow(t)
	w.Serve(asking(w, `{"interruptId": "review-1", "message": "Buy it?"}`), rewriting(t, func(msg *genai.Content) *genai.Content {
		return &genai.Content{Role: msg.Role, Parts: append([]*genai.Part{{Text: "Mind the date."}}, msg.Parts...)}
	}))
	w.AskInput()
	if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	w.WantBought(1)
	w.WantState(safety.StateExecuted)
}

// Turning the recorder off opens no gate, also where another plugin keeps the message from
// the last one.
func TestInputKeptFromTheGateWithoutARecorder(t *testing.T) {
	w := cgtest.NewWorkflow(t)
	w.Serve(asking(w, `{"interruptId": "review-1", "message": "Buy it?"}`))
	w.AskInput()
	off, err := contextgraph.Open(t.Context(), contextgraph.Config{
		Enabled: new(false), Guard: config.Guard{Inputs: []string{"review"}},
	}, contextgraph.WithLogger(cgtest.Quiet()))
	if err != nil {
		t.Fatal(err)
	}
	on := w.CG
	w.CG = off
	w.Serve(asking(w, `{"interruptId": "review-1", "message": "Buy it?"}`), rewriting(t, func(msg *genai.Content) *genai.Content { return msg }))
	var refusal *safety.Refusal
	if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); !errors.As(err, &refusal) || refusal.Code != gate.CodeRecorderOff {
		t.Errorf("the run ended with %v", err)
	}
	w.WantBought(0)
	w.CG = on
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

// both is a workflow that buys once two inputs of a turn have answers, of which the second
// is not guarded.
func both(w *cgtest.Workflow) agent.Agent {
	w.T.Helper()
	find := workflow.NewFunctionNode("find", func(agent.Context, any) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000"}}}, nil
	}, workflow.NodeConfig{})
	ask := func(name, id string) workflow.Node {
		return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
			if err := emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: id, Message: name})); err != nil {
				return nil, err
			}
			return nil, workflow.ErrNodeInterrupted
		}, workflow.NodeConfig{})
	}
	review, colour, join := ask("review", "review-1"), ask("colour", "colour-1"), workflow.NewJoinNode("join")
	buy := workflow.NewFunctionNode("buy", func(agent.Context, any) (string, error) {
		w.Bought.Add(1)
		return "bought", nil
	}, workflow.NodeConfig{})
	wf, err := workflowagent.New(workflowagent.Config{Name: "wf", Edges: []workflow.Edge{
		{From: workflow.Start, To: find}, {From: find, To: review}, {From: find, To: colour},
		{From: review, To: join}, {From: colour, To: join}, {From: join, To: buy},
	}})
	if err != nil {
		w.T.Fatal(err)
	}
	return wf
}

// An answer to another input of the turn does not run what stands behind a guarded one.
func TestAnswerToAnotherInputOfTheTurn(t *testing.T) {
	t.Run("both are answered", func(t *testing.T) {
		w := cgtest.NewWorkflow(t)
		w.Serve(both(w))
		w.AskInput()
		for _, id := range []string{"review-1", "colour-1"} {
			if err := w.Reply(cgtest.InputAnswer(id, "yes")); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		w.WantBought(1)
		w.WantState(safety.StateExecuted)
	})
	t.Run("a client wrote the answer", func(t *testing.T) {
		w := cgtest.NewWorkflow(t)
		w.Serve(both(w))
		asked := w.AskInput()
		w.Shop.Set("$90,000", true)
		resp := w.Session(cgtest.User, cgtest.SessionID)
		ev := session.NewEvent(t.Context(), asked.InvocationID)
		ev.Author, ev.Content = "user", cgtest.InputAnswer("review-1", "yes")
		w.Append(resp, ev)
		if err := w.Reply(cgtest.InputAnswer("colour-1", "red")); err == nil {
			t.Error("the run began")
		}
		w.WantBought(0)
		w.WantTurnedAway(cgtest.InputAnswer("review-1", "yes"), safety.CodeDrift)
	})
	for name, tt := range map[string]struct {
		id    string
		parts func([]*genai.Part) []*genai.Part
	}{
		"a plugin adds the answer": {"colour-1", func(parts []*genai.Part) []*genai.Part {
			return append(parts, cgtest.InputAnswer("review-1", "yes").Parts...)
		}},
		"a plugin changes the answer": {"review-1", func([]*genai.Part) []*genai.Part { return cgtest.InputAnswer("review-1", "yes").Parts }},
	} {
		t.Run(name, func(t *testing.T) {
			w := cgtest.NewWorkflow(t)
			on := true
			w.Serve(both(w), rewriting(t, func(msg *genai.Content) *genai.Content {
				if on && msg.Parts[0].FunctionResponse != nil {
					msg.Parts = tt.parts(msg.Parts)
				}
				return nil
			}))
			w.AskInput()
			if err := w.Reply(cgtest.InputAnswer(tt.id, "no")); err == nil {
				t.Error("the run began")
			}
			on = false
			// The session has kept the message.
			if err := w.Reply(cgtest.InputAnswer("colour-1", "red")); err == nil {
				t.Error("the run began")
			}
			w.WantBought(0)
		})
	}
}
