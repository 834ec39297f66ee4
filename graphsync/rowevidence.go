// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// rowEvidence is what the attributes of a row say for the evidence.
type rowEvidence struct {
	ADK struct {
		schema.CallIDs
		Started       string `json:"started"`
		Result        string `json:"result"`
		Of            string `json:"of"`
		Partial       bool   `json:"partial"`
		Accepted      bool   `json:"accepted"`
		Joins         bool   `json:"joins"`
		AnswerOf      string `json:"answer_of"`
		SourceEventID string `json:"source_event_id"`
		Read          struct {
			Base      string            `json:"base"`
			Results   map[string]string `json:"results"`
			Answers   []string          `json:"answers"`
			Unmatched int               `json:"unmatched"`
		} `json:"read"`
		Node struct {
			Path string `json:"path"`
		} `json:"node"`
	} `json:"adk"`
	FunctionCalls []struct {
		ID string `json:"id"`
	} `json:"function_calls"`
}

// evidenceAttributes reads attributes. What cannot be read is empty: then nothing was
// read and nothing supersedes.
func evidenceAttributes(attributes []byte) (a rowEvidence) {
	if len(attributes) > 0 {
		_ = json.Unmarshal(attributes, &a)
	}
	return a
}

// endsReading reports whether a row brings a result that a step can read.
func endsReading(e *schema.Event, attrs rowEvidence) bool {
	switch e.EventType {
	case schema.ToolCompleted, schema.ToolError, schema.NodeOutput:
		return true
	case schema.HITLInputRequestCompleted:
		return attrs.ADK.Accepted
	}
	return false
}
