// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// panicky is a log handler that fails.
type panicky struct{ slog.Handler }

func (panicky) Enabled(context.Context, slog.Level) bool { return true }

func (panicky) Handle(context.Context, slog.Record) error { panic("broken log") }

func (p panicky) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p panicky) WithGroup(string) slog.Handler { return p }

// A log that panics opens no gate and costs no run, also where the recorder breaks down.
func TestPanicOfTheLogCostsNoRun(t *testing.T) {
	for name, sink := range map[string]recorder.Sink{"a memory": &memory{}, "a sink that panics": brokenSink{}} {
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
