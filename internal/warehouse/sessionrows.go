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

// The types below are rows as a load job takes them in JSON: a member per column. What
// is left out is NULL.

// sessionColumns are the columns that all tables are clustered by. They are never NULL.
type sessionColumns struct {
	AppName   string `json:"app_name"`
	UserID    string `json:"user_id"`
	SessionID string `json:"session_id"`
}

func columnsOf(s record.Session) sessionColumns {
	return sessionColumns{AppName: s.App, UserID: s.User, SessionID: s.ID}
}

// TechNodeRow is a row of tech_nodes.
type TechNodeRow struct {
	NodeKey string `json:"node_key"`
	sessionColumns
	TraceID      string    `json:"trace_id"`
	SpanID       string    `json:"span_id"`
	ParentSpanID string    `json:"parent_span_id,omitempty"`
	Kind         string    `json:"kind"`
	Name         string    `json:"name,omitempty"`
	Agent        string    `json:"agent,omitempty"`
	InvocationID string    `json:"invocation_id,omitempty"`
	Branch       string    `json:"branch,omitempty"`
	CallID       string    `json:"call_id,omitempty"`
	Approval     bool      `json:"approval"`
	EventTypes   []string  `json:"event_types"`
	EventIDs     []string  `json:"event_ids"`
	StartTime    time.Time `json:"start_time"`
	EndTime      time.Time `json:"end_time"`
	DecidedAt    time.Time `json:"decided_at"`
	Status       string    `json:"status,omitempty"`
	ErrorMessage string    `json:"error_message,omitempty"`
	LatencyMS    float64   `json:"latency_ms"`
	Position     int       `json:"position"`
	Recorder     string    `json:"recorder"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
	// Requests are those that were made in the step.
	Requests []RequestRow `json:"requests"`
}

func techNodeRow(n graphsync.TechNode, position int, recorder string, at time.Time) TechNodeRow {
	return TechNodeRow{
		NodeKey: n.Key, sessionColumns: columnsOf(n.Session), TraceID: n.TraceID, SpanID: n.SpanID, ParentSpanID: n.ParentSpanID,
		Kind: string(n.Kind), Name: n.Name, Agent: n.Agent, InvocationID: n.InvocationID, Branch: n.Branch, CallID: n.CallID,
		Approval:   slices.Contains(n.EventTypes, record.HITLConfirmationRequest),
		EventTypes: append([]string{}, n.EventTypes...), EventIDs: append([]string{}, n.EventIDs...),
		StartTime: micros(n.Start), EndTime: micros(n.End), DecidedAt: micros(n.End),
		Status: n.Status, ErrorMessage: n.ErrorMessage, LatencyMS: n.LatencyMS, Position: position,
		Recorder: recorder, CreatedAt: at, UpdatedAt: at, Requests: []RequestRow{},
	}
}

// decided sets when the decision was asked for: nothing that comes after it counts for
// it. A node where no confirmation was asked is decided with its last row.
func (r *TechNodeRow) decided(requests map[string]time.Time) {
	for _, id := range slices.Backward(r.EventIDs) {
		if at, ok := requests[id]; ok {
			r.DecidedAt = at
			return
		}
	}
}

// CausedEdgeRow is a row of caused_edges.
type CausedEdgeRow struct {
	EdgeKey string `json:"edge_key"`
	FromKey string `json:"from_key"`
	ToKey   string `json:"to_key"`
	Kind    string `json:"kind"`
	sessionColumns
	OccurredAt time.Time `json:"occurred_at"`
	Recorder   string    `json:"recorder"`
	CreatedAt  time.Time `json:"created_at"`
}

// BizNodeRow is a row of extracted_biz_nodes.
type BizNodeRow struct {
	BizNodeID   string  `json:"biz_node_id"`
	SpanID      string  `json:"span_id"`
	NodeType    string  `json:"node_type"`
	NodeValue   string  `json:"node_value"`
	Confidence  float64 `json:"confidence"`
	ArtifactURI string  `json:"artifact_uri,omitempty"`
	BizKey      string  `json:"biz_key"`
	NodeKey     string  `json:"node_key"`
	sessionColumns
	TraceID      string          `json:"trace_id"`
	EventID      string          `json:"event_id"`
	CanonicalKey string          `json:"canonical_key"`
	Norm         json.RawMessage `json:"norm,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	Source       string          `json:"source"`
	EvaluatedAt  time.Time       `json:"evaluated_at"`
	Recorder     string          `json:"recorder"`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
	// FirstEvaluatedAt is EvaluatedAt, or the earliest of Sightings when that is earlier.
	FirstEvaluatedAt time.Time     `json:"first_evaluated_at"`
	Sightings        []SightingRow `json:"sightings"`
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
func (r *BizNodeRow) seen(list []graphsync.Known) error {
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

func bizNodeRow(e entity.Entity, s record.Session, traceID, recorder string, at time.Time) (BizNodeRow, error) {
	if err := e.Validate(); err != nil {
		return BizNodeRow{}, err
	}
	r := BizNodeRow{
		BizNodeID: e.BizNodeID(), SpanID: e.SpanID, NodeType: e.Type, NodeValue: e.Value, Confidence: e.Confidence,
		ArtifactURI: e.ArtifactURI, BizKey: BizKey(e.TechNode, e.Type, e.Value), NodeKey: e.TechNode, sessionColumns: columnsOf(s),
		TraceID: traceID, EventID: e.EventID, CanonicalKey: e.CanonicalKey(), Source: string(e.Source),
		EvaluatedAt: micros(e.SeenAt), Recorder: recorder, CreatedAt: at, UpdatedAt: at, Sightings: []SightingRow{},
	}
	if e.SeenAt.IsZero() {
		r.EvaluatedAt = at // the column is what the table is partitioned by
	}
	r.FirstEvaluatedAt = r.EvaluatedAt
	var err error
	r.Norm, r.Attributes, r.Echoes, err = typedFacts(e)
	return r, err
}

// CrossLinkRow is a row of context_cross_links.
type CrossLinkRow struct {
	LinkID      string    `json:"link_id"`
	SpanID      string    `json:"span_id"`
	BizNodeID   string    `json:"biz_node_id"`
	NodeValue   string    `json:"node_value"`
	LinkType    string    `json:"link_type"`
	ArtifactURI string    `json:"artifact_uri,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	LinkKey     string    `json:"link_key"`
	NodeKey     string    `json:"node_key"`
	BizKey      string    `json:"biz_key"`
	sessionColumns
	Source      string    `json:"source"`
	EvaluatedAt time.Time `json:"evaluated_at"`
	Recorder    string    `json:"recorder"`
	UpdatedAt   time.Time `json:"updated_at"`
	// FirstEvaluatedAt is that of the entity.
	FirstEvaluatedAt time.Time `json:"first_evaluated_at"`
}

// link returns the link to the entity, of which the row is, from the span that saw it.
func (r *BizNodeRow) link(e entity.Entity) CrossLinkRow {
	return CrossLinkRow{
		LinkID: r.BizNodeID, SpanID: r.SpanID, BizNodeID: r.BizNodeID, NodeValue: r.NodeValue, LinkType: strings.ToUpper(string(graphsync.LinkOf(e))),
		ArtifactURI: r.ArtifactURI, CreatedAt: r.CreatedAt, LinkKey: r.BizKey, NodeKey: r.NodeKey, BizKey: r.BizKey,
		sessionColumns: r.sessionColumns, Source: r.Source, EvaluatedAt: r.EvaluatedAt, Recorder: r.Recorder, UpdatedAt: r.UpdatedAt,
		FirstEvaluatedAt: r.FirstEvaluatedAt,
	}
}

// WorldChangeCheckRow is a row of world_change_checks. The numbers are nil when the row
// of the check does not say them.
type WorldChangeCheckRow struct {
	CheckID string `json:"check_id"`
	sessionColumns
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
	Alerts          []AlertRow      `json:"alerts"`
	Detail          json.RawMessage `json:"detail,omitempty"`
	Recorder        string          `json:"recorder"`
	CreatedAt       time.Time       `json:"created_at"`
	// NodeKey is that of the step that the row of the check belongs to.
	NodeKey string `json:"node_key"`
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
		EntityType string  `json:"entity_type"`
		Entity     string  `json:"entity"`
		Attribute  string  `json:"attribute"`
		Drift      string  `json:"drift_type"`
		Before     string  `json:"before"`
		After      string  `json:"after"`
		Severity   float64 `json:"severity"`
	} `json:"alerts"`
}

// worldChangeCheckRow reads a row WORLD_CHANGE_CHECK; tools are the names of the tools by
// call id. A row that lacks its content still says its verdict and what it was about.
func worldChangeCheckRow(e *record.Event, tools map[string]string, recorder string, at time.Time) WorldChangeCheckRow {
	// What cannot be read stays empty; the row itself is in the table of events.
	var attrs schema.Attributes
	_ = attrs.Read(e.Attributes)
	r := WorldChangeCheckRow{
		CheckID: e.EventID, sessionColumns: columnsOf(e.Session()), CheckedAt: e.Time(),
		Verdict: attrs.ADK.Verdict, Stage: attrs.ADK.Stage, ApprovalID: attrs.ADK.ApprovalID,
		ConfirmationID: attrs.ADK.ConfirmationID.Text, CallID: attrs.ADK.CallID(), Tool: tools[attrs.ADK.CallID()],
		Alerts: []AlertRow{}, Recorder: recorder, CreatedAt: at, NodeKey: graphsync.RowNodeKey(e),
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
		r.Alerts = append(r.Alerts, AlertRow{
			EntityType: a.EntityType, Value: a.Entity, Attribute: a.Attribute, DriftType: a.Drift,
			Before: a.Before, After: a.After, Severity: a.Severity,
		})
	}
	return r
}
