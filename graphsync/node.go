// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// NodeKind is the kind of step that a span is.
type NodeKind string

// The kinds of nodes.
const (
	KindInvocation NodeKind = "invocation" // one run: the root span
	KindAgent      NodeKind = "agent"
	KindLLM        NodeKind = "llm"
	KindTool       NodeKind = "tool"
	KindHITL       NodeKind = "hitl"  // a request to a human
	KindCheck      NodeKind = "check" // a world-change check
	KindNode       NodeKind = "node"  // a workflow node that is no agent
	KindOther      NodeKind = "other" // unknown rows, and rows without a span
)

// TechNode is one span: all rows with the same session, trace and span id. A row
// without a span id is a node of its own.
type TechNode struct {
	// Key is the [TechNodeKey] of the span.
	Key     string
	Session record.Session
	TraceID string
	SpanID  string
	// ParentSpanID is the first one that is not empty, in the order of recording.
	ParentSpanID string
	Kind         NodeKind
	// Name is the agent, the model, the tool, or the kind when there is no such name.
	Name         string
	Agent        string
	InvocationID string
	// Branch is the branch of the agent; empty for the main branch.
	Branch string
	// CallID is the id of the tool call of a tool or of a request to a human.
	CallID string
	// Start and End are the times of the first and the last row, UTC.
	Start time.Time
	End   time.Time
	// Status is the status of the last row, ErrorMessage the last message if it is ERROR.
	Status       string
	ErrorMessage string
	// LatencyMS is the last total_ms recorded, in milliseconds, else End - Start.
	LatencyMS float64
	// EventTypes and EventIDs belong to all rows, in the order of recording.
	EventTypes []string
	EventIDs   []string
}

// TechNodeKey returns the key of a span in the graph: the first 32 hexadecimal digits of the
// SHA-256 of the five fields, each with its length before it. A span id alone is not unique across
// traces, and a session id is not unique across users.
func TechNodeKey(s record.Session, traceID, spanID string) string {
	return hashKey(s.App, s.User, s.ID, traceID, spanID)
}

// hashKey digests fields, each with its length before it, to 128 bits.
func hashKey(fields ...string) string {
	var buf []byte
	for _, f := range fields {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(f)))
		buf = append(buf, f...)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:16])
}

// RowNodeKey returns the key of the node that e belongs to. Without a span id that
// is a node for the row alone; the sixth field keeps it apart from every span.
func RowNodeKey(e *record.Event) string {
	if e.SpanID == "" {
		return hashKey(e.AppName, e.UserID, e.SessionID, e.TraceID, "", e.EventID)
	}
	return TechNodeKey(e.Session(), e.TraceID, e.SpanID)
}

// span is a node with the facts for its edges. Positions are indexes into the ordered rows.
type span struct {
	TechNode
	first, last int
	run         string
	// ended is the position of the row that ended a tool, or -1.
	ended int
	// asked are the calls that a model asked for, with the first position of each.
	asked []ask
	// requests and answers are confirmation ids, and call ids of other requests.
	requests, answers []string
	lastRequest       int
	weight            int
	// recordedMS is the last total_ms, or 0.
	recordedMS float64
}

type ask struct {
	callID string
	pos    int
}

// spans are the steps of a session, in the order of their first rows, and what they saw.
type spans struct {
	list  []*span
	index map[string]int // by key
	rows  []*record.Event
	of    []int // span of each row
	seen  []sighting
}

func newSpans() *spans { return &spans{index: make(map[string]int)} }

// add adds a row of the span with the key, and the entities in it.
func (l *spans) add(e *record.Event, key string, attrs *schema.Attributes, found []entity.Entity) {
	i, known := l.index[key]
	if !known {
		i = len(l.list)
		l.index[key] = i
		l.list = append(l.list, &span{
			TechNode: TechNode{Key: key, Session: e.Session(), TraceID: e.TraceID, SpanID: e.SpanID, Start: e.Time(), End: e.Time(), Kind: KindOther, Name: e.EventType},
			first:    len(l.rows), ended: -1, lastRequest: -1,
		})
	}
	l.list[i].add(e, len(l.rows), attrs)
	for _, en := range found {
		l.seen = append(l.seen, sighting{Entity: en, pos: len(l.rows)})
	}
	l.rows, l.of = append(l.rows, e), append(l.of, i)
}

// find adds what a model found in the row at a place.
func (l *spans) find(place int, found []entity.Entity) {
	for _, en := range found {
		l.seen = append(l.seen, sighting{Entity: en, pos: place})
	}
}

// node returns the node of the span.
func (s *span) node() TechNode {
	n := s.TechNode
	if n.LatencyMS = s.recordedMS; n.LatencyMS == 0 {
		n.LatencyMS = float64(n.End.Sub(n.Start)) / float64(time.Millisecond)
	}
	return n
}

// parentKey returns the key of the parent, "" without one.
func (s *span) parentKey() string {
	if s.ParentSpanID == "" {
		return ""
	}
	return TechNodeKey(s.Session, s.TraceID, s.ParentSpanID)
}

func (s *span) add(e *record.Event, pos int, attrs *schema.Attributes) {
	if e.EventType == record.EntitiesFound { // long after the step
		s.EventTypes, s.EventIDs = append(s.EventTypes, e.EventType), append(s.EventIDs, e.EventID)
		return
	}
	at := e.Time()
	s.last = pos
	if at.Before(s.Start) {
		s.Start = at
	}
	if at.After(s.End) {
		s.End = at
	}
	s.ParentSpanID = cmp.Or(s.ParentSpanID, e.ParentSpanID)
	s.Agent = cmp.Or(s.Agent, e.Agent)
	s.InvocationID = cmp.Or(s.InvocationID, e.InvocationID)
	s.Branch = cmp.Or(s.Branch, attrs.ADK.Branch)
	if e.EventType != record.ToolPaused {
		// A pause stands on the span of the agent that waits, or on that of the request. The row of
		// the request names its call.
		s.CallID = cmp.Or(s.CallID, attrs.ADK.CallID())
	}
	s.run = cmp.Or(s.run, runKey(e))
	s.Status = cmp.Or(e.Status, s.Status)
	if s.Status != record.StatusError {
		s.ErrorMessage = ""
	} else if e.ErrorMessage != "" {
		s.ErrorMessage = e.ErrorMessage
	}
	if ms, ok := totalMS(e.LatencyMS); ok {
		s.recordedMS = ms
	}
	s.EventTypes = append(s.EventTypes, e.EventType)
	s.EventIDs = append(s.EventIDs, e.EventID)
	s.classify(e, attrs)

	switch e.EventType {
	case record.LLMResponse:
		for _, c := range attrs.FunctionCalls {
			if c.ID != "" && !slices.ContainsFunc(s.asked, func(a ask) bool { return a.callID == c.ID }) {
				s.asked = append(s.asked, ask{c.ID, pos})
			}
		}
	case record.ToolCompleted, record.ToolError:
		s.ended = pos
	case record.HITLConfirmationRequest:
		s.lastRequest = pos
		s.requests = appendNew(s.requests, attrs.ADK.ConfirmationID.Text)
	case record.HITLConfirmationRequestCompleted:
		s.answers = appendNew(s.answers, attrs.ADK.ConfirmationID.Text)
	case record.HITLCredentialRequest, record.HITLInputRequest:
		s.requests = appendNew(s.requests, attrs.ADK.CallID())
	case record.HITLCredentialRequestCompleted, record.HITLInputRequestCompleted:
		s.answers = appendNew(s.answers, attrs.ADK.CallID())
	}
}

// classify sets kind and name from the row that says most about the span: other
// recorders put requests and state changes on the span of an agent.
func (s *span) classify(e *record.Event, attrs *schema.Attributes) {
	if e.SpanID == "" {
		return
	}
	kind, name, weight := KindOther, "", 0
	switch t := e.EventType; {
	case isTool(t):
		kind, weight = KindTool, 7
		if attrs.ADK.PauseKind != "" {
			weight = 3 // a late result, which other recorders put on the root span of the run it came with
		}
		// A result can be long: it is not read for a name that is known.
		if s.weight < weight || s.Name == string(kind) {
			name = toolName(e.Content)
		}
	case strings.HasPrefix(t, "LLM_"):
		kind, name, weight = KindLLM, attrs.Model, 6
	case t == record.AgentStarting || t == record.AgentCompleted || t == record.AgentError:
		kind, name, weight = KindAgent, e.Agent, 5
	case t == record.UserMessageReceived || strings.HasPrefix(t, "INVOCATION_"):
		kind, weight = KindInvocation, 4
	case t == record.WorldChangeCheck:
		kind, weight = KindCheck, 3
	case strings.HasPrefix(t, "HITL_") && strings.HasSuffix(t, "_COMPLETED"):
		kind, weight = KindInvocation, 1
	case strings.HasPrefix(t, "HITL_"):
		kind, name, weight = KindHITL, toolName(e.Content), 3
	case t == record.NodeOutput || t == record.NodeError:
		kind, name, weight = KindNode, workflowNode(attrs.ADK.Node.Path), 3
	case ridesOnParentSpan(t):
		// A node that is an agent has the rows of one, which weigh more.
		if node := workflowNode(attrs.ADK.Node.Path); node != "" && node != e.Agent {
			kind, name, weight = KindNode, node, 2
		} else {
			kind, name, weight = KindAgent, e.Agent, 1
		}
	}
	if weight > s.weight {
		s.weight, s.Kind, s.Name = weight, kind, cmp.Or(name, string(kind))
	} else if weight > 0 && weight == s.weight && s.Name == string(s.Kind) && name != "" {
		s.Name = name
	}
}

// ridesOnParentSpan reports whether rows of the type stand on the span of the agent, the
// workflow node or the tool that they come from.
func ridesOnParentSpan(eventType string) bool {
	switch eventType {
	case record.AgentResponse, record.AgentTransfer, record.AgentStateCheckpoint, record.EventCompaction,
		record.StateDelta, record.ArtifactDelta, record.ToolPaused, record.A2AInteraction:
		return true
	}
	return false
}

// workflowNode returns the name of the node at a path of segments name@run.
func workflowNode(path string) string {
	last := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(last, '@'); i >= 0 {
		return last[:i]
	}
	return last
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// runKey names the run of a row. Rows that come without a run id are told apart
// by trace and invocation.
func runKey(e *record.Event) string {
	if e.RunID != "" {
		return "run:" + e.RunID
	}
	return "trace:" + e.TraceID + ":" + e.InvocationID
}

func toolName(content []byte) string {
	var c struct {
		Tool string `json:"tool"`
	}
	if len(content) > 0 {
		_ = json.Unmarshal(content, &c)
	}
	return c.Tool
}

func totalMS(latency []byte) (float64, bool) {
	var l struct {
		Total *float64 `json:"total_ms"`
	}
	if len(latency) == 0 || json.Unmarshal(latency, &l) != nil || l.Total == nil {
		return 0, false
	}
	return *l.Total, true
}
