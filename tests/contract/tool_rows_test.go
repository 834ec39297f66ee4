// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestParallelToolCallsNeverCross(t *testing.T) {
	const n = 20
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			var calls []*genai.FunctionCall
			for i := range n {
				calls = append(calls, &genai.FunctionCall{Name: "search", Args: map[string]any{"query": fmt.Sprint(i)}})
			}
			return adktest.Calls(calls...), nil
		}
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"items": []any{}, "query": a.Query}, nil
		}
	})
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("search much"))
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	asked := make(map[string]any)
	for _, e := range rowtest.Of(rows, record.ToolStarting) {
		asked[e.SpanID] = rowtest.Field(t, e.Content, "args", "query")
	}
	done := rowtest.Of(rows, record.ToolCompleted)
	if len(done) != n {
		t.Fatalf("%d tools completed, want %d", len(done), n)
	}
	for _, e := range done {
		if got := rowtest.Field(t, e.Content, "result", "query"); got != asked[e.SpanID] {
			t.Errorf("span %s asked for %v and was answered %v", e.SpanID, asked[e.SpanID], got)
		}
	}
}
