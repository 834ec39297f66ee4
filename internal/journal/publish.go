// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// Publish stores the graph of a session, all of it or nothing. The graph is durable when Publish
// returns nil. Nodes and edges that p does not have are removed. An entity that p does not have is
// removed if its row is in p.Extracted, its node is not in p.Failed, and no model found it. All
// rows that could have given it were then read, and none gives it any more. A model never replaces
// an exact entity.
//
// A publication from fewer rows than the stored one adds missing parts, and replaces or removes
// nothing. One whose rows were all removed since changes nothing. Only differences from the stored
// graph are written.
func (j *Journal) Publish(ctx context.Context, p graphsync.Publication) error {
	pub, err := encodePublication(p)
	if err == nil {
		err = j.w.do(ctx, pub.store)
	}
	if err != nil {
		return fmt.Errorf("journal: publish graph of session %s: %w", p.Session.ID, err)
	}
	return nil
}

// publication is a graphsync.Publication in the form of the tables. It shares no
// memory with its original, because the writer may still use it when the context
// of the caller has ended.
type publication struct {
	graphsync.Publication // Session, Receipt and At only

	nodes     []nodeRow
	edges     []graphsync.Edge
	entities  []entityRow
	extracted map[string]bool
	failed    map[string]bool
	errors    []byte
}

func encodePublication(p graphsync.Publication) (*publication, error) {
	pub := &publication{edges: slices.Clone(p.Edges), extracted: set(p.Extracted), failed: set(p.Failed)}
	pub.Session, pub.Receipt, pub.At = p.Session, p.Receipt, p.At
	traces := make(map[string]string, len(p.Nodes))
	for i, n := range p.Nodes {
		if n.Session != p.Session {
			return nil, fmt.Errorf("node %s belongs to session %s", n.Key, n.Session.ID)
		}
		pub.nodes = append(pub.nodes, encodeNode(n, i))
		traces[n.Key] = n.TraceID
	}
	position := make(map[string]int)
	for _, e := range p.Entities {
		if err := e.Validate(); err != nil {
			return nil, err
		}
		row, err := encodeEntity(e, traces[e.TechNode], position[e.EventID])
		if err != nil {
			return nil, fmt.Errorf("entity %s %q: %w", e.Type, e.Value, err)
		}
		pub.entities = append(pub.entities, row)
		position[e.EventID]++
	}
	var err error
	pub.errors, err = json.Marshal(p.Receipt.Errors)
	return pub, err
}

func set(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// store runs inside the transaction of the writer.
func (p *publication) store(conn *sqlite.Conn) error {
	stored, found, err := getReceipt(conn, p.Session)
	if err != nil {
		return err
	}
	_, removed, err := removedRows(conn, p.Session)
	if err != nil {
		return err
	}
	if removed > 0 && p.Receipt.Watermark <= removed {
		return nil
	}
	stale := found && stored.Watermark > p.Receipt.Watermark
	for _, part := range []func(*sqlite.Conn, bool) error{p.storeNodes, p.storeEdges, p.storeEntities} {
		if err := part(conn, stale); err != nil {
			return err
		}
	}
	if stale {
		return nil
	}
	return p.storeReceipt(conn)
}

func (p *publication) storeReceipt(conn *sqlite.Conn) error {
	r := p.Receipt
	return exec(conn, upsertReceiptSQL, func(b *binder) {
		b.session(p.Session)
		b.integer(r.Watermark, int64(r.RowsRead), int64(r.Failed), int64(r.Truncated))
		b.text(r.Version)
		b.json(p.errors)
		b.integer(p.At.UnixMicro())
	})
}

func (p *publication) storeNodes(conn *sqlite.Conn, stale bool) error {
	stored := make(map[string]int64, len(p.nodes))
	err := query(conn, selectNodeDigestsSQL, func(b *binder) { b.session(p.Session) }, func(stmt *sqlite.Stmt) error {
		stored[stmt.ColumnText(0)] = stmt.ColumnInt64(1)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		digest, exists := stored[n.Key]
		delete(stored, n.Key)
		if exists && (stale || digest == n.digest) {
			continue
		}
		if err := n.put(conn); err != nil {
			return fmt.Errorf("node %s: %w", n.Key, err)
		}
	}
	if stale {
		return nil
	}
	for key := range stored {
		if err := exec(conn, deleteNodeSQL, func(b *binder) { b.text(key) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *publication) storeEdges(conn *sqlite.Conn, stale bool) error {
	stored := make(map[graphsync.Edge]bool, len(p.edges))
	err := query(conn, selectEdgesSQL, func(b *binder) { b.session(p.Session) }, func(stmt *sqlite.Stmt) error {
		stored[scanEdge(stmt)] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range p.edges {
		if stored[e] {
			delete(stored, e)
			continue
		}
		if err := p.putEdge(conn, e); err != nil {
			return err
		}
	}
	if stale {
		return nil
	}
	for e := range stored {
		err := exec(conn, deleteEdgeSQL, func(b *binder) { b.text(e.From, string(e.Kind), e.To) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *publication) putEdge(conn *sqlite.Conn, e graphsync.Edge) error {
	err := exec(conn, insertEdgeSQL, func(b *binder) {
		b.text(e.From, string(e.Kind), e.To)
		b.session(p.Session)
	})
	if isConstraint(err) {
		return fmt.Errorf("edge %s %s %s leads to or from an unknown node: %w", e.From, e.Kind, e.To, err)
	}
	return err
}

// storedEntity has the fields that decide about a stored entity.
type storedEntity struct {
	id      int64
	digest  int64
	eventID string
	source  entity.Source
}

func (p *publication) storeEntities(conn *sqlite.Conn, stale bool) error {
	stored := make(map[entityKey]storedEntity, len(p.entities))
	err := query(conn, selectEntityDigestsSQL, func(b *binder) { b.session(p.Session) }, func(stmt *sqlite.Stmt) error {
		stored[entityKey{stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnText(3)}] = storedEntity{
			id: stmt.ColumnInt64(0), eventID: stmt.ColumnText(4), source: entity.Source(stmt.ColumnText(5)), digest: stmt.ColumnInt64(6),
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range p.entities {
		e := &p.entities[i]
		old, exists := stored[e.key()]
		delete(stored, e.key())
		weaker := e.Source == entity.SourceModel && old.source != entity.SourceModel
		if exists && (stale || weaker || old.digest == e.digest) {
			continue
		}
		if err := p.putEntity(conn, e); err != nil {
			return fmt.Errorf("entity %s %q: %w", e.Type, e.Value, err)
		}
	}
	if stale {
		return nil
	}
	for key, old := range stored {
		if old.source == entity.SourceModel || !p.extracted[old.eventID] || p.failed[key.node] {
			continue
		}
		if err := exec(conn, deleteEntitySQL, func(b *binder) { b.integer(old.id) }); err != nil {
			return err
		}
	}
	return nil
}

// putEntity stores an entity and the link from the span that evaluated it.
func (p *publication) putEntity(conn *sqlite.Conn, e *entityRow) error {
	var id int64
	err := query(conn, upsertEntitySQL, func(b *binder) { e.bind(b, p) }, func(stmt *sqlite.Stmt) error {
		id = stmt.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return err
	}
	return exec(conn, upsertLinkSQL, func(b *binder) {
		b.integer(id)
		b.text(e.bizNodeID, e.SpanID, p.Session.ID, e.linkType)
		b.optional(e.ArtifactURI)
		b.integer(p.At.UnixMicro())
		b.text(e.TechNode, p.Session.App, p.Session.User)
	})
}
