// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// nodeRow is a row of graph_tech_nodes.
type nodeRow struct {
	NodeKey      string           `bigquery:"node_key"`
	TraceID      bq.NullString    `bigquery:"trace_id"`
	SpanID       bq.NullString    `bigquery:"span_id"`
	ParentSpanID bq.NullString    `bigquery:"parent_span_id"`
	Kind         bq.NullString    `bigquery:"kind"`
	Name         bq.NullString    `bigquery:"name"`
	Agent        bq.NullString    `bigquery:"agent"`
	InvocationID bq.NullString    `bigquery:"invocation_id"`
	Branch       bq.NullString    `bigquery:"branch"`
	CallID       bq.NullString    `bigquery:"call_id"`
	EventTypes   []string         `bigquery:"event_types"`
	EventIDs     []string         `bigquery:"event_ids"`
	StartTime    time.Time        `bigquery:"start_time"`
	EndTime      bq.NullTimestamp `bigquery:"end_time"`
	Status       bq.NullString    `bigquery:"status"`
	ErrorMessage bq.NullString    `bigquery:"error_message"`
	LatencyMS    bq.NullFloat64   `bigquery:"latency_ms"`
	Position     bq.NullInt64     `bigquery:"position"`
}

func (r nodeRow) node(s record.Session) graphsync.TechNode {
	n := graphsync.TechNode{
		Key: r.NodeKey, Session: s, TraceID: r.TraceID.StringVal, SpanID: r.SpanID.StringVal,
		ParentSpanID: r.ParentSpanID.StringVal, Kind: graphsync.NodeKind(r.Kind.StringVal), Name: r.Name.StringVal,
		Agent: r.Agent.StringVal, InvocationID: r.InvocationID.StringVal, Branch: r.Branch.StringVal,
		CallID: r.CallID.StringVal, Start: r.StartTime.UTC(), End: r.StartTime.UTC(), Status: r.Status.StringVal,
		ErrorMessage: r.ErrorMessage.StringVal, LatencyMS: r.LatencyMS.Float64,
		EventTypes: r.EventTypes, EventIDs: r.EventIDs,
	}
	if r.EndTime.Valid {
		n.End = r.EndTime.Timestamp.UTC()
	}
	return n
}

// nodes reads steps of a session by key. One that the dataset does not have gets its key
// alone: an edge can come to the dataset before its node.
func (d *Dataset) nodes(ctx context.Context, s located, keys []string) (map[string]graphsync.TechNode, error) {
	out := make(map[string]graphsync.TechNode)
	var distinct []string
	for _, k := range keys {
		if _, known := out[k]; !known {
			out[k] = graphsync.TechNode{Key: k, Session: s.Session}
			distinct = append(distinct, k)
		}
	}
	rows, err := all[nodeRow](ctx, d, askJob("ask_nodes", nil, sessionParams(s, param("nodes", distinct))))
	for _, r := range rows {
		out[r.NodeKey] = r.node(s.Session)
	}
	return out, err
}

// entityRow is a row of graph_biz_nodes; its JSON columns are texts. The last sighting
// of an entity in its step stands in the columns; Earlier has the last one that was no
// later than the time asked about, where it is another one.
type entityRow struct {
	BizKey       bq.NullString    `bigquery:"biz_key"`
	NodeKey      bq.NullString    `bigquery:"node_key"`
	SpanID       bq.NullString    `bigquery:"span_id"`
	EventID      bq.NullString    `bigquery:"event_id"`
	NodeType     bq.NullString    `bigquery:"node_type"`
	NodeValue    bq.NullString    `bigquery:"node_value"`
	CanonicalKey bq.NullString    `bigquery:"canonical_key"`
	Norm         bq.NullString    `bigquery:"norm"`
	Attributes   bq.NullString    `bigquery:"attributes"`
	Echoes       bq.NullString    `bigquery:"echoes"`
	ArtifactURI  bq.NullString    `bigquery:"artifact_uri"`
	Confidence   bq.NullFloat64   `bigquery:"confidence"`
	Source       bq.NullString    `bigquery:"source"`
	EvaluatedAt  bq.NullTimestamp `bigquery:"evaluated_at"`
	Earlier      bq.NullString    `bigquery:"earlier"`
}

// sighting is an entity as its step knew it after a row that was not the last one it was
// seen in, from the column sightings.
type sighting struct {
	EventID     string  `json:"event_id"`
	EvaluatedAt int64   `json:"evaluated_at"` // microseconds
	Confidence  float64 `json:"confidence"`
	ArtifactURI string  `json:"artifact_uri"`
	Source      string  `json:"source"`
	// Norm, Attributes and Echoes are texts in JSON, like the columns of the row.
	Norm       bq.NullString `json:"norm"`
	Attributes bq.NullString `json:"attributes"`
	Echoes     bq.NullString `json:"echoes"`
}

// asOf returns the row as its step knew the entity at a time: as it is where it was last
// seen no later than that, and else as the earlier sighting. A row that has none stays as
// it is.
func (r entityRow) asOf(at time.Time) (entityRow, error) {
	if !r.EvaluatedAt.Timestamp.After(at) {
		return r, nil
	}
	var earlier []sighting // one or none
	if err := r.decode("sightings", r.Earlier, &earlier); err != nil {
		return r, err
	}
	for _, s := range earlier {
		r.EventID.StringVal, r.EvaluatedAt.Timestamp, r.Confidence.Float64 = s.EventID, time.UnixMicro(s.EvaluatedAt), s.Confidence
		r.ArtifactURI.StringVal, r.Source.StringVal = s.ArtifactURI, s.Source
		r.Norm, r.Attributes, r.Echoes = s.Norm, s.Attributes, s.Echoes
	}
	return r, nil
}

// decode reads a column that is a text in JSON.
func (r entityRow) decode(column string, text bq.NullString, into any) error {
	if !text.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(text.StringVal), into); err != nil {
		return fmt.Errorf("bigquery: entity %s (%s %q): column %s: %w", r.BizKey.StringVal, r.NodeType.StringVal, r.NodeValue.StringVal, column, err)
	}
	return nil
}

// entity returns what a step had seen by a time. A row that cannot be read is an error:
// an answer without it would say less than the dataset knows.
func (r entityRow) entity(at time.Time) (entity.Entity, error) {
	r, err := r.asOf(at)
	if err != nil {
		return entity.Entity{}, err
	}
	e := entity.Entity{
		Type: r.NodeType.StringVal, Value: r.NodeValue.StringVal, ArtifactURI: r.ArtifactURI.StringVal,
		Confidence: r.Confidence.Float64, Source: entity.Source(r.Source.StringVal), EventID: r.EventID.StringVal,
		TechNode: r.NodeKey.StringVal, SpanID: r.SpanID.StringVal, SeenAt: r.EvaluatedAt.Timestamp.UTC(),
	}
	if err := r.decode("norm", r.Norm, &e.Norm); err != nil {
		return e, err
	}
	if err := r.decode("echoes", r.Echoes, &e.Echoes); err != nil {
		return e, err
	}
	return e, r.decode("attributes", r.Attributes, &e.Attributes)
}

// inTime orders sightings by time, and those of one time always in the same way.
func inTime(a, b entity.Entity) int {
	return cmp.Or(a.SeenAt.Compare(b.SeenAt), cmp.Compare(a.EventID, b.EventID), cmp.Compare(a.TechNode, b.TechNode),
		cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Source, b.Source))
}

// entities reads what steps had seen by a time.
func entities(rows []entityRow, at time.Time) ([]entity.Entity, error) {
	var out []entity.Entity
	for _, r := range rows {
		e, err := r.entity(at)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
