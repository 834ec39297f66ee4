// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Events returns all rows of a session that are stored, in order.
func (j *Journal) Events(ctx context.Context, s record.Session) ([]record.Event, error) {
	return store.Events(ctx, j, s)
}

// Count returns the number of stored rows of all sessions.
func (j *Journal) Count(ctx context.Context) (int64, error) {
	return get(ctx, j, "count rows", func(conn *sqlite.Conn) (n int64, err error) {
		err = queryRow(conn, "SELECT count(*) FROM agent_events", func(stmt *sqlite.Stmt) { n = stmt.ColumnInt64(0) })
		return n, err
	})
}

// Read runs fn on a reading connection.
func (j *Journal) Read(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return j.read(ctx, "read", fn)
}
