// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
)

// value, document and the others read what docs/row-contract.md says rows hold.

func value(name, typ, from, path string) contract.Column {
	return contract.Column{Name: name, From: from, Path: path, As: "value", Type: typ, Present: "sometimes"}
}

func document(name, from, path string) contract.Column {
	return contract.Column{Name: name, From: from, Path: path, As: "query", Type: "JSON", Present: "sometimes"}
}

func adk(name, typ string) contract.Column { return value(name, typ, "attributes", "$.adk."+name) }

// callID is the call that a row is about. Rows of the Python plugin have it under another name.
func callID() contract.Column {
	c := adk("call_id", "STRING")
	c.Else = "$.adk.function_call_id"
	return c
}

func content(name, typ string) contract.Column { return value(name, typ, "content", "$."+name) }

func entities() contract.Column { return document("entities", "attributes", "$.entities") }

func totalMS() contract.Column { return value("total_ms", "INT64", "latency_ms", "$.total_ms") }

// everyView are the last columns of every typed view: a session id is unique only in an
// application, and rows of one instant are in order by their number in the run.
func everyView() []contract.Column {
	return []contract.Column{adk("app_name", "STRING"), adk("run_id", "STRING"), adk("run_seq", "INT64")}
}

// ownColumns are the columns that follow those of the Python plugin, by the suffix of
// the view.
func ownColumns() map[string][]contract.Column {
	return map[string][]contract.Column{
		"user_message_received": {content("text_summary", "STRING")},
		"invocation_completed":  {totalMS(), adk("unfinished", "BOOL")},
		"invocation_error":      {totalMS()},
		"agent_completed":       {adk("unfinished", "BOOL")},
		"agent_response": {
			// The answer without the text: '…' around it, which response_text has.
			value("final_answer", "STRING", "attributes", "$.response_text"),
			// The answer of a final-response tool is an object.
			document("response", "content", "$.response"),
			value("source_tool", "STRING", "attributes", "$.source_tool"),
		},
		"llm_response":              {document("function_calls", "attributes", "$.function_calls"), adk("short_circuited", "BOOL"), adk("partial", "BOOL")},
		"tool_starting":             {callID()},
		"tool_completed":            {callID(), adk("waited_ms", "INT64")},
		"tool_error":                {callID(), value("error_type", "STRING", "attributes", "$.error_type"), entities()},
		"tool_paused":               {adk("confirmation_id", "STRING"), adk("interrupt_id", "STRING")},
		"state_delta":               {adk("source_event_id", "STRING")},
		"hitl_confirmation_request": confirmation(),
		"hitl_credential_request":   interrupt(),
		"hitl_input_request":        interrupt(),
	}
}

func confirmation() []contract.Column {
	return []contract.Column{
		adk("pause_kind", "STRING"), callID(), adk("confirmation_id", "STRING"),
		adk("approval_id", "STRING"), adk("enforced", "BOOL"),
	}
}

func interrupt() []contract.Column {
	return []contract.Column{adk("pause_kind", "STRING"), callID(), adk("interrupt_id", "STRING")}
}

// ownViews are the views of rows for which the Python plugin has none.
func ownViews() []TypedView {
	answer := []contract.Column{value("tool_name", "STRING", "content", "$.tool"), document("tool_result", "content", "$.result")}
	answered := func(request []contract.Column, more ...contract.Column) []contract.Column {
		return slices.Concat(answer, request, more, []contract.Column{adk("approver", "STRING"), adk("waited_ms", "INT64")})
	}
	return []TypedView{
		{Suffix: "hitl_confirmation_request_completed", Columns: answered(confirmation(), adk("confirmed", "BOOL"), adk("accepted", "BOOL"), adk("reason", "STRING"))},
		{Suffix: "hitl_credential_request_completed", Columns: answered(interrupt())},
		{Suffix: "hitl_input_request_completed", Columns: answered(interrupt())},
		{Suffix: "world_change_check", Columns: []contract.Column{
			adk("verdict", "STRING"), adk("stage", "STRING"), adk("approval_id", "STRING"), adk("confirmation_id", "STRING"),
			callID(), content("safe_to_approve", "BOOL"), content("check_failed", "BOOL"),
			content("total_entities", "INT64"), content("stale_entities", "INT64"), content("fingerprint", "STRING"),
			content("policy_version", "STRING"), content("started_at", "STRING"), content("checked_at", "STRING"),
			document("entities", "content", "$.entities"), document("alerts", "content", "$.alerts"),
			document("failures", "content", "$.failures"), totalMS(),
		}},
		{Suffix: "artifact_delta", Columns: []contract.Column{
			content("artifact", "STRING"), content("version", "INT64"), content("uri", "STRING"),
			callID(), value("source_event_id", "STRING", "attributes", "$.source_event_id"),
		}},
		{Suffix: "tool_result_rewritten", Columns: []contract.Column{
			value("tool_name", "STRING", "content", "$.tool"), callID(),
			value("ended_event_id", "STRING", "attributes", "$.adk.of"), value("result_digest", "STRING", "attributes", "$.adk.result"),
		}},
		{Suffix: "turn_closed", Columns: []contract.Column{document("closed_runs", "attributes", "$.adk.closed")}},
		{Suffix: "entities_declared", Columns: []contract.Column{
			value("tool_name", "STRING", "content", "$.tool"), callID(), value("started_event_id", "STRING", "attributes", "$.adk.of"), entities(),
		}},
		{Suffix: "entities_found", Columns: []contract.Column{value("found_in_event_id", "STRING", "attributes", "$.adk.of"), entities()}},
	}
}
