// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/adk-contextgraph/contextgraph/record"
)

// adkTracer is the name of the tracer that ADK starts its spans with, genaiEvent the
// attribute with the id of the event that a model's answer became.
const (
	adkTracer  = "gcp.vertex.agent"
	genaiEvent = attribute.Key("gcp.vertex.agent.event_id")
)

// executeTool begins the name of the span of a tool call.
const executeTool = "execute_tool "

// generateContent begins the name of the span of a model call.
const generateContent = "generate_content "

// Attributes that ADK's spans get, so that a span leads to its rows: the rows of
// trace_id and span_id, in the run and the session of these ids.
const (
	SpanTraceID   = attribute.Key("contextgraph.trace_id")
	SpanSpanID    = attribute.Key("contextgraph.span_id")
	SpanRunID     = attribute.Key("contextgraph.run_id")
	SpanSessionID = attribute.Key("contextgraph.session_id")
	SpanAppName   = attribute.Key("contextgraph.app_name")
)

// Names that rows give to ADK's span of a model call, in attributes.otel, and to the
// event that its answer became, in attributes.adk.
const (
	modelSpanID   = "generate_content_span_id"
	sourceEventID = "source_event_id"
)

// SpanAttribute names the place in the rows of the value of an attribute of ADK's spans.
type SpanAttribute struct {
	// Span is the operation of the span: generate_content, execute_tool or
	// invoke_agent.
	Span string
	// Name is the attribute's.
	Name attribute.Key
	// EventType is the type of the row.
	EventType string
	// Paths begin with a column; the rest leads into its JSON. Where there are
	// several, the attribute is their sum.
	Paths [][]string
}

// SpanAttributes returns the attributes of ADK's spans that rows hold too, by OpenTelemetry's
// semantic conventions for generative AI and ADK's own names.
func SpanAttributes() []SpanAttribute {
	const (
		model, tool, agent = "generate_content", "execute_tool", "invoke_agent"
		usage              = "usage_metadata"
	)
	path := func(p ...string) []string { return p }
	one := func(span string, name attribute.Key, typ string, p ...string) SpanAttribute {
		return SpanAttribute{Span: span, Name: name, EventType: typ, Paths: [][]string{p}}
	}
	return []SpanAttribute{
		one(model, "gen_ai.request.model", record.LLMRequest, "attributes", "model"),
		one(model, "gen_ai.response.finish_reasons", record.LLMResponse, "attributes", "finish_reason"),
		one(model, "gen_ai.usage.input_tokens", record.LLMResponse, "attributes", usage, "prompt_token_count"),
		{Span: model, Name: "gen_ai.usage.output_tokens", EventType: record.LLMResponse, Paths: [][]string{
			path("attributes", usage, "candidates_token_count"), path("attributes", usage, "thoughts_token_count"),
		}},
		one(model, "gen_ai.usage.reasoning.output_tokens", record.LLMResponse, "attributes", usage, "thoughts_token_count"),
		one(model, "gen_ai.usage.cache_read.input_tokens", record.LLMResponse, "attributes", usage, "cached_content_token_count"),
		one(model, "gcp.vertex.agent.invocation_id", record.LLMRequest, "invocation_id"),
		one(model, genaiEvent, record.LLMResponse, "attributes", "adk", sourceEventID),
		one(tool, "gen_ai.tool.name", record.ToolStarting, "content", "tool"),
		one(tool, "gen_ai.tool.call.id", record.ToolStarting, "attributes", "adk", "call_id"),
		one(agent, "gen_ai.agent.name", record.AgentStarting, "agent"),
		one(agent, "gen_ai.conversation.id", record.AgentStarting, "session_id"),
		one(agent, "gcp.vertex.agent.invocation_id", record.AgentStarting, "invocation_id"),
	}
}
