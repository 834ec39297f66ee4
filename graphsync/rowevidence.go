// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
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
func endsReading(e *record.Event, attrs rowEvidence) bool {
	switch e.EventType {
	case record.ToolCompleted, record.ToolError, record.NodeOutput:
		return true
	case record.HITLInputRequestCompleted:
		return attrs.ADK.Accepted
	}
	return false
}

// failed reports whether the row with an event id ended a call that failed or was refused.
// What a refusal told of the present is true, whatever models read; but in other words than
// its own nobody has read it.
func (b *batch) failed(eventID string) (bool, error) {
	if i := slices.IndexFunc(b.rows, func(e record.Event) bool { return e.EventID == eventID }); i >= 0 {
		return b.rows[i].EventType == record.ToolError, nil
	}
	row, ok, err := b.reader.Row(eventID)
	return ok && row.EventType == record.ToolError, err
}
