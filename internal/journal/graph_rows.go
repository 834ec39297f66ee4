// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// digest condenses the columns of a row, so that an unchanged row is not written again: FNV-1a, in
// which every field ends with its length.
type digest uint64

const newDigest digest = 14695981039346656037

func (d *digest) text(fields ...string) {
	h := *d
	for _, f := range fields {
		for i := range len(f) {
			h = (h ^ digest(f[i])) * 1099511628211
		}
		h.integer(int64(len(f)))
	}
	*d = h
}

func (d *digest) integer(n int64) {
	h := *d
	for range 8 {
		h = (h ^ digest(byte(n))) * 1099511628211
		n >>= 8
	}
	*d = h
}

func (d *digest) real(f float64) { d.integer(int64(math.Float64bits(f))) }

func (d *digest) time(t time.Time) { d.integer(t.UnixMicro()) }

// nodeRow is a node with its place in the publication.
type nodeRow struct {
	graphsync.TechNode
	position int
	digest   int64
}

func encodeNode(n graphsync.TechNode, position int) nodeRow {
	d := newDigest
	d.text(n.ParentSpanID, string(n.Kind), n.Name, n.Agent, n.InvocationID, n.Branch, n.CallID, n.Status, n.ErrorMessage)
	d.time(n.Start)
	d.time(n.End)
	d.real(n.LatencyMS)
	d.text(n.EventTypes...)
	d.text(n.EventIDs...)
	d.integer(int64(len(n.EventTypes)))
	d.integer(int64(position))
	n.EventTypes, n.EventIDs = slices.Clone(n.EventTypes), slices.Clone(n.EventIDs)
	return nodeRow{TechNode: n, position: position, digest: int64(d)}
}

// put stores the node.
func (r *nodeRow) put(conn *sqlite.Conn) error {
	eventTypes, err := json.Marshal(r.EventTypes)
	if err != nil {
		return err
	}
	eventIDs, err := json.Marshal(r.EventIDs)
	if err != nil {
		return err
	}
	return exec(conn, upsertNodeSQL, func(b *binder) {
		b.text(r.Key)
		b.session(r.Session)
		b.text(r.TraceID, r.SpanID)
		b.optional(r.ParentSpanID)
		b.text(string(r.Kind))
		b.optional(r.Name, r.Agent, r.InvocationID, r.Branch, r.CallID)
		b.time(r.Start, r.End)
		b.optional(r.Status, r.ErrorMessage)
		b.real(r.LatencyMS)
		b.json(eventTypes, eventIDs)
		b.integer(int64(r.position), r.digest)
	})
}

// entityKey identifies an entity.
type entityKey struct{ node, typ, value string }

// entityRow is an entity with its typed values as JSON.
type entityRow struct {
	entity.Entity
	bizNodeID, canonicalKey, traceID string
	linkType                         string
	norm, attributes, echoes         []byte
	position                         int
	digest                           int64
}

func encodeEntity(e entity.Entity, traceID string, position int) (entityRow, error) {
	r := entityRow{
		Entity: e, bizNodeID: e.BizNodeID(), canonicalKey: e.CanonicalKey(), traceID: traceID,
		linkType: strings.ToUpper(string(graphsync.LinkOf(e))), position: position,
	}
	var err error
	if !e.Norm.IsZero() {
		if r.norm, err = json.Marshal(e.Norm); err != nil {
			return r, err
		}
	}
	if len(e.Attributes) > 0 {
		if r.attributes, err = json.Marshal(e.Attributes); err != nil {
			return r, err
		}
	}
	if len(e.Echoes) > 0 {
		if r.echoes, err = json.Marshal(e.Echoes); err != nil {
			return r, err
		}
	}
	r.Attributes, r.Echoes = nil, nil // the JSON has them; they belong to the caller
	d := newDigest
	d.text(r.canonicalKey, traceID, string(r.norm), string(r.attributes), e.ArtifactURI, string(e.Source), e.EventID, r.linkType, string(r.echoes))
	d.real(e.Confidence)
	d.time(e.SeenAt)
	d.integer(int64(position))
	r.digest = int64(d)
	return r, nil
}

func (r *entityRow) key() entityKey { return entityKey{r.TechNode, r.Type, r.Value} }

// bind sets the parameters of upsert_entity.sql.
func (r *entityRow) bind(b *binder, p *publication) {
	b.text(r.bizNodeID, r.SpanID, p.Session.ID, r.Type, r.Value)
	b.real(r.Confidence)
	b.optional(r.ArtifactURI)
	b.integer(p.At.UnixMicro())
	b.text(r.TechNode, p.Session.App, p.Session.User)
	b.optional(r.traceID)
	b.text(r.EventID, r.canonicalKey)
	b.json(r.norm, r.attributes)
	b.text(string(r.Source))
	b.time(r.SeenAt)
	b.integer(int64(r.position), r.digest)
	b.json(r.echoes)
}

func scanNode(stmt *sqlite.Stmt, s record.Session) (graphsync.TechNode, error) {
	n := graphsync.TechNode{
		Session:      s,
		Key:          stmt.ColumnText(0),
		TraceID:      stmt.ColumnText(1),
		SpanID:       stmt.ColumnText(2),
		ParentSpanID: stmt.ColumnText(3),
		Kind:         graphsync.NodeKind(stmt.ColumnText(4)),
		Name:         stmt.ColumnText(5),
		Agent:        stmt.ColumnText(6),
		InvocationID: stmt.ColumnText(7),
		Branch:       stmt.ColumnText(8),
		CallID:       stmt.ColumnText(9),
		Start:        columnTime(stmt, 10),
		End:          columnTime(stmt, 11),
		Status:       stmt.ColumnText(12),
		ErrorMessage: stmt.ColumnText(13),
		LatencyMS:    stmt.ColumnFloat(14),
	}
	if err := json.Unmarshal(columnJSON(stmt, 15), &n.EventTypes); err != nil {
		return n, err
	}
	return n, json.Unmarshal(columnJSON(stmt, 16), &n.EventIDs)
}

func scanEdge(stmt *sqlite.Stmt) graphsync.Edge {
	return graphsync.Edge{From: stmt.ColumnText(0), Kind: graphsync.EdgeKind(stmt.ColumnText(1)), To: stmt.ColumnText(2)}
}

func scanEntity(stmt *sqlite.Stmt) (entity.Entity, error) {
	e := entity.Entity{
		Type:        stmt.ColumnText(0),
		Value:       stmt.ColumnText(1),
		ArtifactURI: stmt.ColumnText(4),
		Confidence:  stmt.ColumnFloat(5),
		Source:      entity.Source(stmt.ColumnText(6)),
		EventID:     stmt.ColumnText(7),
		TechNode:    stmt.ColumnText(8),
		SpanID:      stmt.ColumnText(9),
		SeenAt:      columnTime(stmt, 10),
	}
	if !stmt.ColumnIsNull(2) {
		if err := json.Unmarshal(columnJSON(stmt, 2), &e.Norm); err != nil {
			return e, err
		}
	}
	if !stmt.ColumnIsNull(3) {
		if err := json.Unmarshal(columnJSON(stmt, 3), &e.Attributes); err != nil {
			return e, err
		}
	}
	if !stmt.ColumnIsNull(11) {
		if err := json.Unmarshal(columnJSON(stmt, 11), &e.Echoes); err != nil {
			return e, err
		}
	}
	return e, nil
}
