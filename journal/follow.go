// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// maxMarks is the number of sessions that can have a mark.
const maxMarks = 4096

// marks are the marks that hold. The goroutine of the writer owns them and looks at them
// inside of transactions only. A mark that is not there does not hold: what is forgotten,
// or dropped in a transaction that is rolled back, costs a reading and nothing else.
//
// Rows are numbered in the transaction that stores them, of which there is one at a time,
// and are never changed. So what this journal can do to a session beside adding rows
// after all others is to publish, to add entities and to remove. Each of them drops the
// mark. What anybody else does to the file shows in a number that SQLite keeps for the
// connection; then no mark holds.
type marks struct {
	seen int64 // the number, when the marks were last looked at
	last graphsync.Mark
	of   *simplelru.LRU[schema.Session, graphsync.Mark]
}

func newMarks() *marks {
	// Only a size that is not positive is an error. Marks begin anywhere, so that one of
	// another Journal is none of these.
	of, _ := simplelru.NewLRU[schema.Session, graphsync.Mark](maxMarks, nil)
	return &marks{of: of, last: graphsync.Mark(rand.Uint64())}
}

// check forgets all marks when another connection has written to the file. It has to be
// called in the transaction of the writer, during which none can.
func (m *marks) check(conn *sqlite.Conn) error {
	return query(conn, "PRAGMA data_version", func(*binder) {}, func(stmt *sqlite.Stmt) error {
		if version := stmt.ColumnInt64(0); version != m.seen {
			m.of.Purge()
			m.seen = version
		}
		return nil
	})
}

// holds reports whether mark is the one of s, after check.
func (m *marks) holds(s schema.Session, mark graphsync.Mark) bool {
	now, ok := m.of.Get(s)
	return ok && now == mark
}

// renew gives s a mark that it never had.
func (m *marks) renew(s schema.Session) graphsync.Mark {
	for m.last++; m.last == 0; m.last++ {
	}
	m.of.Add(s, m.last)
	return m.last
}

func (m *marks) drop(s schema.Session) { m.of.Remove(s) }

// Follow is [Journal.Flush]. It returns a mark, which holds as long as rows are added to
// s, by this Journal, and nothing else happens to it: no graph of it is published, no
// entity added, nothing removed, and nobody else writes to the file, to any session.
func (j *Journal) Follow(ctx context.Context, s schema.Session) (graphsync.Mark, error) {
	var mark graphsync.Mark // the writer may still set it when ctx has ended
	err := j.w.do(ctx, func(conn *sqlite.Conn) error {
		if err := j.w.marks.check(conn); err != nil {
			return err
		}
		now, ok := j.w.marks.of.Get(s)
		if !ok {
			now = j.w.marks.renew(s)
		}
		mark = now
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("journal: follow session %s: %w", s.ID, err)
	}
	return mark, nil
}

// PublishSince is [Journal.Publish]. If since held until then, and p was stored as it is,
// it returns a new mark, else 0.
func (j *Journal) PublishSince(ctx context.Context, p graphsync.Publication, since graphsync.Mark) (graphsync.Mark, error) {
	var mark graphsync.Mark // the writer may still set it when ctx has ended
	pub, err := encodePublication(p)
	if err == nil {
		err = j.w.do(ctx, func(conn *sqlite.Conn) error {
			if err := j.w.marks.check(conn); err != nil {
				return err
			}
			held := j.w.marks.holds(p.Session, since)
			j.w.marks.drop(p.Session)
			if err := pub.store(conn); err != nil || !held || !pub.exact {
				return err
			}
			mark = j.w.marks.renew(p.Session)
			return nil
		})
	}
	if err != nil {
		return 0, fmt.Errorf("journal: publish graph of session %s: %w", p.Session.ID, err)
	}
	return mark, nil
}

// PublishChange stores c, all of it or nothing, and is durable when it returns nil. When
// since does not hold it changes nothing and returns [graphsync.ErrMoved].
func (j *Journal) PublishChange(ctx context.Context, c graphsync.Change, since graphsync.Mark) (graphsync.Mark, error) {
	var mark graphsync.Mark // the writer may still set it when ctx has ended
	pub, err := encodeChange(c)
	if err == nil {
		err = j.w.do(ctx, func(conn *sqlite.Conn) error {
			if err := j.w.marks.check(conn); err != nil {
				return err
			}
			if !j.w.marks.holds(c.Session, since) {
				return graphsync.ErrMoved
			}
			if err := pub.storeChange(conn); err != nil {
				return err
			}
			mark = j.w.marks.renew(c.Session)
			return nil
		})
	}
	if err != nil {
		return 0, fmt.Errorf("journal: publish what changed in session %s: %w", c.Session.ID, err)
	}
	return mark, nil
}

// encodeChange brings a change into the form of a publication that has nothing else.
func encodeChange(c graphsync.Change) (*publication, error) {
	pub := &publication{edges: slices.Clone(c.Edges)}
	pub.Session, pub.Receipt, pub.At = c.Session, c.Receipt, c.At
	for _, n := range c.Nodes {
		if n.Session != c.Session {
			return nil, fmt.Errorf("node %s belongs to session %s", n.Key, n.Session.ID)
		}
		pub.nodes = append(pub.nodes, encodeNode(n.TechNode, n.Position))
	}
	for _, e := range c.Entities {
		if err := e.Validate(); err != nil {
			return nil, err
		}
		row, err := encodeEntity(e.Entity, e.TraceID, e.Position)
		if err != nil {
			return nil, fmt.Errorf("entity %s %q: %w", e.Type, e.Value, err)
		}
		pub.entities = append(pub.entities, row)
	}
	var err error
	pub.errors, err = json.Marshal(c.Receipt.Errors)
	return pub, err
}

// storeChange stores all that p has, inside the transaction of the writer.
func (p *publication) storeChange(conn *sqlite.Conn) error {
	for i := range p.nodes {
		if err := p.nodes[i].put(conn); err != nil {
			return fmt.Errorf("node %s: %w", p.nodes[i].Key, err)
		}
	}
	for _, e := range p.edges {
		if err := p.putEdge(conn, e); err != nil {
			return err
		}
	}
	for i := range p.entities {
		if err := p.putEntity(conn, &p.entities[i]); err != nil {
			return fmt.Errorf("entity %s %q: %w", p.entities[i].Type, p.entities[i].Value, err)
		}
	}
	return p.storeReceipt(conn)
}
