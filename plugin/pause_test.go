// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

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
