// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// inOrder returns rows in the order of recording, each event id once. Rows that
// have no journal number (read from a warehouse) are ordered by time; rows of one
// microsecond are then ordered by what usually comes first, so that the result
// never depends on the order of the input.
func inOrder(rows []schema.Event) []*schema.Event {
	out := make([]*schema.Event, len(rows))
	numbered := true
	for i := range rows {
		out[i] = &rows[i]
		numbered = numbered && rows[i].Seq > 0
	}
	slices.SortStableFunc(out, func(a, b *schema.Event) int {
		c := 0
		if numbered {
			c = cmp.Compare(a.Seq, b.Seq)
		}
		return cmp.Or(c,
			cmp.Compare(a.Timestamp, b.Timestamp),
			cmp.Compare(rank(a.EventType), rank(b.EventType)),
			cmp.Compare(a.EventID, b.EventID),
			cmp.Compare(a.SpanID, b.SpanID),
			cmp.Compare(a.EventType, b.EventType))
	})
	seen := make(map[string]bool, len(out))
	return slices.DeleteFunc(out, func(e *schema.Event) bool {
		if e.EventID == "" {
			return false
		}
		dup := seen[e.EventID]
		seen[e.EventID] = true
		return dup
	})
}

// rank orders event types of one instant: outer spans open first and close last.
func rank(eventType string) int {
	switch eventType {
	case schema.UserMessageReceived:
		return 0
	case schema.HITLConfirmationRequestCompleted, schema.HITLCredentialRequestCompleted, schema.HITLInputRequestCompleted:
		return 1
	case schema.InvocationStarting:
		return 2
	case schema.AgentStarting:
		return 3
	case schema.LLMRequest:
		return 4
	case schema.LLMResponse, schema.LLMError:
		return 5
	case schema.ToolStarting:
		return 6
	case schema.ToolCompleted, schema.ToolError:
		return 7
	case schema.AgentCompleted, schema.AgentError:
		return 9
	case schema.InvocationCompleted, schema.InvocationError:
		return 10
	default:
		return 8
	}
}
