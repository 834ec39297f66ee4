// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"regexp"

	"github.com/adk-contextgraph/contextgraph/record"
)

// ExtractTables returns the definitions of the tables that one extraction makes for
// itself. id is a part of their names, of letters and digits. They are not partitioned;
// who makes them gives them an end.
func ExtractTables(id string) (pending, answers Table) {
	row := []Column{
		required("app_name", "STRING", ""),
		required("user_id", "STRING", ""),
		required("session_id", "STRING", ""),
		required("event_id", "STRING", "the row of events"),
		column("agent", "STRING", ""),
		column("invocation_id", "STRING", ""),
		column("trace_id", "STRING", ""),
		column("span_id", "STRING", ""),
		column("parent_span_id", "STRING", ""),
		required("seen_at", "TIMESTAMP", "the time of the row"),
		column("artifact_uri", "STRING", "the first document of the row"),
		column("truncated", "BOOL", "whether the model reads a part of the row only"),
		column("attempt", "INT64", "how often the row was sent, from 1"),
		column("pending", "INT64", "the number of rows that waited when this one was chosen"),
	}
	pending = Table{
		Name:        "extract_" + id + "_pending",
		Description: "The rows of one extraction, before the model reads them.",
		Columns:     append(row[:len(row):len(row)], column("event_type", "STRING", ""), required("prompt", "STRING", "")),
	}
	answers = Table{
		Name:        "extract_" + id + "_answers",
		Description: "What the model answered in one extraction.",
		Columns:     append(row[:len(row):len(row)], column("answer", "STRING", ""), column("status", "STRING", "empty, or why the call failed")),
	}
	return pending, answers
}

// ExtractEventTypes returns the types of the rows that a model reads: what people,
// models and tools said, and what is asked of them. The prompts of models are left out,
// because they repeat the rows before them.
func ExtractEventTypes() []string {
	return []string{
		record.UserMessageReceived, record.LLMResponse, record.AgentResponse,
		record.ToolStarting, record.ToolCompleted, record.HITLConfirmationRequest,
		record.A2AInteraction, record.StateDelta,
	}
}

var answersTable = regexp.MustCompile(`^extract_([0-9a-z]{1,64})_answers$`)

// CheckExtractAnswers reports whether a name can be that of a table of answers: an
// extraction deletes the table when it is done.
func CheckExtractAnswers(name string) error {
	if !answersTable.MatchString(name) {
		return &NameError{What: "answers", Name: clipName(name), Remedy: "use the name that the extraction gave which failed: extract_..._answers"}
	}
	return nil
}
