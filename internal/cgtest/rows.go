// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// CheckTree checks what holds for the rows of any session: a span tree closed
// under parents, every span opened and closed, every status set. The parent of a run
// inside of a tool call is a row of another session.
func CheckTree(t testing.TB, rows []record.Event) {
	t.Helper()
	outside := func(e record.Event) bool {
		switch e.EventType {
		case record.InvocationStarting, record.UserMessageReceived:
			return rowtest.Field(t, e.Attributes, "adk", "parent", "span_id") == e.ParentSpanID
		}
		return slices.ContainsFunc(rows, func(x record.Event) bool {
			return x.EventType == record.InvocationStarting && x.SpanID == e.SpanID && x.ParentSpanID == e.ParentSpanID
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
		if e.Status != record.StatusOK && e.Status != record.StatusError {
			t.Errorf("%s: status = %q", e.EventType, e.Status)
		}
	}
	type bracket struct{ starts, ends int }
	open := make(map[string]*bracket)
	at := func(e record.Event, family string) *bracket {
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
		case record.InvocationStarting:
			at(e, "invocation").starts++
		case record.InvocationCompleted, record.InvocationError:
			at(e, "invocation").ends++
		case record.AgentStarting:
			at(e, "agent").starts++
		case record.AgentCompleted, record.AgentError:
			at(e, "agent").ends++
		case record.LLMRequest:
			at(e, "llm").starts++
		case record.LLMResponse, record.LLMError:
			at(e, "llm").ends++
		case record.ToolStarting:
			at(e, "tool").starts++
		case record.ToolCompleted, record.ToolError:
			at(e, "tool").ends++
		}
		switch e.EventType {
		case record.InvocationCompleted, record.InvocationError, record.AgentCompleted, record.AgentError, record.LLMResponse, record.LLMError, record.ToolCompleted, record.ToolError:
			if _, ok := rowtest.Field(t, e.LatencyMS, "total_ms").(float64); !ok {
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
