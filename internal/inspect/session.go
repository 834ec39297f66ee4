// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Status is the status of a session or an approval, in one word. A session has the status of its
// latest approval.
type Status string

// The statuses.
const (
	// StatusNone: nobody was asked for anything.
	StatusNone Status = "none"
	// StatusPending: a human was asked and has not answered, or an answer was not taken
	// and another one may be.
	StatusPending Status = "pending"
	// StatusSafe: approved, the last check was safe, and nothing has run yet.
	StatusSafe Status = "safe"
	// StatusDrift: the world changed; what was asked for was blocked.
	StatusDrift Status = "drift"
	// StatusCheckFailed: it could not be shown that the world is unchanged, so what was
	// asked for was blocked. The approval may still be answered until it expires.
	StatusCheckFailed Status = "check_failed"
	// StatusRejected: a human said no.
	StatusRejected Status = "rejected"
	// StatusExpired: nothing came of it in time.
	StatusExpired Status = "expired"
	// StatusSuperseded: the same call was asked for again, and the later request counts.
	StatusSuperseded Status = "superseded"
	// StatusExecuted: it ran without an error.
	StatusExecuted Status = "executed"
	// StatusFailed: it ran and returned an error.
	StatusFailed Status = "failed"
	// StatusInDoubt: it was started and its end was never recorded.
	StatusInDoubt Status = "in_doubt"
	// StatusUnknown: rows of another recorder do not say whether it ran: they name no calls, and a
	// call on record fits several requests.
	StatusUnknown Status = "unknown"
)

// Open reports whether the request can still have an effect, as far as rows say.
func (s Status) Open() bool {
	return s == StatusPending || s == StatusSafe || s == StatusCheckFailed
}

// Summary is a session in the list of sessions.
type Summary struct {
	Session record.Session `json:"session"`
	// Title is the first line of the first message of the user, at most 120 characters.
	Title  string `json:"title"`
	Status Status `json:"status"`
	// Start and End are the times of the first and the last row.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Agents and Models are the names of those that acted, sorted.
	Agents []string `json:"agents"`
	Models []string `json:"models"`
	// Turns is the number of runs, Events of rows, Errors of rows with the status ERROR.
	Turns  int `json:"turns"`
	Events int `json:"events"`
	Errors int `json:"errors"`
	// Approvals is the number of requests to a human.
	Approvals int    `json:"approvals"`
	Tokens    Tokens `json:"tokens"`
	// WaitedMS is how long the session waited for humans. A time in which several requests wait
	// counts once, see [Approval].
	WaitedMS int64 `json:"waited_ms"`
}

// Tokens are the tokens of all model calls of a session.
type Tokens struct {
	Prompt     int64 `json:"prompt"`
	Completion int64 `json:"completion"`
	Total      int64 `json:"total"`
}

// Session is all there is to see of one session.
type Session struct {
	Summary
	// Problems are the faults of the record itself, see [Problem].
	Problems []Problem `json:"problems"`
	// Spans are the nodes of the graph in the order of their first rows; a parent is
	// before its children.
	Spans []Span `json:"spans"`
	// Edges are the Caused edges.
	Edges []Edge `json:"edges"`
	// Entities are the business entities, by type and value.
	Entities []Entity `json:"entities"`
	// Approvals are the requests to a human, oldest first.
	Approvals []Approval `json:"approvals"`
	Thoughts  Thoughts   `json:"thoughts"`
	// Flows are the runs of graphs of package flow.
	Flows []Flow `json:"flows,omitempty"`
	// CriticalPath holds the keys of the spans that the duration of the session comes
	// from, by start: the work that, had it been faster, would have ended the turn sooner.
	CriticalPath []string `json:"critical_path"`
	// Rows are the recorded steps in the order of recording.
	Rows []Row `json:"rows"`
	// Left is what the session left when it went back to earlier messages, in the order of the record.
	Left []Left `json:"left,omitempty"`
}

// Left is what a session left when it went back to an earlier message. It does not count for what came after.
type Left struct {
	// At is when the session went back, By who took it back.
	At time.Time `json:"at"`
	By string    `json:"by"`
	// Rows are indexes into [Session.Rows].
	Rows []int `json:"rows"`
}

// Problem is something wrong with the record: rows that are known to be missing, a parent
// that was never recorded, content that no one can read. What it names is still shown.
type Problem struct {
	// Kind is "missing_rows", "missing_parent", "no_span", "no_trace", "bad_content", "bad_attributes",
	// "unanswered_call", "unknown_request", "truncated" or "duplicate_event".
	Kind string `json:"kind"`
	// Detail describes the fault and its effect on the views.
	Detail string `json:"detail"`
	// Rows are indexes into [Session.Rows], at most 20 of Count.
	Rows  []int `json:"rows,omitempty"`
	Count int   `json:"count"`
}

// Span is a TechNode: all rows of one span.
type Span struct {
	// Key is the key of the node, see graphsync.TechNodeKey.
	Key     string `json:"key"`
	SpanID  string `json:"span_id"`
	TraceID string `json:"trace_id"`
	// Parent is the key of the span it lies in; empty for a root and where the parent
	// was never recorded.
	Parent string `json:"parent,omitempty"`
	// Kind is the kind of the node (graphsync.NodeKind), Class its class on the page: "user",
	// "agent", "model", "tool", "hitl", "check" or "other".
	Kind  string `json:"kind"`
	Class string `json:"class"`
	// Name is the agent, the model, the tool, or the kind when there is no such name.
	Name         string `json:"name"`
	Agent        string `json:"agent"`
	InvocationID string `json:"invocation_id"`
	Branch       string `json:"branch,omitempty"`
	// CallID is the id of the call of a tool or of a request to a human.
	CallID string `json:"call_id,omitempty"`
	// Turn counts the runs of the session from 1; 0 outside of any.
	Turn int `json:"turn"`
	// Depth is the number of spans around it.
	Depth      int       `json:"depth"`
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	DurationMS float64   `json:"duration_ms"`
	Status     string    `json:"status"`
	Error      string    `json:"error,omitempty"`
	// Open says that the span has no end: it was cut off, or is still under way.
	Open   bool   `json:"open,omitempty"`
	Tokens Tokens `json:"tokens,omitzero"`
	// Rows are indexes into [Session.Rows].
	Rows []int `json:"rows"`
}

// Edge is a Caused edge between two spans.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Kind is "contains", "informs" or "resumes".
	Kind string `json:"kind"`
}

// Entity is a business entity: one thing, evaluated by any number of spans.
type Entity struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value string `json:"value"`
	// Attributes holds the latest value seen of each, as shown: "$40,000".
	Attributes  map[string]string `json:"attributes"`
	Confidence  float64           `json:"confidence"`
	ArtifactURI string            `json:"artifact_uri,omitempty"`
	// Sources name its finders: "rule", "action" (a rule, in the arguments to be approved), "claim"
	// (a rule, in other words), "tool" (which declared it), "model".
	Sources   []string  `json:"sources"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	// Evaluated are the edges from the spans that saw it, by time.
	Evaluated []Sighting `json:"evaluated"`
}

// Sighting is an edge from a span to an entity that was seen in one row of it.
type Sighting struct {
	Span string `json:"span"`
	// Link is "evaluated" if the span had shown the entity by then, or if a model found it. It is
	// "named" if the span only named it, for example as the object of a call.
	Link       string            `json:"link"`
	Row        int               `json:"row"` // index into Session.Rows; -1 when the row is not there
	SeenAt     time.Time         `json:"seen_at"`
	Source     string            `json:"source"`
	Confidence float64           `json:"confidence"`
	Attributes map[string]string `json:"attributes"`
}

// Row is one row of agent_events.
type Row struct {
	EventID   string    `json:"event_id"`
	Timestamp time.Time `json:"timestamp"`
	EventType string    `json:"event_type"`
	Agent     string    `json:"agent"`
	// Span is the key of its node.
	Span         string          `json:"span"`
	InvocationID string          `json:"invocation_id"`
	TraceID      string          `json:"trace_id"`
	SpanID       string          `json:"span_id"`
	ParentSpanID string          `json:"parent_span_id"`
	Content      json.RawMessage `json:"content,omitempty"`
	ContentParts json.RawMessage `json:"content_parts,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	LatencyMS    json.RawMessage `json:"latency_ms,omitempty"`
	Status       string          `json:"status"`
	Error        string          `json:"error_message,omitempty"`
	Truncated    bool            `json:"is_truncated,omitempty"`
}
