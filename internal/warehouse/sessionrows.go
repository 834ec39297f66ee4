// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The types below are rows of session_graphs and what stands in them, with a JSON member
// per column. What is left out is NULL.

// sessionColumns are the columns that the table is clustered by. They are never NULL.
type sessionColumns struct {
	AppName   string `json:"app_name"`
	UserID    string `json:"user_id"`
	SessionID string `json:"session_id"`
}

func columnsOf(s record.Session) sessionColumns {
	return sessionColumns{AppName: s.App, UserID: s.User, SessionID: s.ID}
}

// SessionGraphRow is a row of session_graphs: one part of one version of a graph.
type SessionGraphRow struct {
	sessionColumns
	// SessionDay is a DATE, such as 2026-03-04.
	SessionDay string    `json:"session_day"`
	Writer     Writer    `json:"writer"`
	WriterID   string    `json:"writer_id"`
	SyncID     string    `json:"sync_id"`
	Version    int64     `json:"version"`
	ReadTo     time.Time `json:"read_to"`
	Part       int       `json:"part"`
	Parts      int       `json:"parts"`
	Nodes      []NodeRow `json:"nodes,omitempty"`
}

// NodeRow is an element of the column nodes: one step, and all that hangs on it. What a
// model found hangs on steps of which the row knows the key, the trace and the span alone.
type NodeRow struct {
	NodeKey      string    `json:"node_key"`
	TraceID      string    `json:"trace_id,omitempty"`
	SpanID       string    `json:"span_id,omitempty"`
	ParentSpanID string    `json:"parent_span_id,omitempty"`
	Kind         string    `json:"kind,omitempty"`
	Name         string    `json:"name,omitempty"`
	Agent        string    `json:"agent,omitempty"`
	InvocationID string    `json:"invocation_id,omitempty"`
	Branch       string    `json:"branch,omitempty"`
	CallID       string    `json:"call_id,omitempty"`
	Approval     bool      `json:"approval"`
	EventTypes   []string  `json:"event_types,omitempty"`
	EventIDs     []string  `json:"event_ids,omitempty"`
	StartTime    time.Time `json:"start_time,omitzero"`
	EndTime      time.Time `json:"end_time,omitzero"`
	DecidedAt    time.Time `json:"decided_at,omitzero"`
	Status       string    `json:"status,omitempty"`
	ErrorMessage string    `json:"error_message,omitempty"`
	LatencyMS    float64   `json:"latency_ms"`
	Position     int       `json:"position"`
	// CausedBy are the edges that end in the step.
	CausedBy []CauseRow  `json:"caused_by,omitempty"`
	Entities []EntityRow `json:"entities,omitempty"`
	Checks   []CheckRow  `json:"checks,omitempty"`
}

func nodeRow(n graphsync.TechNode, position int) NodeRow {
	return NodeRow{
		NodeKey: n.Key, TraceID: n.TraceID, SpanID: n.SpanID, ParentSpanID: n.ParentSpanID,
		Kind: string(n.Kind), Name: n.Name, Agent: n.Agent, InvocationID: n.InvocationID, Branch: n.Branch, CallID: n.CallID,
		Approval:   slices.Contains(n.EventTypes, record.HITLConfirmationRequest),
		EventTypes: slices.Clone(n.EventTypes), EventIDs: slices.Clone(n.EventIDs),
		StartTime: micros(n.Start), EndTime: micros(n.End), DecidedAt: micros(n.End),
		Status: n.Status, ErrorMessage: n.ErrorMessage, LatencyMS: n.LatencyMS, Position: position,
	}
}

// decided sets when the decision was asked for: nothing that comes after it counts for
// it. A node where no confirmation was asked is decided with its last row.
func (r *NodeRow) decided(requests map[string]time.Time) {
	for _, id := range slices.Backward(r.EventIDs) {
		if at, ok := requests[id]; ok {
			r.DecidedAt = at
			return
		}
	}
}

// CauseRow is an element of the column caused_by: an edge that ends in the step.
type CauseRow struct {
	EdgeKey string `json:"edge_key"`
	FromKey string `json:"from_key"`
	Kind    string `json:"kind"`
}

// EntityRow is an element of the column entities: what the step saw of one entity.
type EntityRow struct {
	BizKey       string          `json:"biz_key"`
	NodeType     string          `json:"node_type"`
	NodeValue    string          `json:"node_value"`
	Confidence   float64         `json:"confidence"`
	ArtifactURI  string          `json:"artifact_uri,omitempty"`
	EventID      string          `json:"event_id,omitempty"`
	CanonicalKey string          `json:"canonical_key"`
	Norm         json.RawMessage `json:"norm,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	Source       string          `json:"source"`
	// LinkType is EVALUATED or NAMED.
	LinkType    string    `json:"link_type"`
	EvaluatedAt time.Time `json:"evaluated_at"`
	// FirstEvaluatedAt is EvaluatedAt, or the earliest of Sightings when that is earlier.
	FirstEvaluatedAt time.Time     `json:"first_evaluated_at"`
	Sightings        []SightingRow `json:"sightings,omitempty"`
	// Echoes is a list of names of attributes; nil for none.
	Echoes json.RawMessage `json:"echoes,omitempty"`
}

// SightingRow is an element of the column sightings: the entity as the step knew it from
// EvaluatedAt on, until the next one.
type SightingRow struct {
	EventID     string    `json:"event_id"`
	EvaluatedAt time.Time `json:"evaluated_at"`
	Confidence  float64   `json:"confidence"`
	ArtifactURI string    `json:"artifact_uri,omitempty"`
	Source      string    `json:"source"`
	// Norm, Attributes and Echoes are JSON texts.
	Norm       string `json:"norm,omitempty"`
	Attributes string `json:"attributes,omitempty"`
	Echoes     string `json:"echoes,omitempty"`
}

// seen sets what the step knew before EvaluatedAt.
func (r *EntityRow) seen(list []graphsync.Known) error {
	for _, k := range list {
		at := micros(k.Since)
		if k.Since.IsZero() || !at.Before(r.EvaluatedAt) {
			continue
		}
		norm, attributes, echoes, err := typedFacts(k.Entity)
		if err != nil {
			return err
		}
		r.Sightings = append(r.Sightings, SightingRow{
			EventID: k.Entity.EventID, EvaluatedAt: at, Confidence: k.Entity.Confidence, ArtifactURI: k.Entity.ArtifactURI,
			Source: string(k.Entity.Source), Norm: string(norm), Attributes: string(attributes), Echoes: string(echoes),
		})
		if at.Before(r.FirstEvaluatedAt) {
			r.FirstEvaluatedAt = at
		}
	}
	return nil
}

// typedFacts encodes the typed form of an entity, what was seen with it, and what of that are
// echoes; nil for none.
func typedFacts(e entity.Entity) (norm, attributes, echoes json.RawMessage, err error) {
	if !e.Norm.IsZero() {
		norm, err = json.Marshal(e.Norm)
	}
	if err == nil && len(e.Attributes) > 0 {
		attributes, err = json.Marshal(e.Attributes)
	}
	if err == nil && len(e.Echoes) > 0 {
		echoes, err = json.Marshal(e.Echoes)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("entity %s %q: %w", e.Type, e.Value, err)
	}
	return norm, attributes, echoes, nil
}

// entityRow makes the row of an entity that was seen at e.SeenAt, or at another time if it
// does not say when.
func entityRow(e entity.Entity, at time.Time) (EntityRow, error) {
	if err := e.Validate(); err != nil {
		return EntityRow{}, err
	}
	if !e.SeenAt.IsZero() {
		at = micros(e.SeenAt)
	}
	r := EntityRow{
		BizKey: BizKey(e.TechNode, e.Type, e.Value), NodeType: e.Type, NodeValue: e.Value, Confidence: e.Confidence,
		ArtifactURI: e.ArtifactURI, EventID: e.EventID, CanonicalKey: e.CanonicalKey(), Source: string(e.Source),
		LinkType: strings.ToUpper(string(graphsync.LinkOf(e))), EvaluatedAt: at, FirstEvaluatedAt: at,
	}
	var err error
	r.Norm, r.Attributes, r.Echoes, err = typedFacts(e)
	return r, err
}

// CheckRow is an element of the column checks: a world-change check whose row belongs to
// the step. The numbers are nil when the row of the check does not say them.
type CheckRow struct {
	CheckID         string          `json:"check_id"`
	CheckedAt       time.Time       `json:"checked_at"`
	Verdict         string          `json:"verdict,omitempty"`
	Stage           string          `json:"stage,omitempty"`
	ApprovalID      string          `json:"approval_id,omitempty"`
	ConfirmationID  string          `json:"confirmation_id,omitempty"`
	CallID          string          `json:"call_id,omitempty"`
	Tool            string          `json:"tool,omitempty"`
	EntitiesChecked *int64          `json:"entities_checked,omitempty"`
	StaleEntities   *int64          `json:"stale_entities,omitempty"`
	FailedEntities  *int64          `json:"failed_entities,omitempty"`
	Alerts          []AlertRow      `json:"alerts,omitempty"`
	Detail          json.RawMessage `json:"detail,omitempty"`
}

// AlertRow is an element of the column alerts.
type AlertRow struct {
	EntityType string  `json:"entity_type"`
	Value      string  `json:"value"`
	Attribute  string  `json:"attribute"`
	DriftType  string  `json:"drift_type"`
	Before     string  `json:"before"`
	After      string  `json:"after"`
	Severity   float64 `json:"severity"`
}

// checkReport is what the content of a WORLD_CHANGE_CHECK row holds, see
// safety.Report.MarshalJSON.
type checkReport struct {
	ApprovalID string `json:"approval_id"`
	Verdict    string `json:"verdict"`
	Total      *int64 `json:"total_entities"`
	Stale      *int64 `json:"stale_entities"`
	Entities   []struct {
		Outcome string `json:"outcome"`
	} `json:"entities"`
	Alerts []struct {
		AlertRow        // of the same names, but for the value
		Entity   string `json:"entity"`
	} `json:"alerts"`
}

// checkRow reads a row WORLD_CHANGE_CHECK; tools are the names of the tools by call id. A
// row that lacks its content still says its verdict and what it was about.
func checkRow(e *record.Event, tools map[string]string) CheckRow {
	// What cannot be read stays empty; the row itself is in the table of events.
	var attrs schema.Attributes
	_ = attrs.Read(e.Attributes)
	r := CheckRow{
		CheckID: e.EventID, CheckedAt: e.Time(),
		Verdict: attrs.ADK.Verdict, Stage: attrs.ADK.Stage, ApprovalID: attrs.ADK.ApprovalID,
		ConfirmationID: attrs.ADK.ConfirmationID.Text, CallID: attrs.ADK.CallID(), Tool: tools[attrs.ADK.CallID()],
	}
	var report checkReport
	if len(e.Content) == 0 || json.Unmarshal(e.Content, &report) != nil {
		return r
	}
	r.Detail = slices.Clone(e.Content)
	r.Verdict, r.ApprovalID = cmp.Or(r.Verdict, report.Verdict), cmp.Or(r.ApprovalID, report.ApprovalID)
	r.EntitiesChecked, r.StaleEntities = report.Total, report.Stale
	if report.Total != nil {
		var failed int64
		for _, en := range report.Entities {
			if en.Outcome == "failed" {
				failed++
			}
		}
		r.FailedEntities = &failed
	}
	for _, a := range report.Alerts {
		a.Value = a.Entity
		r.Alerts = append(r.Alerts, a.AlertRow)
	}
	return r
}
