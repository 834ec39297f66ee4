// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"errors"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Mark names a state of what a [Follower] has stored of a session. The zero Mark names
// none.
type Mark uint64

// ErrMoved is returned by [Follower.PublishChange] when the mark does not hold any more.
var ErrMoved = errors.New("the session was written to by somebody else")

// Change is what differs between two publications of a session, of which the second was
// made from the rows of the first and from later ones.
type Change struct {
	Session  schema.Session
	Nodes    []PlacedNode
	Edges    []Edge // which the first does not have
	Entities []PlacedEntity
	Receipt  Receipt
	At       time.Time
}

// PlacedNode is a node with its index in the whole publication.
type PlacedNode struct {
	TechNode
	Position int
}

// PlacedEntity is an entity with the trace of its node, and with its place among the
// entities of the whole publication that have the same event.
type PlacedEntity struct {
	entity.Entity
	TraceID  string
	Position int
}

// Follower is a Store that knows whether anybody wrote to it in between, so that what is
// known of a session need not be read again. A mark of a session holds as long as its
// rows are only added to, each with a greater number than those before, and its graph is
// not written to.
type Follower interface {
	Store
	// Follow flushes, as Flush does, and returns a mark of the session as it is now.
	Follow(ctx context.Context, s schema.Session) (Mark, error)
	// EventsAfter returns the rows of a session with greater numbers than seq.
	EventsAfter(ctx context.Context, s schema.Session, seq int64) ([]schema.Event, error)
	// PublishSince stores p, as Publish does. When the mark held until then, and exactly
	// p is stored, beside entities that p does not have, it returns a new one.
	PublishSince(ctx context.Context, p Publication, since Mark) (Mark, error)
	// PublishChange stores c, all of it or nothing, if the mark holds, and returns a new
	// one. If not, the error is ErrMoved.
	PublishChange(ctx context.Context, c Change, since Mark) (Mark, error)
}

// flush is the barrier of a sync that reads everything.
func (s *Syncer) flush(ctx context.Context, session schema.Session) (Mark, error) {
	if f, ok := s.store.(Follower); ok {
		return f.Follow(ctx, session)
	}
	return 0, s.store.Flush(ctx)
}

func (s *Syncer) publish(ctx context.Context, p Publication, since Mark) (Mark, error) {
	if f, ok := s.store.(Follower); ok {
		return f.PublishSince(ctx, p, since)
	}
	return 0, s.store.Publish(ctx, p)
}

// followed is what is known of a session at a mark. It does not change.
type followed struct {
	mark    Mark
	receipt Receipt
	// graph is of what was found in the rows, without their payloads; places are those of
	// its entities, as in [PlacedEntity].
	graph  *Graph
	places []int
	// model are the stored entities that only a model found.
	model []entity.Entity
}

// remembered returns what is to be known of a session after a publication; nil if the
// next sync has to read everything again.
func remembered(mark Mark, g *Graph, r Receipt, stored []entity.Entity) *followed {
	if mark == 0 || !g.numbered() {
		return nil
	}
	beyond := g.beyond(stored)
	for _, e := range beyond {
		if e.Source != entity.SourceModel {
			// It was kept because its row could not be read. What becomes of it depends
			// on more than the new rows.
			return nil
		}
	}
	return &followed{mark: mark, receipt: r, graph: g.lean(), places: g.places(), model: beyond}
}

// numbered reports whether each row has an id, and a number greater than those before.
func (g *Graph) numbered() bool { return inSequence(g.rows, 0) }

func inSequence(rows []*schema.Event, after int64) bool {
	for _, e := range rows {
		if e.EventID == "" || e.Seq <= after {
			return false
		}
		after = e.Seq
	}
	return true
}

// places returns for each entity how many earlier ones have its event.
func (g *Graph) places() []int {
	out := make([]int, len(g.entities))
	next := make(map[string]int, len(g.rows))
	for i := range g.entities {
		id := g.entities[i].EventID
		out[i] = next[id]
		next[id]++
	}
	return out
}

// follow brings a session up to date from what is known of it. It reports false when
// everything has to be read.
func (s *Syncer) follow(ctx context.Context, session schema.Session) (*Graph, Receipt, bool, error) {
	last := s.sessions.take(session)
	store, ok := s.store.(Follower)
	if last == nil || !ok {
		return nil, Receipt{}, false, nil
	}
	if err := store.Flush(ctx); err != nil {
		return nil, Receipt{}, false, err
	}
	rows, err := store.EventsAfter(ctx, session, last.receipt.Watermark)
	if err != nil {
		return nil, Receipt{}, false, err
	}
	next, change, ok := last.extend(s.extract, session, rows)
	if !ok {
		return nil, Receipt{}, false, nil
	}
	switch next.mark, err = store.PublishChange(ctx, change, last.mark); {
	case errors.Is(err, ErrMoved):
		return nil, Receipt{}, false, nil
	case err != nil:
		return nil, Receipt{}, false, err
	}
	s.sessions.put(session, next)
	return next.graph.withStored(nil, next.model), next.receipt, true, nil
}

// extend adds rows. It reports false when they are not what follows.
func (f *followed) extend(x *Extractor, session schema.Session, rows []schema.Event) (*followed, Change, bool) {
	added := inOrder(rows)
	if len(added) != len(rows) || !inSequence(added, f.receipt.Watermark) {
		return nil, Change{}, false
	}
	for _, e := range added {
		if _, known := f.graph.position[e.EventID]; known {
			return nil, Change{}, false
		}
	}
	found := x.Extract(rows)
	g, more := f.graph.extend(added, found.Entities)
	edges, ok := g.newEdges(f.graph)
	if !ok {
		return nil, Change{}, false
	}
	copy(g.rows[len(f.graph.rows):], leanRows(added))
	next := &followed{receipt: f.receipt.plus(found.receipt(x.Version())), graph: g, places: g.places()}
	change := Change{Session: session, Edges: edges, Receipt: next.receipt, At: time.Now().UTC()}
	for _, n := range more.nodes {
		change.Nodes = append(change.Nodes, PlacedNode{g.nodes[n], n})
	}
	for i := range g.entities {
		if len(more.entities) > 0 && more.entities[0] == i {
			more.entities = more.entities[1:]
		} else if next.places[i] == f.places[i] {
			continue
		}
		e := g.entities[i]
		change.Entities = append(change.Entities, PlacedEntity{e, g.nodes[g.index[e.TechNode]].TraceID, next.places[i]})
	}
	for _, e := range f.model {
		if !g.sees(e) { // what is found takes the place of what a model found
			next.model = append(next.model, e)
		}
	}
	return next, change, true
}

// plus returns the receipt of an extraction from the rows of both.
func (r Receipt) plus(later Receipt) Receipt {
	later.Watermark = max(r.Watermark, later.Watermark)
	later.RowsRead += r.RowsRead
	later.Failed += r.Failed
	later.Truncated += r.Truncated
	errs := append(r.Errors[:len(r.Errors):len(r.Errors)], later.Errors...)
	later.Errors = errs[:min(len(errs), maxReceiptErrors)]
	return later
}
