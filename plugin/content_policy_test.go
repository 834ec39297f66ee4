// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What the formatter takes out of the content must not stand elsewhere in the row, nor
// in the store.
func TestFormatterIsNotBypassed(t *testing.T) {
	store := &shelf{}
	work := functionTool(t, functiontool.Config{Name: "work", Description: "works"}, func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
		ctx.Actions().StateDelta["customer"] = "Alice"
		return map[string]any{"greeting": "Alice"}, nil
	})
	remote := &session.Event{ID: "e1", LLMResponse: model.LLMResponse{
		CustomMetadata: m{"a2a:request": m{"text": "Alice"}, "a2a:response": m{"text": "Alice"}, "a2a:task_id": "t1"},
	}}
	root := llm(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{work},
		Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("Goodbye Alice"), nil
			}
			return adktest.Calls(&genai.FunctionCall{ID: "c1", Name: "work", Args: m{"name": "Alice"}}), nil
		}},
	})
	cfg := recorder.Config{Record: config.Record{PromptHistory: config.PromptDelta}, Options: recorder.Options{
		Offload: store,
		Format: func(_ string, content []byte) ([]byte, error) {
			return []byte(strings.ReplaceAll(string(content), "Alice", "someone")), nil
		},
	}}
	msg := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
		{Text: "I am Alice"}, {Text: strings.Repeat("Alice ", 10_000)},
		{InlineData: &genai.Blob{MIMEType: "Text/Plain; charset=utf-8", Data: []byte("Alice")}},
		{InlineData: &genai.Blob{MIMEType: "application/json", Data: []byte(`{"name":"Alice"}`)}},
		{ExecutableCode: &genai.ExecutableCode{Code: `print("Alice")`}},
		{CodeExecutionResult: &genai.CodeExecutionResult{Output: "Alice"}},
		{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("pixels")}},
	}}
	sink, r := recorded(t, cfg, root)
	adktest.Run(t, r, "u", "s", msg)
	adktest.Run(t, r, "u", "s", adktest.UserText("Alice again"))
	events, r := recorded(t, cfg, emits(t, "root", remote))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))

	rows := append(sink.Rows(), events.Rows()...)
	for _, e := range rows {
		for column, data := range map[string][]byte{"content": e.Content, "content_parts": e.ContentParts, "attributes": e.Attributes} {
			if strings.Contains(string(data), "Alice") {
				t.Errorf("%s of %s: %.300s", column, e.EventType, data)
			}
		}
	}
	if got := rowtest.Attribute(t, sink.Of(record.StateDelta)[0], "state_delta", "customer"); got != "someone" {
		t.Errorf("state_delta = %v, want what the formatter makes of it", got)
	}
	for _, e := range sink.Of(record.LLMRequest) {
		if base := rowtest.Attribute(t, e, "adk", "prompt_base"); base != nil {
			t.Errorf("a prompt refers to %v, of which nobody knows what the formatter left", base)
		}
	}
	if n := len(store.parts); n != 1 {
		t.Errorf("%d parts were stored, want the image alone", n)
	}
}

// stateOf returns what a row says of the session's state.
func stateOf(t *testing.T, sink *rowtest.Sink) (out []any) {
	t.Helper()
	for _, e := range sink.Rows() {
		for _, key := range []string{"state", "state_delta"} {
			if v := rowtest.Attribute(t, e, "session_metadata", key); v != nil {
				out = append(out, m{e.EventType + " " + key: v})
			}
		}
	}
	return out
}

// The policy of STATE_DELTA holds for the state of the session too; a STATE_DELTA that
// is not written leaves its change to the next run.
func TestStateFollowsThePolicy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		record config.Record
		want   []any
	}{
		{"none", config.Record{Content: map[string]config.ContentPolicy{record.StateDelta: config.ContentNone}}, nil},
		{"digest", config.Record{Content: map[string]config.ContentPolicy{record.StateDelta: config.ContentDigest}}, nil},
		{"denied", config.Record{Deny: []string{record.StateDelta}}, []any{
			m{record.UserMessageReceived + " state_delta": m{"k": "v"}},
		}},
		{"the first rows are denied", config.Record{Deny: []string{record.UserMessageReceived, record.StateDelta}}, []any{
			m{record.InvocationStarting + " state_delta": m{"k": "v"}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := &session.Event{ID: "e1", Actions: session.EventActions{StateDelta: m{"k": "v"}}}
			sink, r := recorded(t, recorder.Config{Record: tt.record}, emits(t, "root", ev))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			if diff := cmp.Diff(tt.want, stateOf(t, sink)); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// picky refuses rows of one type.
type picky struct {
	rowtest.Sink
	typ string
}

func (p *picky) Append(e record.Event) bool { return e.EventType != p.typ && p.Sink.Append(e) }

// A row that the sink does not take passes on to the next what only it carried.
func TestStateOfARefusedRow(t *testing.T) {
	sink := &picky{typ: record.UserMessageReceived}
	svc := session.InMemoryService()
	if _, err := svc.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "s", State: m{"k": "v"}}); err != nil {
		t.Fatal(err)
	}
	r := newRunnerOn(t, svc, recorder.Config{Sink: sink}, llmagent.Config{Model: adktest.Says("hi")})
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	want := []any{m{record.InvocationStarting + " state": m{"k": "v"}}}
	if diff := cmp.Diff(want, stateOf(t, &sink.Sink)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}
