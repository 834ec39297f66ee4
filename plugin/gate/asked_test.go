// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"errors"
	"log/slog"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// Where the recorder or the guard panics after a tool has asked, nobody is asked: the
// request is withdrawn, and the model is told that the call is refused.
func TestPanicAfterAToolThatAsks(t *testing.T) {
	for name, sink := range map[string]recorder.Sink{"of the guard": &memory{}, "of the recorder too": brokenSink{}} {
		t.Run(name, func(t *testing.T) {
			// The dependencies of this guard are nil.
			rec := must(recorder.New(recorder.Config{Sink: sink, Guard: unusedGuard(), Logger: slog.New(slog.DiscardHandler)}))
			pay := rec.Protect(must(functiontool.New(functiontool.Config{Name: "pay", RequireConfirmation: true},
				func(agent.Context, struct{}) (map[string]any, error) { return nil, errors.New("must not run") })))
			r := must(runner.New(runner.Config{
				AppName: "app", SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: rec.PluginConfig(),
				Agent: modelAgent("root", calls(&genai.FunctionCall{ID: "c1", Name: "pay"}), func(c *llmagent.Config) { c.Tools = []tool.Tool{pay} }),
			}))
			events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			if asked := adktest.Confirmations(events); len(asked) > 0 {
				t.Errorf("somebody is asked: %+v", asked)
			}
			if got := adktest.Responses(events, "pay"); len(got) != 1 || got[0]["status"] != "blocked" {
				t.Errorf("pay answered %v, want one refusal", got)
			}
		})
	}
}
