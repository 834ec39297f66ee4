// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Whatever a user, a model or a tool hands over, a row stays near its limit.
func TestRowsAreBounded(t *testing.T) {
	const limit = 1_000_000 + 64<<10
	big := strings.Repeat("\x01", 600_000)
	dump, err := functiontool.New(functiontool.Config{Name: "dump"}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"a": big, "b": big, "bytes": []byte(big)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if last := adktest.LastResponse(req); last != nil {
			return adktest.Text(big), nil
		}
		calls := make([]*genai.FunctionCall, 400)
		for i := range calls {
			calls[i] = &genai.FunctionCall{Name: "nosuchtool", Args: map[string]any{"x": strings.Repeat("y", 1000)}}
		}
		calls[0] = &genai.FunctionCall{Name: "dump"}
		return adktest.Calls(calls...), nil
	}}
	sink := &rowtest.Sink{}
	r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{Model: m, Tools: []tool.Tool{dump}})
	message := &genai.Content{Role: genai.RoleUser}
	for range 5_000 {
		message.Parts = append(message.Parts, &genai.Part{Text: "a part of a message"})
	}
	adktest.Run(t, r, "u", "s", message)
	truncated := make(map[string]bool)
	for _, e := range sink.Rows() {
		size := len(e.Content) + len(e.ContentParts) + len(e.Attributes) + len(e.LatencyMS) + len(e.ErrorMessage)
		if size > limit {
			t.Errorf("%s: %d bytes, want at most %d", e.EventType, size, limit)
		}
		for _, doc := range [][]byte{e.Content, e.ContentParts, e.Attributes, e.LatencyMS} {
			if doc != nil && !json.Valid(doc) {
				t.Errorf("%s: a column is not JSON: %.80s", e.EventType, doc)
			}
		}
		truncated[e.EventType] = truncated[e.EventType] || e.IsTruncated
	}
	for _, typ := range []string{record.UserMessageReceived, record.ToolCompleted, record.LLMResponse} {
		if !truncated[typ] {
			t.Errorf("no row of %s says that it is truncated", typ)
		}
	}
}
