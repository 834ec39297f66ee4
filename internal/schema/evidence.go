// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import "github.com/adk-contextgraph/contextgraph/record"

// IsApproval reports whether rows of the type are part of the record of an approval,
// which no overload may drop.
func IsApproval(eventType string) bool {
	switch eventType {
	case record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted, record.WorldChangeCheck:
		return true
	}
	return false
}

// Evidence reports whether what an approval rests on is read from rows of the type,
// and whether from their content.
func Evidence(eventType string) (rows, content bool) {
	switch eventType {
	case record.UserMessageReceived, record.ToolStarting, record.ToolCompleted, record.ToolError,
		record.EntitiesDeclared, record.EntitiesFound:
		return true, true
	case record.AgentStarting, record.AgentCompleted, record.AgentError, record.LLMRequest, record.LLMResponse, record.LLMError:
		return true, false
	}
	return false, false
}
