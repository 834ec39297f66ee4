// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"errors"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// ADK runs tools and gives tasks by what the session says, before any model request, and a
// client can write the session. Where unguarded tools are refused, so is such a run.
func TestUnguardedToolIsNotResumed(t *testing.T) {
	streaming := func(t testing.TB, h *cgtest.Harness) tool.Tool {
		var o cgtest.Options
		cgtest.Streamed(functiontool.Config{RequireConfirmation: true})(&o)
		buy, err := o.MakeBuy(h)
		if err != nil {
			t.Fatal(err)
		}
		return buy
	}
	with := func(t testing.TB, cfg llmagent.Config) agent.Agent {
		cfg.Name, cfg.Model = "root", &adktest.Model{Answer: cgtest.Shopper}
		a := cgtest.NewAgent(t, cfg)
		return a
	}
	seeded := forged("adk-seeded", "adk-seeded-call")
	answer := adktest.Answer("adk-seeded", true)
	for name, tt := range map[string]struct {
		agent func(t testing.TB, h *cgtest.Harness) agent.Agent
		// wrote is what the client wrote, user what it wrote in the name of the user; then
		// it sends says.
		wrote *genai.Part
		user  *genai.Content
		says  *genai.Content
		named bool // which tool it is
	}{
		"streaming, without a message": {func(t testing.TB, h *cgtest.Harness) agent.Agent {
			return with(t, llmagent.Config{Tools: []tool.Tool{streaming(t, h)}})
		}, seeded, answer, nil, true},
		"streaming, of a toolset": {func(t testing.TB, h *cgtest.Harness) agent.Agent {
			return with(t, llmagent.Config{Toolsets: []tool.Toolset{nil, &cgtest.Shelf{Content: []tool.Tool{streaming(t, h), nil}}}})
		}, seeded, nil, answer, true},
		"toolset that cannot be listed": {func(t testing.TB, h *cgtest.Harness) agent.Agent {
			return with(t, llmagent.Config{Toolsets: []tool.Toolset{failing{}}})
		}, seeded, nil, answer, true},
		"panic": {func(t testing.TB, h *cgtest.Harness) agent.Agent {
			return with(t, llmagent.Config{Tools: []tool.Tool{&nameless{streaming(t, h)}}})
		}, seeded, nil, answer, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, cgtest.Unprotected, func(o *cgtest.Options) {
				o.Config.Guard.Tools = config.Tools("buy", "buyer")
				o.Config.Guard.Unguarded = config.UnguardedError
			})
			h.Serve(tt.agent(t, h))
			to := h.Session(cgtest.User, cgtest.SessionID)
			seed := func(author string, c *genai.Content) {
				ev := session.NewEvent(t.Context(), "e-seeded")
				ev.Author, ev.Content = author, c
				h.Append(to, ev)
			}
			seed("root", &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{tt.wrote}})
			if tt.user != nil {
				seed("user", tt.user)
			}
			_, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, tt.says)
			h.WantBought(0)
			var unguarded *gate.UnguardedError
			if err == nil || errors.As(err, &unguarded) != tt.named {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

// nameless is a tool that breaks down when the gate asks for its name.
type nameless struct{ tool.Tool }

func (*nameless) Name() string { panic("boom") }
