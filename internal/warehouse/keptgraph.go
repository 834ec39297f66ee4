// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// KeptGraph returns the graph of a session that its rows of session_graphs tell. The nodes are the newest of
// each step. They may come in any order.
func KeptGraph(s record.Session, nodes []NodeRow) (*graphsync.Graph, error) {
	nodes = slices.SortedStableFunc(slices.Values(nodes), func(a, b NodeRow) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), a.StartTime.Compare(b.StartTime), cmp.Compare(a.NodeKey, b.NodeKey))
	})
	steps := make([]graphsync.Kept, len(nodes))
	for i, n := range nodes {
		step := graphsync.Kept{Node: n.node(s), Decided: cmp.Or(n.DecidedAt, n.EndTime, n.StartTime), Approval: n.Approval}
		for _, c := range n.CausedBy {
			step.Causes = append(step.Causes, graphsync.Edge{From: c.FromKey, To: n.NodeKey, Kind: graphsync.EdgeKind(c.Kind)})
		}
		for _, e := range n.Entities {
			known, err := e.known(n)
			if err != nil {
				return nil, fmt.Errorf("warehouse: graph of session %s: step %s: %w", s.ID, n.NodeKey, err)
			}
			step.Seen = append(step.Seen, known)
		}
		steps[i] = step
	}
	return graphsync.KeptGraph(steps), nil
}

// node returns the step that the row tells.
func (r NodeRow) node(s record.Session) graphsync.TechNode {
	return graphsync.TechNode{
		Key: r.NodeKey, Session: s, TraceID: r.TraceID, SpanID: r.SpanID, ParentSpanID: r.ParentSpanID,
		Kind: graphsync.NodeKind(r.Kind), Name: r.Name, Agent: r.Agent, InvocationID: r.InvocationID, Branch: r.Branch, CallID: r.CallID,
		Start: r.StartTime.UTC(), End: cmp.Or(r.EndTime, r.StartTime).UTC(), Status: r.Status, ErrorMessage: r.ErrorMessage, LatencyMS: r.LatencyMS,
		EventTypes: r.EventTypes, EventIDs: r.EventIDs,
	}
}

// known returns what the step of the row knew of the entity, in order.
func (r EntityRow) known(n NodeRow) ([]graphsync.Known, error) {
	last := SightingRow{
		EventID: r.EventID, EvaluatedAt: r.EvaluatedAt, Confidence: r.Confidence, ArtifactURI: r.ArtifactURI, Source: r.Source,
		Norm: string(r.Norm), Attributes: string(r.Attributes), Echoes: string(r.Echoes),
	}
	var out []graphsync.Known
	for _, s := range append(slices.Clone(r.Sightings), last) {
		e := entity.Entity{
			Type: r.NodeType, Value: r.NodeValue, ArtifactURI: s.ArtifactURI, Confidence: s.Confidence, Source: entity.Source(s.Source),
			EventID: s.EventID, TechNode: n.NodeKey, SpanID: n.SpanID, SeenAt: s.EvaluatedAt.UTC(),
		}
		if err := s.decode(&e); err != nil {
			return nil, fmt.Errorf("entity %s (%s %q): %w", r.BizKey, r.NodeType, r.NodeValue, err)
		}
		out = append(out, graphsync.Known{Entity: e, Since: s.EvaluatedAt})
	}
	return out, nil
}

// decode sets what the row holds as JSON.
func (r SightingRow) decode(e *entity.Entity) error {
	for _, column := range []struct {
		name, text string
		into       any
	}{{"norm", r.Norm, &e.Norm}, {"attributes", r.Attributes, &e.Attributes}, {"echoes", r.Echoes, &e.Echoes}} {
		if column.text == "" || column.text == "null" {
			continue
		}
		if err := json.Unmarshal([]byte(column.text), column.into); err != nil {
			return fmt.Errorf("column %s: %w", column.name, err)
		}
	}
	return nil
}
