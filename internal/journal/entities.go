// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// AddEntities stores entities that a model found in rows of s, with the links from the spans that
// evaluated them, all of them or nothing. They are durable when it returns nil. All must be of
// [entity.SourceModel] and name their row and the key of its span; the span need not be published
// yet. They survive later calls of Publish.
//
// An entity is known by its span, type and value. An entity that a model has found before is
// replaced, so the same call may be made again. An exact entity stays as it is, and takes the place
// of a model's when it is published. An entity without its row in the journal is left out: no graph
// would ever show it, and retention would never remove it.
func (j *Journal) AddEntities(ctx context.Context, s record.Session, es []entity.Entity) error {
	found, err := encodeFound(es)
	if err == nil && len(found) > 0 {
		err = j.w.do(ctx, func(conn *sqlite.Conn) error {
			p := publication{entities: found}
			p.Session, p.At = s, j.w.now()
			return p.addEntities(conn)
		})
	}
	if err != nil {
		return fmt.Errorf("journal: add entities to session %s: %w", s.ID, err)
	}
	return nil
}

// encodeFound checks what a model found. The rows lack the trace, which stands in the
// journal.
func encodeFound(es []entity.Entity) ([]entityRow, error) {
	found := make([]entityRow, 0, len(es))
	position := make(map[string]int)
	for _, e := range es {
		if err := e.Validate(); err != nil {
			return nil, err
		}
		switch {
		case e.Source != entity.SourceModel:
			return nil, fmt.Errorf("entity %s %q has the source %q: only those of source %q can be added", e.Type, e.Value, e.Source, entity.SourceModel)
		case e.TechNode == "" || e.EventID == "":
			return nil, fmt.Errorf("entity %s %q names span %q and row %q: both are needed", e.Type, e.Value, e.TechNode, e.EventID)
		}
		row, err := encodeEntity(e, "", position[e.EventID])
		if err != nil {
			return nil, fmt.Errorf("entity %s %q: %w", e.Type, e.Value, err)
		}
		found = append(found, row)
		position[e.EventID]++
	}
	return found, nil
}

// addEntities stores the entities of p beside those that are stored, inside the
// transaction of the writer.
func (p *publication) addEntities(conn *sqlite.Conn) error {
	for i := range p.entities {
		e := &p.entities[i]
		recorded := false
		err := query(conn, selectTraceSQL, func(b *binder) {
			b.text(e.EventID)
			b.session(p.Session)
		}, func(stmt *sqlite.Stmt) error {
			recorded = true
			e.traceID = stmt.ColumnText(0)
			return nil
		})
		if err != nil {
			return err
		}
		keep := false
		err = query(conn, selectEntityDigestSQL, func(b *binder) { b.text(e.TechNode, e.Type, e.Value) }, func(stmt *sqlite.Stmt) error {
			keep = entity.Source(stmt.ColumnText(0)) != entity.SourceModel || stmt.ColumnInt64(1) == e.digest
			return nil
		})
		if err != nil {
			return err
		}
		if !recorded || keep {
			continue
		}
		if err := p.putEntity(conn, e); err != nil {
			return fmt.Errorf("entity %s %q: %w", e.Type, e.Value, err)
		}
	}
	return nil
}
