// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

func types(rows []record.Event) []string {
	var out []string
	for _, e := range rows {
		out = append(out, e.EventType)
	}
	return out
}

func TestRowsOfAnApprovedRun(t *testing.T) {
	h := cgtest.New(t)
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	for _, typ := range []string{
		record.UserMessageReceived, record.InvocationStarting, record.InvocationCompleted,
		record.AgentStarting, record.AgentCompleted, record.AgentResponse,
		record.LLMRequest, record.LLMResponse, record.ToolStarting, record.ToolCompleted,
		record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted, record.WorldChangeCheck,
	} {
		if !slices.Contains(types(rows), typ) {
			t.Errorf("no row of type %s", typ)
		}
	}
	if n := len(rowtest.Of(rows, record.WorldChangeCheck)); n != 2 {
		t.Errorf("%d verdicts, want two: at the answer and before the effect", n)
	}
	checkJoined(t, rows)

	for _, e := range rows {
		for _, path := range [][]string{{"adk", "app_name"}, {"root_agent_name"}, {"session_metadata", "session_id"}} {
			if s, _ := rowtest.Field(t, e.Attributes, path...).(string); s == "" {
				t.Errorf("%s: attributes.%v is missing in %s", e.EventType, path, e.Attributes)
			}
		}
	}
	llm := rowtest.Of(rows, record.LLMResponse)[0]
	if got := rowtest.Field(t, llm.Content, "response"); got != "call: search" {
		t.Errorf("LLM_RESPONSE content.response = %v", got)
	}
	if got := rowtest.Field(t, llm.Content, "usage", "total"); got != 18.0 {
		t.Errorf("LLM_RESPONSE content.usage.total = %v, want 18", got)
	}
	if got := rowtest.Field(t, llm.Attributes, "usage_metadata", "prompt_token_count"); got != 11.0 {
		t.Errorf("usage_metadata.prompt_token_count = %v, want 11", got)
	}
	req := rowtest.Of(rows, record.LLMRequest)[0]
	if got := rowtest.Field(t, req.Content, "system_prompt"); got == nil {
		t.Error("LLM_REQUEST has no system_prompt")
	}
	if got := rowtest.Field(t, req.Attributes, "model"); got != "scripted" {
		t.Errorf("attributes.model = %v", got)
	}
	user := rowtest.Of(rows, record.UserMessageReceived)[0]
	if got := rowtest.Field(t, user.Content, "text_summary"); got != "buy a route" {
		t.Errorf("text_summary = %v", got)
	}
	final := rowtest.Of(rows, record.AgentResponse)[0]
	if got := rowtest.Field(t, final.Content, "response"); got != "text: 'Bought.'" {
		t.Errorf("AGENT_RESPONSE content.response = %v", got)
	}
	tool := rowtest.Of(rows, record.ToolCompleted)[0]
	if got := rowtest.Field(t, tool.Content, "tool"); got != "search" {
		t.Errorf("TOOL_COMPLETED content.tool = %v", got)
	}
	if got := rowtest.Field(t, tool.Content, "tool_origin"); got != "LOCAL" {
		t.Errorf("TOOL_COMPLETED content.tool_origin = %v", got)
	}
}

// checkJoined checks that request and answer of an approval find each other.
func checkJoined(t testing.TB, rows []record.Event) {
	t.Helper()
	requests, answers := rowtest.Of(rows, record.HITLConfirmationRequest), rowtest.Of(rows, record.HITLConfirmationRequestCompleted)
	if len(requests) != 1 || len(answers) != 1 {
		t.Fatalf("%d requests and %d answers, want one of each", len(requests), len(answers))
	}
	for _, k := range []string{"confirmation_id", "call_id", "approval_id"} {
		q, a := rowtest.Field(t, requests[0].Attributes, "adk", k), rowtest.Field(t, answers[0].Attributes, "adk", k)
		if q == nil || q != a {
			t.Errorf("attributes.adk.%s: request %v, answer %v", k, q, a)
		}
	}
	asking := requests[0].ParentSpanID
	if !slices.ContainsFunc(rows, func(e record.Event) bool { return e.SpanID == asking && e.EventType == record.ToolStarting }) {
		t.Error("the request's parent is not the span of the asking tool")
	}
}

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

func TestFailuresGiveOneRowEach(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return nil, fmt.Errorf("index offline")
		}
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			switch last := adktest.LastResponse(req); {
			case last == nil:
				return adktest.Calls(&genai.FunctionCall{Name: "search"}, &genai.FunctionCall{Name: "nosuchtool"}), nil
			default:
				return nil, fmt.Errorf("model offline")
			}
		}
	})
	if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("go")); err == nil {
		t.Fatal("the run did not fail")
	}
	rows := h.Rows(cgtest.SessionID)
	cgtest.CheckTree(t, rows)
	for typ, want := range map[string]int{record.ToolStarting: 2, record.ToolError: 2, record.ToolCompleted: 0, record.LLMError: 1} {
		if got := len(rowtest.Of(rows, typ)); got != want {
			t.Errorf("%d rows of %s, want %d", got, typ, want)
		}
	}
	for _, e := range rows {
		if rowtest.Field(t, e.Content, "tool") == "nosuchtool" && rowtest.Field(t, e.Content, "tool_origin") != "UNKNOWN" {
			t.Errorf("%s: tool_origin = %v, want UNKNOWN", e.EventType, rowtest.Field(t, e.Content, "tool_origin"))
		}
		if e.EventType == record.ToolError || e.EventType == record.LLMError {
			if e.Status != record.StatusError || e.ErrorMessage == "" {
				t.Errorf("%s: status %q, error_message %q", e.EventType, e.Status, e.ErrorMessage)
			}
		}
	}
}

func TestStateDeltaRow(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Search = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
			if err := ctx.State().Set("found", 3); err != nil {
				return nil, err
			}
			return map[string]any{"items": []any{}}, nil
		}
	})
	h.Ask(cgtest.SessionID)
	rows := rowtest.Of(h.Rows(cgtest.SessionID), record.StateDelta)
	if len(rows) != 1 {
		t.Fatalf("%d STATE_DELTA rows, want 1", len(rows))
	}
	if got := rowtest.Field(t, rows[0].Attributes, "state_delta", "found"); got != 3.0 {
		t.Errorf("state_delta.found = %v, want 3", got)
	}
	if rows[0].Content != nil {
		t.Errorf("content = %s, want NULL", rows[0].Content)
	}
}

func TestSecretsAreNotRecorded(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"items": []any{}, "access_token": "hunter2", "nested": map[string]any{"Authorization": "hunter2"}}, nil
		}
	})
	h.Ask(cgtest.SessionID)
	for _, e := range h.Rows(cgtest.SessionID) {
		if e.EventType == record.ToolCompleted && rowtest.Field(t, e.Content, "tool") == "search" {
			if s := string(e.Content); strings.Contains(s, "hunter2") {
				t.Errorf("a secret was recorded: %s", s)
			}
		}
	}
}
