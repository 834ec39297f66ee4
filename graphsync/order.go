// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"slices"

	"github.com/adk-contextgraph/contextgraph/record"
)

// InOrder returns rows in the order of recording, each event id once, as a fold takes them.
func InOrder(rows []record.Event) []record.Event {
	out := make([]record.Event, 0, len(rows))
	for _, e := range inOrder(rows) {
		out = append(out, *e)
	}
	return out
}

// inOrder returns rows in the order of recording, each event id once. Rows without a journal number
// (read from a warehouse) are ordered by time. Rows of one microsecond are then ordered by their
// usual order, so that the result never depends on the order of the input. The finds of
// models come last: they were recorded after the rows that they are about, but have their times.
func inOrder(rows []record.Event) []*record.Event {
	out := make([]*record.Event, len(rows))
	numbered := true
	for i := range rows {
		out[i] = &rows[i]
		numbered = numbered && rows[i].Seq > 0
	}
	slices.SortStableFunc(out, func(a, b *record.Event) int {
		c := cmp.Compare(afterwards(a), afterwards(b))
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
	return slices.DeleteFunc(out, func(e *record.Event) bool {
		if e.EventID == "" {
			return false
		}
		dup := seen[e.EventID]
		seen[e.EventID] = true
		return dup
	})
}

// afterwards is 1 for rows that have the time of an earlier one, and 0 for all others.
func afterwards(e *record.Event) int {
	if e.EventType == record.EntitiesFound {
		return 1
	}
	return 0
}

// rank orders event types of one instant: outer spans open first and close last.
func rank(eventType string) int {
	switch eventType {
	case record.UserMessageReceived:
		return 0
	case record.HITLConfirmationRequestCompleted, record.HITLCredentialRequestCompleted, record.HITLInputRequestCompleted:
		return 1
	case record.InvocationStarting:
		return 2
	case record.AgentStarting:
		return 3
	case record.LLMRequest:
		return 4
	case record.LLMResponse, record.LLMError:
		return 5
	case record.ToolStarting:
		return 6
	case record.EntitiesDeclared:
		return 7
	case record.ToolCompleted, record.ToolError:
		return 8
	case record.AgentCompleted, record.AgentError:
		return 10
	case record.InvocationCompleted, record.InvocationError:
		return 11
	case record.EntitiesFound: // in a row of the same time
		return 12
	default:
		return 9
	}
}
