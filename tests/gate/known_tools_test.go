// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// A name in the configuration is wrong only if every tool that might have it is known. A log line
// about it comes once.
func TestUnknownNames(t *testing.T) {
	guards := func(names ...string) cgtest.Option {
		return cgtest.With(cgtest.Listed, func(o *cgtest.Options) { o.Config.Guard.Tools = config.Tools(names...) })
	}
	pay := func(t *testing.T) tool.Tool {
		return cgtest.NewTool(t, "pay", func(agent.Context, cgtest.BuyArgs) (map[string]any, error) { return nil, nil })
	}
	for _, tt := range []struct {
		name  string
		opt   cgtest.Option
		serve func(t *testing.T, h *cgtest.Harness)
		warns int
	}{
		{"of nobody", guards("buy", "pay"), nil, 1},
		{"perhaps in a toolset that nobody asked", guards("buy", "pay"), func(t *testing.T, h *cgtest.Harness) {
			h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Mode: llmagent.ModeChat, Model: adktest.Says("hello"), Tools: h.Tools,
				SubAgents: []agent.Agent{cgtest.NewAgent(t, llmagent.Config{Name: "payer", Model: adktest.Says("x"), Toolsets: []tool.Toolset{&cgtest.Shelf{}}})}}))
		}, 0},
		{"of a toolset", guards("pay"), func(t *testing.T, h *cgtest.Harness) {
			h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Mode: llmagent.ModeChat, Model: adktest.Says("hello"),
				Toolsets: []tool.Toolset{&cgtest.Shelf{Content: []tool.Tool{pay(t)}}}}))
		}, 0},
		{"of another runner, handed to CheckTools", guards("buy", "pay"), func(t *testing.T, h *cgtest.Harness) {
			if err := h.CG.CheckTools(t.Context(), append(h.Tools[:len(h.Tools):len(h.Tools)], pay(t))); err != nil {
				t.Fatal(err)
			}
		}, 0},
		{"of a tool that code protects", guards("buy", "pay"), func(t *testing.T, h *cgtest.Harness) { h.CG.Protect(pay(t)) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log lines
			h := cgtest.New(t, tt.opt, func(o *cgtest.Options) { o.Config.Logger = log.logger() })
			if tt.serve != nil {
				tt.serve(t, h)
			}
			for _, s := range []string{"one", "two"} {
				adktest.Run(t, h.Runner, cgtest.User, s, adktest.UserText("hello"))
			}
			if n := log.count("guard.tools names"); n != tt.warns {
				t.Errorf("logged %d times, want %d", n, tt.warns)
			}
		})
	}
}

// A rule by which all names count needs a tool that a check can call again.
func TestCountedTools(t *testing.T) {
	h := cgtest.New(t, cgtest.Listed, func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "all", Tool: "look", Each: "$.things[*]", Type: "Thing", Value: "$.name", Others: config.OthersCount})
	})
	look := cgtest.NewTool(t, "look", func(agent.Context, cgtest.BuyArgs) (map[string]any, error) { return nil, nil })
	if err := h.CG.CheckTools(t.Context(), []tool.Tool{look}); err == nil || !strings.Contains(err.Error(), `rule "all" says others: count`) {
		t.Errorf("error %v", err)
	}
	if _, err := h.CG.Replayable(look); err != nil {
		t.Fatal(err)
	}
	if err := h.CG.CheckTools(t.Context(), []tool.Tool{look}); err != nil {
		t.Error(err)
	}
}
