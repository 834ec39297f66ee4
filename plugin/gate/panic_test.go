// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// panicky is a log handler that fails.
type panicky struct{ slog.Handler }

func (panicky) Enabled(context.Context, slog.Level) bool { return true }

func (panicky) Handle(context.Context, slog.Record) error { panic("broken log") }

func (p panicky) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p panicky) WithGroup(string) slog.Handler { return p }

// A log that panics opens no gate and costs no run, also where the recorder breaks down.
func TestPanicOfTheLogCostsNoRun(t *testing.T) {
	for name, sink := range map[string]recorder.Sink{"a memory": &rowtest.Sink{}, "a sink that panics": &rowtest.Broken{}} {
		t.Run(name, func(t *testing.T) {
			_, g := newGate(recorder.Config{Sink: sink, Logger: slog.New(panicky{})}, gate.Config{})
			work := g.Protect(must(functiontool.New(functiontool.Config{Name: "work"}, func(agent.Context, struct{}) (map[string]any, error) {
				t.Error("a protected tool ran")
				return nil, nil
			})))
			events := adktest.Run(t, newRunner(asks("root", adktest.CallsOnce(call("c1", "work", nil)), work), plugins(g)), "u", "s", adktest.UserText("go"))
			if got := adktest.Responses(events, "work"); len(got) != 1 || got[0]["status"] != "blocked" {
				t.Errorf("work answered %v, want one refusal", got)
			}
		})
	}
}

// inputAnswer is a message that answers an input.
func inputAnswer() *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
		ID: "i1", Name: workflow.WorkflowInputFunctionCallName, Response: m{"response": "yes"},
	}}}}
}

// A message that answers a guarded input is refused also where its refusal cannot be recorded.
func TestPanicWhileAMessageIsRefused(t *testing.T) {
	for name, sink := range map[string]recorder.Sink{
		"every row":        &rowtest.Broken{},
		"the message":      &rowtest.Broken{On: record.UserMessageReceived},
		"the beginning":    &rowtest.Broken{On: record.InvocationStarting},
		"the end":          &rowtest.Broken{On: record.InvocationError},
		"no row of a kind": &rowtest.Sink{},
	} {
		t.Run(name, func(t *testing.T) {
			_, g := newGate(recorder.Config{Sink: sink}, gate.Config{Guard: unusedGuard(), Settings: config.Guard{Inputs: map[string]config.InputSettings{"review": {}}}})
			r := newRunner(asks("root", adktest.Says("hi")), plugins(g))
			_, err := adktest.TryRun(t.Context(), r, "u", "s", inputAnswer())
			var refusal *safety.Refusal
			if !errors.As(err, &refusal) {
				t.Errorf("the run ended with %v, want a refusal", err)
			}
		})
	}
}

// A recorder that breaks down before it knows the run lost a step, unless the run is refused:
// then there is none.
func TestPanicBeforeTheRunIsKnown(t *testing.T) {
	for _, tt := range []struct {
		name    string
		msg     *genai.Content
		refused bool
	}{
		{"a text", adktest.UserText("hi"), false},
		{"an answer to an input", inputAnswer(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			broken := true
			rec, g := newGate(recorder.Config{Sink: &rowtest.Sink{}, Now: func() time.Time {
				if broken {
					broken = false
					panic("broken clock")
				}
				return time.Now()
			}}, gate.Config{Guard: unusedGuard(), Settings: config.Guard{Inputs: map[string]config.InputSettings{"review": {}}}})
			_, err := adktest.TryRun(t.Context(), newRunner(asks("root", adktest.Says("hi")), plugins(g)), "u", "s", tt.msg)
			if broken || (err != nil) != tt.refused {
				t.Errorf("the run ended with %v; the clock broke: %v", err, !broken)
			}
			if gaps := rec.Gaps(); (len(gaps) == 0) != tt.refused {
				t.Errorf("gaps %q", gaps)
			}
		})
	}
}
