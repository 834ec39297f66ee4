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
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// nodeRow is a row of tech_nodes.
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

func (r nodeRow) node(s schema.Session) graphsync.TechNode {
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
func (d *Dataset) nodes(ctx context.Context, s Scope, keys []string) (map[string]graphsync.TechNode, error) {
	out := make(map[string]graphsync.TechNode)
	var distinct []string
	for _, k := range keys {
		if _, known := out[k]; !known {
			out[k] = graphsync.TechNode{Key: k, Session: s.Session}
			distinct = append(distinct, k)
		}
	}
	rows, err := all[nodeRow](ctx, d, askJob("ask_nodes", nil, s.params(param("nodes", distinct))))
	for _, r := range rows {
		out[r.NodeKey] = r.node(s.Session)
	}
	return out, err
}

// entityRow is a row of extracted_biz_nodes; its JSON columns are texts.
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
	ArtifactURI  bq.NullString    `bigquery:"artifact_uri"`
	Confidence   bq.NullFloat64   `bigquery:"confidence"`
	Source       bq.NullString    `bigquery:"source"`
	EvaluatedAt  bq.NullTimestamp `bigquery:"evaluated_at"`
}

// entity returns what a step saw. A row that cannot be read is an error: an answer
// without it would say less than the dataset knows.
func (r entityRow) entity() (entity.Entity, error) {
	e := entity.Entity{
		Type: r.NodeType.StringVal, Value: r.NodeValue.StringVal, ArtifactURI: r.ArtifactURI.StringVal,
		Confidence: r.Confidence.Float64, Source: entity.Source(r.Source.StringVal), EventID: r.EventID.StringVal,
		TechNode: r.NodeKey.StringVal, SpanID: r.SpanID.StringVal, SeenAt: r.EvaluatedAt.Timestamp.UTC(),
	}
	for _, c := range []struct {
		name string
		text bq.NullString
		into any
	}{{"norm", r.Norm, &e.Norm}, {"attributes", r.Attributes, &e.Attributes}} {
		if !c.text.Valid {
			continue
		}
		if err := json.Unmarshal([]byte(c.text.StringVal), c.into); err != nil {
			return e, fmt.Errorf("bigquery: entity %s (%s %q): column %s: %w", r.BizKey.StringVal, e.Type, e.Value, c.name, err)
		}
	}
	return e, nil
}

// inTime orders sightings by time, and those of one time always in the same way.
func inTime(a, b entity.Entity) int {
	return cmp.Or(a.SeenAt.Compare(b.SeenAt), cmp.Compare(a.EventID, b.EventID), cmp.Compare(a.TechNode, b.TechNode),
		cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Source, b.Source))
}

// entities reads sightings.
func entities[R interface{ entity() (entity.Entity, error) }](rows []R) ([]entity.Entity, error) {
	var out []entity.Entity
	for _, r := range rows {
		e, err := r.entity()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
