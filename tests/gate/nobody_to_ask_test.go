// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"iter"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// In a runner of ADK's own, without plugins, every protected tool denies.
func TestAgentRunAsAToolDenies(t *testing.T) {
	for name, opt := range map[string]cgtest.Option{"protected": nil, "streaming": cgtest.Streamed(functiontool.Config{})} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, opt)
			buyer := caller(t, "helper", "buy", aRoute, h.Tools...)
			h.Serve(caller(t, "root", "helper", map[string]any{"request": "buy"}, agenttool.New(buyer, nil)))
			if n := len(adktest.Confirmations(adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy")))); n != 0 {
				t.Errorf("a confirmation was asked for %d times", n)
			}
			h.WantBought(0)
		})
	}
}

type streamer interface {
	RunStream(agent.Context, any) iter.Seq2[string, error]
}

func TestProtectDeniesOnceClosedWithoutThePlugins(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.ChangeRunner = func(rc *runner.Config) { rc.PluginConfig = runner.PluginConfig{} }
	})
	if err := h.CG.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if err != nil {
		t.Fatal(err)
	}
	h.WantBought(0)
	if got := adktest.Responses(events, "buy"); len(got) != 1 || got[0]["reason"] != "closed" {
		t.Errorf("buy answered %v, want a denial that says contextgraph is closed", got)
	}
}
