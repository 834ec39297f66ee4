// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// bringsResults reports whether a row is a message of the user that only answers requests or
// brings results of tools. These have rows of their own, and the message adds nothing.
func bringsResults(e *record.Event) bool {
	if e.EventType != record.UserMessageReceived || len(e.ContentParts) == 0 {
		return false
	}
	parts, err := schema.ReadParts(e.ContentParts)
	if err != nil {
		return false
	}
	for _, p := range parts {
		var of struct {
			Response json.RawMessage `json:"function_response"`
		}
		if json.Unmarshal([]byte(p.Attributes.String), &of) != nil || of.Response == nil {
			return false
		}
	}
	return len(parts) > 0
}
