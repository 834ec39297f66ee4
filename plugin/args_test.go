// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The arguments that a request shows are on record where callbacks changed those that the
// call began with.
func TestArgumentsOfARequest(t *testing.T) {
	alias := func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
		args["item"] = "Superbowl"
		return nil, nil
	}
	respelled := func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
		args["n"] = 7.0
		return nil, nil
	}
	for name, tt := range map[string]struct {
		agents  llmagent.BeforeToolCallback
		plugins llmagent.BeforeToolCallback
		want    any
	}{
		"an agent's callback": {agents: alias, want: m{"item": "Superbowl", "n": 7.0}},
		"another plugin":      {plugins: alias, want: m{"item": "Superbowl", "n": 7.0}},
		"another spelling":    {agents: respelled},
		"none":                {},
	} {
		t.Run(name, func(t *testing.T) {
			buy := functionTool(t, functiontool.Config{Name: "buy", Description: "buys", RequireConfirmation: true},
				func(agent.Context, m) (map[string]any, error) { return m{}, nil })
			cfg := llmagent.Config{
				Name: "root", Tools: []tool.Tool{buy},
				Model: adktest.Script(adktest.Calls(call("c1", "buy", m{"item": "the usual", "n": 7})), adktest.Text("done")),
			}
			if tt.agents != nil {
				cfg.BeforeToolCallbacks = []llmagent.BeforeToolCallback{tt.agents}
			}
			var others []*plugin.Plugin
			if tt.plugins != nil {
				others = append(others, refusing(t, plugin.Config{Name: "alias", BeforeToolCallback: tt.plugins}))
			}
			_, sink, r := recordedBeside(t, recorder.Config{}, llm(t, cfg), others...)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			e := one(t, sink, record.ToolCompleted)
			diff(t, "arguments", tt.want, rowtest.Attribute(t, e, "adk", "args"))
			if got := rowtest.Attribute(t, e, "adk", "args_changed"); (got == true) != (tt.want != nil) {
				t.Errorf("args_changed = %v", got)
			}
		})
	}
}
