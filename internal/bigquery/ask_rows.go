// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// nodeOf returns a step of a session, of a row with the columns of graph_tech_nodes.
func nodeOf(r *row, s record.Session) graphsync.TechNode {
	start := r.time("start_time")
	return graphsync.TechNode{
		Key: r.text("node_key"), Session: s, TraceID: r.text("trace_id"), SpanID: r.text("span_id"),
		ParentSpanID: r.text("parent_span_id"), Kind: graphsync.NodeKind(r.text("kind")), Name: r.text("name"),
		Agent: r.text("agent"), InvocationID: r.text("invocation_id"), Branch: r.text("branch"),
		CallID: r.text("call_id"), Start: start, End: cmp.Or(r.time("end_time"), start), Status: r.text("status"),
		ErrorMessage: r.text("error_message"), LatencyMS: r.float("latency_ms"),
		EventTypes: r.texts("event_types"), EventIDs: r.texts("event_ids"),
	}
}

// nodes reads steps of a session by key. One that the dataset does not have gets its key
// alone: an edge can come to the dataset before its node.
func (d *Dataset) nodes(ctx context.Context, s located, keys []string) (map[string]graphsync.TechNode, error) {
	out := make(map[string]graphsync.TechNode)
	for _, k := range keys {
		out[k] = graphsync.TechNode{Key: k, Session: s.Session}
	}
	job := askJob("ask_nodes", nil, sessionParams(s, param("nodes", slices.Sorted(maps.Keys(out)))))
	return out, d.query(ctx, job, func(r *row) error {
		n := nodeOf(r, s.Session)
		out[n.Key] = n
		return nil
	})
}

// sighting is an entity as its step knew it after a row that it was seen in: after the last one, as
// the columns of graph_biz_nodes have it, or after an earlier one, as the column sightings has it.
type sighting struct {
	EventID     string  `json:"event_id"`
	EvaluatedAt int64   `json:"evaluated_at"` // microseconds
	Confidence  float64 `json:"confidence"`
	ArtifactURI string  `json:"artifact_uri"`
	Source      string  `json:"source"`
	// Norm, Attributes and Echoes are texts in JSON, empty for none.
	Norm       string `json:"norm"`
	Attributes string `json:"attributes"`
	Echoes     string `json:"echoes"`
}

// entityOf returns what a step had seen by a time, of a row with the columns of graph_biz_nodes, in
// which JSON is text. The column earlier has the last sighting that was no later than that time,
// where it is not the last of all; without one the last of all stands.
func entityOf(r *row, at time.Time) entity.Entity {
	s := sighting{
		EventID: r.text("event_id"), EvaluatedAt: r.time("evaluated_at").UnixMicro(), Confidence: r.float("confidence"),
		ArtifactURI: r.text("artifact_uri"), Source: r.text("source"),
		Norm: r.text("norm"), Attributes: r.text("attributes"), Echoes: r.text("echoes"),
	}
	decode := func(column, text string, into any) {
		if text == "" {
			return
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			r.failed(fmt.Errorf("entity %s (%s %q): column %s: %w", r.text("biz_key"), r.text("node_type"), r.text("node_value"), column, err))
		}
	}
	if s.EvaluatedAt > at.UnixMicro() {
		var earlier []sighting // one or none
		decode("sightings", r.text("earlier"), &earlier)
		if len(earlier) > 0 {
			s = earlier[0]
		}
	}
	e := entity.Entity{
		Type: r.text("node_type"), Value: r.text("node_value"), ArtifactURI: s.ArtifactURI,
		Confidence: s.Confidence, Source: entity.Source(s.Source), EventID: s.EventID,
		TechNode: r.text("node_key"), SpanID: r.text("span_id"), SeenAt: time.UnixMicro(s.EvaluatedAt).UTC(),
	}
	decode("norm", s.Norm, &e.Norm)
	decode("echoes", s.Echoes, &e.Echoes)
	decode("attributes", s.Attributes, &e.Attributes)
	return e
}

// inTime orders sightings by time, and those of one time always in the same way.
func inTime(a, b entity.Entity) int {
	return cmp.Or(a.SeenAt.Compare(b.SeenAt), cmp.Compare(a.EventID, b.EventID), cmp.Compare(a.TechNode, b.TechNode),
		cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Source, b.Source))
}
