// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/plugin/retryandreflect"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The plugin that makes models retry failed tools neither hides a request nor
// gets a blocked call through.
func TestBesideRetryAndReflect(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) { o.Plugins = []*plugin.Plugin{retryandreflect.MustNew()} })
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "blocked" || got["reason"] != "drift" {
		t.Errorf("buy answered %v, want the refusal as it is", got)
	}
	h.WantBought(0)
	if got := h.Approvals(cgtest.SessionID)[0].State; got != safety.StateBlocked {
		t.Errorf("approval state = %q, want blocked", got)
	}
}

// A plugin that answers for everything hides nothing from the observer and
// changes nothing at the gate.
func TestGreedyPluginInBetween(t *testing.T) {
	greedy := cgtest.NewPlugin(t, plugin.Config{
		Name:                  "greedy",
		OnUserMessageCallback: func(_ agent.InvocationContext, c *genai.Content) (*genai.Content, error) { return c, nil },
		OnEventCallback:       func(_ agent.InvocationContext, ev *session.Event) (*session.Event, error) { return ev, nil },
		AfterToolCallback: func(_ agent.Context, _ tool.Tool, _, result map[string]any, err error) (map[string]any, error) {
			return result, err
		},
	})
	h := cgtest.New(t, func(o *cgtest.Options) { o.Plugins = []*plugin.Plugin{greedy} })
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(1)
	cgtest.CheckTree(t, h.Rows(cgtest.SessionID))
}

func TestOtherPluginsSeeEverything(t *testing.T) {
	seen := make(map[string]int)
	watcher := cgtest.NewPlugin(t, plugin.Config{
		Name: "watcher",
		OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
			seen["user message"]++
			return nil, nil
		},
		OnEventCallback: func(agent.InvocationContext, *session.Event) (*session.Event, error) {
			seen["event"]++
			return nil, nil
		},
		BeforeToolCallback: func(agent.Context, tool.Tool, map[string]any) (map[string]any, error) {
			seen["before tool"]++
			return nil, nil
		},
		AfterToolCallback: func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
			seen["after tool"]++
			return nil, nil
		},
	})
	h := cgtest.New(t, func(o *cgtest.Options) { o.Plugins = []*plugin.Plugin{watcher} })
	_, events := h.Ask(cgtest.SessionID)
	want := map[string]int{"user message": 1, "event": len(events), "before tool": 2, "after tool": 2}
	for what, n := range want {
		if seen[what] != n {
			t.Errorf("the plugin behind the observer saw %d of %d: %s", seen[what], n, what)
		}
	}
}
