// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"slices"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// No answer is taken while the recorder breaks down over its message: nobody could tell what
// the check goes by. The call does not run, and the request stays open.
func TestAnswerWhileTheRecorderPanics(t *testing.T) {
	for name, way := range map[string]cgtest.Option{"listed": cgtest.Listed, "protected": nil} {
		t.Run(name, func(t *testing.T) {
			sessions := &cgtest.BrittleSessions{}
			broken := false
			h := cgtest.New(t, way, cgtest.NotChecked, func(o *cgtest.Options) {
				breaks := cgtest.NewPlugin(t, plugin.Config{Name: "breaks", OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
					if broken {
						sessions.Countdown.Store(1)
					}
					return nil, nil
				}})
				o.ChangeRunner = func(c *runner.Config) {
					sessions.Service = c.SessionService
					c.SessionService = sessions
					c.PluginConfig.Plugins = slices.Concat([]*plugin.Plugin{breaks}, c.PluginConfig.Plugins)
				}
			})
			id, _ := h.Ask(cgtest.SessionID)
			broken = true
			got := h.Answer(cgtest.SessionID, id, true)
			if sessions.Countdown.Load() > 0 {
				t.Fatal("nothing panicked")
			}
			h.WantBought(0)
			if got["reason"] != safety.CodeUnknownRequest {
				t.Errorf("the call came to %v", got)
			}
			for _, a := range h.Approvals(cgtest.SessionID) {
				if a.State != safety.StatePending {
					t.Errorf("the approval is %s", a.State)
				}
			}
			if n := len(rowtest.Of(h.Rows(cgtest.SessionID), record.WorldChangeCheck)); n != 0 {
				t.Errorf("%d checks were made", n)
			}
		})
	}
}
