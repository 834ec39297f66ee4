// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestGists(t *testing.T) {
	row := func(kind, agent, content, attributes string) inspect.Row {
		return inspect.Row{EventType: kind, Agent: agent, Content: []byte(content), Attributes: []byte(attributes)}
	}
	rows := []inspect.Row{
		row(record.UserMessageReceived, "", `{"text_summary":"buy `+strings.Repeat("é", 130)+`"}`, ``),
		row(record.AgentStarting, "a", `"be kind"`, ``),
		row(record.LLMRequest, "a", `{"system_prompt":"be kind","prompt":[{"role":"user","content":"hi"}]}`, ``),
		row(record.LLMResponse, "a", `{"response":"call: x"}`, `{"function_calls":[{"name":"x"},{}]}`),
		row(record.LLMRequest, "b", `{"system_prompt":"be kind","prompt":[{"role":"user","content":"hi"}]}`, ``),
		row(record.AgentStarting, "a", `"be kind"`, ``),
		row(record.LLMRequest, "a", `{"system_prompt":"be kind","prompt":[{"role":"user","content":"hi"},{"role":"user","content":"more"}]}`, ``),
		row(record.LLMRequest, "a", `{"prompt":"one"}`, ``),
		row(record.LLMRequest, "a", ``, ``),
		row(record.LLMRequest, "a", `{"prompt":"one"}`, ``),
		row(record.LLMResponse, "a", `{"response":"no"}`, `{"function_calls":[]}`),
		row(record.LLMResponse, "a", `{"response":""}`, `broken`),
		row(record.ToolCompleted, "a", `{"result":1}`, ``),
	}
	want := []gist{
		{Said: "buy " + strings.Repeat("é", 116) + "…"}, {}, {}, {Calls: []string{"x", ""}}, {}, {Again: true}, {Again: true, Before: 1},
		{}, {}, {Before: 1}, {Answers: true}, {}, {},
	}
	if diff := cmp.Diff(want, gistsOf(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
