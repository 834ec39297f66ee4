// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The journal is where graphsync keeps its graphs.
var _ graphsync.Store = (*Journal)(nil)

// Nodes returns the published spans of s, in the order of the publication.
func (j *Journal) Nodes(ctx context.Context, s record.Session) ([]graphsync.TechNode, error) {
	return list(ctx, j, "read nodes", selectNodesSQL, s, func(stmt *sqlite.Stmt) (graphsync.TechNode, error) {
		return scanNode(stmt, s)
	})
}

// Edges returns the published edges of s, sorted by From, Kind and To.
func (j *Journal) Edges(ctx context.Context, s record.Session) ([]graphsync.Edge, error) {
	return list(ctx, j, "read edges", selectEdgesSQL, s, func(stmt *sqlite.Stmt) (graphsync.Edge, error) {
		return scanEdge(stmt), nil
	})
}

// Entities returns the published entities of s, from all sources, in the order of
// the rows they were seen in.
func (j *Journal) Entities(ctx context.Context, s record.Session) ([]entity.Entity, error) {
	return list(ctx, j, "read entities", selectEntitiesSQL, s, scanEntity)
}

// LastReceipt returns the receipt of the last publication of s. It reports false
// when nothing was published.
func (j *Journal) LastReceipt(ctx context.Context, s record.Session) (graphsync.Receipt, bool, error) {
	var r graphsync.Receipt
	var found bool
	err := j.read(ctx, "read receipt", func(conn *sqlite.Conn) (err error) {
		r, found, err = getReceipt(conn, s)
		return err
	})
	return r, found, err
}

func getReceipt(conn *sqlite.Conn, s record.Session) (r graphsync.Receipt, found bool, err error) {
	err = query(conn, selectReceiptSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
		found = true
		r = graphsync.Receipt{
			Watermark: stmt.ColumnInt64(0),
			RowsRead:  stmt.ColumnInt(1),
			Failed:    stmt.ColumnInt(2),
			Truncated: stmt.ColumnInt(3),
			Version:   stmt.ColumnText(4),
		}
		return json.Unmarshal(columnJSON(stmt, 5), &r.Errors)
	})
	return r, found, err
}

// list reads rows that belong to a session.
func list[T any](ctx context.Context, j *Journal, what, text string, s record.Session, scan func(*sqlite.Stmt) (T, error)) ([]T, error) {
	var out []T
	err := j.read(ctx, what, func(conn *sqlite.Conn) error {
		return query(conn, text, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
			v, err := scan(stmt)
			if err != nil {
				return fmt.Errorf("session %s: %w", s.ID, err)
			}
			out = append(out, v)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
