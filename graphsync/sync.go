// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Receipt describes the rows of an extraction.
type Receipt struct {
	// Watermark is the journal number of the last row read.
	Watermark int64
	// RowsRead counts the rows, Failed those that gave nothing because of an error,
	// Truncated those that were read although some of their content is lost.
	RowsRead  int
	Failed    int
	Truncated int
	// Version is the digest of the rules.
	Version string
	// Errors are the first few errors, for people.
	Errors []string
}

// maxReceiptErrors bounds Receipt.Errors: the count is in Failed.
const maxReceiptErrors = 10

// Publication is the content of one transaction of a store: all nodes and edges of a session, and
// the entities of the rows that could be read.
type Publication struct {
	Session  record.Session
	Nodes    []TechNode
	Edges    []Edge
	Entities []entity.Entity
	// Extracted are the ids of the events that were read without an error. Failed are the keys of
	// the nodes with an event that could not be read, each once. A stored entity that is not in
	// Entities is out of date if its event is in Extracted and its node is not in Failed, except
	// one of source model. All others must be kept: an entity is stored with its last event, so the
	// event that could not be read may have given it as well.
	Extracted []string
	Failed    []string
	Receipt   Receipt
	// At is the time of the extraction, UTC.
	At time.Time
}

// Store is the part of a journal that a [Syncer] uses.
type Store interface {
	// Flush returns when every row recorded before is stored.
	Flush(ctx context.Context) error
	// Events returns the rows of a session.
	Events(ctx context.Context, s record.Session) ([]record.Event, error)
	// Entities returns the stored entities of a session, from all sources.
	Entities(ctx context.Context, s record.Session) ([]entity.Entity, error)
	// Publish stores p, all of it or nothing.
	Publish(ctx context.Context, p Publication) error
}

// Syncer brings the stored graph of a session up to date. It is safe for
// concurrent use; calls for one session run one after another, so that an older
// view of the rows never replaces a newer one.
type Syncer struct {
	store   Store
	extract *Extractor

	busy busy
}

// NewSyncer returns a Syncer. A nil Extractor finds declared entities only.
func NewSyncer(store Store, x *Extractor) *Syncer {
	return &Syncer{store: store, extract: x}
}

// Sync flushes the store, extracts the entities of a session, publishes them with the graph, and
// returns the graph of all stored entities. These include entities that a model found, and entities
// kept from rows that cannot be read now. Rows that could not be read are no error: the receipt
// counts them. Sync reads the whole session.
func (s *Syncer) Sync(ctx context.Context, session record.Session) (*Graph, Receipt, error) {
	release, err := s.busy.acquire(ctx, session)
	if err != nil {
		return nil, Receipt{}, fmt.Errorf("sync session %s: %w", session.ID, err)
	}
	defer release()

	g, receipt, err := s.sync(ctx, session)
	if err != nil {
		return nil, Receipt{}, fmt.Errorf("sync session %s: %w", session.ID, err)
	}
	return g, receipt, nil
}

// sync reads all rows.
func (s *Syncer) sync(ctx context.Context, session record.Session) (*Graph, Receipt, error) {
	if err := s.store.Flush(ctx); err != nil {
		return nil, Receipt{}, fmt.Errorf("flush: %w", err)
	}
	rows, err := s.store.Events(ctx, session)
	if err != nil {
		return nil, Receipt{}, fmt.Errorf("read events: %w", err)
	}
	found := s.extract.Extract(rows)
	g := Build(rows, found.Entities)
	receipt := found.receipt(s.extract.Version())
	err = s.store.Publish(ctx, Publication{
		Session: session, Nodes: g.nodes, Edges: g.edges, Entities: g.entities,
		Extracted: found.Extracted, Failed: found.failedNodes(), Receipt: receipt, At: time.Now().UTC(),
	})
	if err != nil {
		return nil, Receipt{}, fmt.Errorf("publish: %w", err)
	}
	stored, err := s.store.Entities(ctx, session)
	if err != nil {
		return nil, Receipt{}, fmt.Errorf("read entities: %w", err)
	}
	return g.withStored(found.Failed, stored), receipt, nil
}

// failedNodes returns the nodes with a row that failed, each once.
func (x *Extraction) failedNodes() []string {
	var out []string
	seen := make(map[string]bool)
	for i := range x.Failed {
		if node := x.Failed[i].TechNode; !seen[node] {
			seen[node] = true
			out = append(out, node)
		}
	}
	return out
}

func (x *Extraction) receipt(version string) Receipt {
	r := Receipt{
		Watermark: x.Watermark, RowsRead: x.RowsRead, Failed: len(x.Failed), Truncated: x.Truncated, Version: version,
	}
	for i := range x.Failed[:min(len(x.Failed), maxReceiptErrors)] {
		r.Errors = append(r.Errors, x.Failed[i].Error())
	}
	return r
}
