// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

func get(t testing.TB, doc []byte, path ...string) any {
	t.Helper()
	if doc == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatalf("column is not JSON: %v\n%s", err, doc)
	}
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// checkTree checks what holds for the rows of any session: a span tree closed
// under parents, every span opened and closed, every status set. The parent of a run
// inside of a tool call is a row of another session.
func checkTree(t testing.TB, rows []schema.Event) {
	t.Helper()
	outside := func(e schema.Event) bool {
		switch e.EventType {
		case schema.InvocationStarting, schema.UserMessageReceived:
			return get(t, e.Attributes, "adk", "parent", "span_id") == e.ParentSpanID
		}
		return slices.ContainsFunc(rows, func(x schema.Event) bool {
			return x.EventType == schema.InvocationStarting && x.SpanID == e.SpanID && x.ParentSpanID == e.ParentSpanID
		})
	}
	spans := make(map[string]map[string]bool) // by trace
	ids := make(map[string]bool)
	for _, e := range rows {
		if spans[e.TraceID] == nil {
			spans[e.TraceID] = make(map[string]bool)
		}
		spans[e.TraceID][e.SpanID] = true
		if len(e.EventID) != 32 || ids[e.EventID] {
			t.Errorf("%s: event_id %q is not a new 32-digit id", e.EventType, e.EventID)
		}
		ids[e.EventID] = true
		if e.Status != schema.StatusOK && e.Status != schema.StatusError {
			t.Errorf("%s: status = %q", e.EventType, e.Status)
		}
	}
	type bracket struct{ starts, ends int }
	open := make(map[string]*bracket)
	at := func(e schema.Event, family string) *bracket {
		k := e.TraceID + "/" + e.SpanID + "/" + family
		if open[k] == nil {
			open[k] = &bracket{}
		}
		return open[k]
	}
	for _, e := range rows {
		if e.ParentSpanID != "" && !spans[e.TraceID][e.ParentSpanID] && !outside(e) {
			t.Errorf("%s (%s): parent_span_id %s is no span of trace %s", e.EventType, e.Agent, e.ParentSpanID, e.TraceID)
		}
		if e.ParentSpanID == e.SpanID {
			t.Errorf("%s: span %s is its own parent", e.EventType, e.SpanID)
		}
		switch e.EventType {
		case schema.InvocationStarting:
			at(e, "invocation").starts++
		case schema.InvocationCompleted, schema.InvocationError:
			at(e, "invocation").ends++
		case schema.AgentStarting:
			at(e, "agent").starts++
		case schema.AgentCompleted, schema.AgentError:
			at(e, "agent").ends++
		case schema.LLMRequest:
			at(e, "llm").starts++
		case schema.LLMResponse, schema.LLMError:
			at(e, "llm").ends++
		case schema.ToolStarting:
			at(e, "tool").starts++
		case schema.ToolCompleted, schema.ToolError:
			at(e, "tool").ends++
		}
		switch e.EventType {
		case schema.InvocationCompleted, schema.InvocationError, schema.AgentCompleted, schema.AgentError, schema.LLMResponse, schema.LLMError, schema.ToolCompleted, schema.ToolError:
			if _, ok := get(t, e.LatencyMS, "total_ms").(float64); !ok {
				t.Errorf("%s: latency_ms = %s, want total_ms", e.EventType, e.LatencyMS)
			}
		}
	}
	for k, b := range open {
		if b.starts != 1 || b.ends != 1 {
			t.Errorf("span %s: %d starts and %d ends, want one of each", k, b.starts, b.ends)
		}
	}
}

func types(rows []schema.Event) []string {
	var out []string
	for _, e := range rows {
		out = append(out, e.EventType)
	}
	return out
}

func rowsOf(rows []schema.Event, typ string) (out []schema.Event) {
	for _, e := range rows {
		if e.EventType == typ {
			out = append(out, e)
		}
	}
	return out
}

func TestRowsOfAnApprovedRun(t *testing.T) {
	h := newHarness(t)
	id, _ := h.ask(sess)
	h.answer(sess, id, true)
	rows := h.rows(sess)
	checkTree(t, rows)
	for _, typ := range []string{
		schema.UserMessageReceived, schema.InvocationStarting, schema.InvocationCompleted,
		schema.AgentStarting, schema.AgentCompleted, schema.AgentResponse,
		schema.LLMRequest, schema.LLMResponse, schema.ToolStarting, schema.ToolCompleted,
		schema.HITLConfirmationRequest, schema.HITLConfirmationRequestCompleted, schema.WorldChangeCheck,
	} {
		if !slices.Contains(types(rows), typ) {
			t.Errorf("no row of type %s", typ)
		}
	}
	if n := len(rowsOf(rows, schema.WorldChangeCheck)); n != 2 {
		t.Errorf("%d verdicts, want two: at the answer and before the effect", n)
	}
	checkJoined(t, rows)

	for _, e := range rows {
		for _, path := range [][]string{{"adk", "app_name"}, {"root_agent_name"}, {"session_metadata", "session_id"}} {
			if s, _ := get(t, e.Attributes, path...).(string); s == "" {
				t.Errorf("%s: attributes.%v is missing in %s", e.EventType, path, e.Attributes)
			}
		}
	}
	llm := rowsOf(rows, schema.LLMResponse)[0]
	if got := get(t, llm.Content, "response"); got != "call: search" {
		t.Errorf("LLM_RESPONSE content.response = %v", got)
	}
	if got := get(t, llm.Content, "usage", "total"); got != 18.0 {
		t.Errorf("LLM_RESPONSE content.usage.total = %v, want 18", got)
	}
	if got := get(t, llm.Attributes, "usage_metadata", "prompt_token_count"); got != 11.0 {
		t.Errorf("usage_metadata.prompt_token_count = %v, want 11", got)
	}
	req := rowsOf(rows, schema.LLMRequest)[0]
	if got := get(t, req.Content, "system_prompt"); got == nil {
		t.Error("LLM_REQUEST has no system_prompt")
	}
	if got := get(t, req.Attributes, "model"); got != "scripted" {
		t.Errorf("attributes.model = %v", got)
	}
	user := rowsOf(rows, schema.UserMessageReceived)[0]
	if got := get(t, user.Content, "text_summary"); got != "buy a route" {
		t.Errorf("text_summary = %v", got)
	}
	final := rowsOf(rows, schema.AgentResponse)[0]
	if got := get(t, final.Content, "response"); got != "text: 'Bought.'" {
		t.Errorf("AGENT_RESPONSE content.response = %v", got)
	}
	tool := rowsOf(rows, schema.ToolCompleted)[0]
	if got := get(t, tool.Content, "tool"); got != "search" {
		t.Errorf("TOOL_COMPLETED content.tool = %v", got)
	}
	if got := get(t, tool.Content, "tool_origin"); got != "LOCAL" {
		t.Errorf("TOOL_COMPLETED content.tool_origin = %v", got)
	}
}

// checkJoined checks that request and answer of an approval find each other.
func checkJoined(t testing.TB, rows []schema.Event) {
	t.Helper()
	requests, answers := rowsOf(rows, schema.HITLConfirmationRequest), rowsOf(rows, schema.HITLConfirmationRequestCompleted)
	if len(requests) != 1 || len(answers) != 1 {
		t.Fatalf("%d requests and %d answers, want one of each", len(requests), len(answers))
	}
	for _, k := range []string{"confirmation_id", "call_id", "approval_id"} {
		q, a := get(t, requests[0].Attributes, "adk", k), get(t, answers[0].Attributes, "adk", k)
		if q == nil || q != a {
			t.Errorf("attributes.adk.%s: request %v, answer %v", k, q, a)
		}
	}
	asking := requests[0].ParentSpanID
	if !slices.ContainsFunc(rows, func(e schema.Event) bool { return e.SpanID == asking && e.EventType == schema.ToolStarting }) {
		t.Error("the request's parent is not the span of the asking tool")
	}
}

func TestParallelToolCallsNeverCross(t *testing.T) {
	const n = 20
	h := newHarness(t, func(o *options) {
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			var calls []*genai.FunctionCall
			for i := range n {
				calls = append(calls, &genai.FunctionCall{Name: "search", Args: map[string]any{"query": fmt.Sprint(i)}})
			}
			return adktest.Calls(calls...), nil
		}
		o.search = func(ctx agent.Context, a searchArgs) (map[string]any, error) {
			return map[string]any{"items": []any{}, "query": a.Query}, nil
		}
	})
	adktest.Run(t, h.runner, user, sess, adktest.UserText("search much"))
	rows := h.rows(sess)
	checkTree(t, rows)
	asked := make(map[string]any)
	for _, e := range rowsOf(rows, schema.ToolStarting) {
		asked[e.SpanID] = get(t, e.Content, "args", "query")
	}
	done := rowsOf(rows, schema.ToolCompleted)
	if len(done) != n {
		t.Fatalf("%d tools completed, want %d", len(done), n)
	}
	for _, e := range done {
		if got := get(t, e.Content, "result", "query"); got != asked[e.SpanID] {
			t.Errorf("span %s asked for %v and was answered %v", e.SpanID, asked[e.SpanID], got)
		}
	}
}

func TestFailuresGiveOneRowEach(t *testing.T) {
	h := newHarness(t, func(o *options) {
		o.search = func(agent.Context, searchArgs) (map[string]any, error) { return nil, fmt.Errorf("index offline") }
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			switch last := adktest.LastResponse(req); {
			case last == nil:
				return adktest.Calls(&genai.FunctionCall{Name: "search"}, &genai.FunctionCall{Name: "nosuchtool"}), nil
			default:
				return nil, fmt.Errorf("model offline")
			}
		}
	})
	if _, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("go")); err == nil {
		t.Fatal("the run did not fail")
	}
	rows := h.rows(sess)
	checkTree(t, rows)
	for typ, want := range map[string]int{schema.ToolStarting: 2, schema.ToolError: 2, schema.ToolCompleted: 0, schema.LLMError: 1} {
		if got := len(rowsOf(rows, typ)); got != want {
			t.Errorf("%d rows of %s, want %d", got, typ, want)
		}
	}
	for _, e := range rows {
		if get(t, e.Content, "tool") == "nosuchtool" && get(t, e.Content, "tool_origin") != "UNKNOWN" {
			t.Errorf("%s: tool_origin = %v, want UNKNOWN", e.EventType, get(t, e.Content, "tool_origin"))
		}
		if e.EventType == schema.ToolError || e.EventType == schema.LLMError {
			if e.Status != schema.StatusError || e.ErrorMessage == "" {
				t.Errorf("%s: status %q, error_message %q", e.EventType, e.Status, e.ErrorMessage)
			}
		}
	}
}

func TestStateDeltaRow(t *testing.T) {
	h := newHarness(t, func(o *options) {
		o.search = func(ctx agent.Context, _ searchArgs) (map[string]any, error) {
			if err := ctx.State().Set("found", 3); err != nil {
				return nil, err
			}
			return map[string]any{"items": []any{}}, nil
		}
	})
	h.ask(sess)
	rows := rowsOf(h.rows(sess), schema.StateDelta)
	if len(rows) != 1 {
		t.Fatalf("%d STATE_DELTA rows, want 1", len(rows))
	}
	if got := get(t, rows[0].Attributes, "state_delta", "found"); got != 3.0 {
		t.Errorf("state_delta.found = %v, want 3", got)
	}
	if rows[0].Content != nil {
		t.Errorf("content = %s, want NULL", rows[0].Content)
	}
}

func TestSecretsAreNotRecorded(t *testing.T) {
	h := newHarness(t, func(o *options) {
		o.search = func(agent.Context, searchArgs) (map[string]any, error) {
			return map[string]any{"items": []any{}, "access_token": "hunter2", "nested": map[string]any{"Authorization": "hunter2"}}, nil
		}
	})
	h.ask(sess)
	for _, e := range h.rows(sess) {
		if e.EventType == schema.ToolCompleted && get(t, e.Content, "tool") == "search" {
			if s := string(e.Content); strings.Contains(s, "hunter2") {
				t.Errorf("a secret was recorded: %s", s)
			}
		}
	}
}
