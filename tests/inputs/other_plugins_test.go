// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"errors"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
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
