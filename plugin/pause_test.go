// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestLongRunningTool(t *testing.T) {
	order := functionTool(t, functiontool.Config{Name: "order", IsLongRunning: true}, func(agent.Context, struct {
		Item string `json:"item"`
	}) (map[string]any, error) {
		return m{"status": "pending"}, nil
	})
	sink, r := recorded(t, recorder.Config{}, llm(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{order},
		Model: adktest.CallsOnce(&genai.FunctionCall{ID: "call-1", Name: "order", Args: m{"item": "tea"}}),
	}))
	adktest.Run(t, r, "u", "s", adktest.UserText("order tea"))
	e := one(t, sink, record.ToolPaused)
	diff(t, "pause", shape{
		Type: record.ToolPaused, Agent: "root", Status: "OK",
		Content: m{"tool": "order", "args": m{"item": "tea"}},
		Attributes: m{"adk": m{
			"source_event_id": fresh, "node": m{"path": "root"}, "pause_kind": "tool", "function_call_id": "call-1",
		}},
	}, shapeOf(t, e))
	if start := one(t, sink, record.AgentStarting); e.SpanID != start.SpanID {
		t.Errorf("the pause stands on span %s, want the agent's %s", e.SpanID, start.SpanID)
	}

	adktest.Run(t, r, "u", "s", responds("call-1", "order", m{"status": "delivered"}))
	var resumed []record.Event
	for _, e := range sink.Of(record.ToolCompleted) {
		if rowtest.Attribute(t, e, "adk", "pause_kind") != nil {
			resumed = append(resumed, e)
		}
	}
	diff(t, "resumed", []shape{{
		Type: record.ToolCompleted, Agent: "root", Status: "OK",
		Content:    m{"tool": "order", "result": m{"status": "delivered"}},
		Attributes: m{"adk": m{"pause_kind": "tool", "call_id": "call-1", "function_call_id": "call-1", "waited_ms": fresh}},
	}}, shapesOf(t, resumed, "waited_ms"))
	checkParents(t, sink.Rows())
}

// event returns an event of a model with the calls.
func event(id string, longRunning []string, fcs ...*genai.FunctionCall) *session.Event {
	ev := &session.Event{ID: id, LongRunningToolIDs: longRunning}
	if len(fcs) > 0 {
		ev.Content = &genai.Content{Role: genai.RoleModel}
	}
	for _, fc := range fcs {
		ev.Content.Parts = append(ev.Content.Parts, &genai.Part{FunctionCall: fc})
	}
	return ev
}

// Credentials are asked for by the host's agents only: ADK-Go has the name of the
// call and no code that makes it.
func TestCredentialRequest(t *testing.T) {
	sink, r := recorded(t, recorder.Config{}, emits(t, "root", event("e1", []string{"cred-1"},
		&genai.FunctionCall{ID: "cred-1", Name: "adk_request_credential", Args: m{"scheme": "oauth2"}},
		&genai.FunctionCall{ID: "invented", Name: "adk_request_credential"},
	)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	request, pause := one(t, sink, record.HITLCredentialRequest), one(t, sink, record.ToolPaused)
	content := m{"tool": "adk_request_credential", "args": m{"scheme": "oauth2"}}
	attrs := func(id string) m {
		return m{"adk": m{"source_event_id": fresh, "pause_kind": "hitl_credential", id: "cred-1"}}
	}
	diff(t, "request", shape{Type: record.HITLCredentialRequest, Agent: "root", Status: "OK", Content: content, Attributes: attrs("call_id")}, shapeOf(t, request))
	diff(t, "pause", shape{Type: record.ToolPaused, Agent: "root", Status: "OK", Content: content, Attributes: attrs("function_call_id")}, shapeOf(t, pause))
	start := one(t, sink, record.AgentStarting)
	if request.SpanID != pause.SpanID || request.SpanID == start.SpanID || request.ParentSpanID != start.SpanID {
		t.Errorf("request on %s below %s, pause on %s; want one span of their own below %s", request.SpanID, request.ParentSpanID, pause.SpanID, start.SpanID)
	}

	adktest.Run(t, r, "u", "s", responds("cred-1", "adk_request_credential", m{"token": "hunter2", "ok": true}))
	completed := one(t, sink, record.HITLCredentialRequestCompleted)
	diff(t, "completed", shape{
		Type: record.HITLCredentialRequestCompleted, Agent: "root", Status: "OK",
		Content: m{"tool": "adk_request_credential", "result": m{"token": "[REDACTED]", "ok": true}},
		Attributes: m{"adk": m{
			"pause_kind": "hitl_credential", "call_id": "cred-1", "approver": "u", "waited_ms": fresh,
		}},
	}, shapeOf(t, completed, "waited_ms"))
	if n := len(sink.Of(record.ToolCompleted)); n != 0 {
		t.Errorf("%d rows of TOOL_COMPLETED, want none", n)
	}
	checkParents(t, sink.Rows())
}

func TestPausesWithoutACall(t *testing.T) {
	asks := event("e1", []string{"gone"})
	asks.RequestedInput = &session.RequestInput{InterruptID: "in-1", Message: "how many?"}
	sink, r := recorded(t, recorder.Config{}, emits(t, "root", asks, &session.Event{
		ID: "e2", LLMResponse: model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{nil}}},
	}))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	diff(t, "pause", shape{
		Type: record.ToolPaused, Agent: "root", Status: "OK", Content: m{"tool": nil, "args": nil},
		Attributes: m{"adk": m{
			"source_event_id": fresh, "pause_kind": "tool", "function_call_id": "gone",
		}},
	}, shapeOf(t, one(t, sink, record.ToolPaused)))
	diff(t, "request", shape{
		Type: record.HITLInputRequest, Agent: "root", Status: "OK",
		Content: m{"tool": "adk_request_input", "args": m{"interruptId": "in-1", "message": "how many?", "payload": nil}},
		Attributes: m{"adk": m{
			"source_event_id": fresh, "pause_kind": "hitl_input", "call_id": "in-1", "interrupt_id": "in-1",
		}},
	}, shapeOf(t, one(t, sink, record.HITLInputRequest)))
}

// A request for a confirmation and its pause are one step, below the call that asks.
func TestPauseOfAConfirmation(t *testing.T) {
	ask := functionTool(t, functiontool.Config{Name: "ask", RequireConfirmation: true}, func(agent.Context, struct{}) (map[string]any, error) {
		return m{"done": true}, nil
	})
	sink, r := recorded(t, recorder.Config{}, llm(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{ask}, Model: adktest.CallsOnce(&genai.FunctionCall{ID: "call-1", Name: "ask"}),
	}))
	events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	id := adktest.Confirmations(events)[0].ID
	request, pause := one(t, sink, record.HITLConfirmationRequest), one(t, sink, record.ToolPaused)
	if pause.SpanID != request.SpanID || pause.ParentSpanID != request.ParentSpanID {
		t.Errorf("the pause stands on span %s, want the request's %s", pause.SpanID, request.SpanID)
	}
	for _, tt := range []struct {
		e              record.Event
		call, function any
	}{{request, "call-1", nil}, {pause, nil, id}} {
		if got := rowtest.Attribute(t, tt.e, "adk", "confirmation_id"); got != id {
			t.Errorf("%s: confirmation_id = %v, want %s", tt.e.EventType, got, id)
		}
		if got := rowtest.Attribute(t, tt.e, "adk", "call_id"); got != tt.call {
			t.Errorf("%s: call_id = %v, want %v", tt.e.EventType, got, tt.call)
		}
		if got := rowtest.Attribute(t, tt.e, "adk", "function_call_id"); got != tt.function {
			t.Errorf("%s: function_call_id = %v, want %v", tt.e.EventType, got, tt.function)
		}
	}
	checkParents(t, sink.Rows())
}

// What an agent says in an event is not the answer of a human.
func TestAnswersInEvents(t *testing.T) {
	ev := &session.Event{ID: "e1"}
	for _, name := range []string{"adk_request_confirmation", "adk_request_input", "other"} {
		ev.LLMResponse.Content = responds("id-1", name, m{"confirmed": true})
		ev.LLMResponse.Content.Role = genai.RoleModel
		t.Run(name, func(t *testing.T) {
			one := *ev
			sink, r := recorded(t, recorder.Config{}, emits(t, "root", &one))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			var got []shape
			for _, typ := range []string{record.HITLConfirmationRequestCompleted, record.HITLInputRequestCompleted, record.ToolCompleted} {
				got = append(got, shapesOf(t, sink.Of(typ))...)
			}
			content := m{"tool": name, "result": m{"confirmed": true}}
			want := map[string][]shape{
				"adk_request_confirmation": {{
					Type: record.HITLConfirmationRequestCompleted, Agent: "root", Status: "OK", Content: content,
					Attributes: m{"adk": m{
						"source_event_id": fresh, "pause_kind": "hitl_confirmation",
						"confirmation_id": "id-1", "confirmed": true, "accepted": false,
					}},
				}},
				"adk_request_input": {{
					Type: record.HITLInputRequestCompleted, Agent: "root", Status: "OK", Content: content,
					Attributes: m{"adk": m{
						"source_event_id": fresh, "pause_kind": "hitl_input", "call_id": "id-1", "interrupt_id": "id-1",
					}},
				}},
			}
			diff(t, "rows", want[name], got)
		})
	}
}
