// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import "time"

// Thoughts is a session as a chain of thoughts and not as a log: a backbone from the INCIDENT over
// the THOUGHTs to the ACTION. Each tool call and its observation branch off a thought and return to
// the next one.
type Thoughts struct {
	Nodes []Thought     `json:"nodes"`
	Edges []ThoughtEdge `json:"edges"`
}

// Thought is one node of [Thoughts].
type Thought struct {
	ID string `json:"id"`
	// Kind is "INCIDENT", "THOUGHT", "TOOL_CALL", "OBSERVATION" or "ACTION".
	Kind string `json:"kind"`
	// Label is short, for the node; Detail is the text behind it.
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
	Agent  string `json:"agent"`
	// Turn is the run it belongs to, from 1: the unit that is collapsed and clustered.
	Turn int `json:"turn"`
	// Span is the key of the span, Row the index of the row that it comes from; -1 for none.
	Span   string    `json:"span,omitempty"`
	Row    int       `json:"row"`
	At     time.Time `json:"at"`
	Status string    `json:"status,omitempty"`
}

// ThoughtEdge leads from one node of [Thoughts] to another.
type ThoughtEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Kind is "next" along the backbone, "calls", "observes" and "returns" for an excursion.
	Kind string `json:"kind"`
}
