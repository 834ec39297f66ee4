// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/record"
)

// OpenRequests returns the sessions with a request for an approval that may still be answered at the time
// now, at most limit of them. The one that expires first comes first.
func (j *Journal) OpenRequests(ctx context.Context, now time.Time, limit int) ([]record.Session, error) {
	var list []record.Session
	err := j.read(ctx, "list open requests", func(conn *sqlite.Conn) error {
		return query(conn, selectOpenRequestsSQL, func(b *binder) {
			b.time(now)
			b.integer(int64(max(limit, 0)))
		}, func(stmt *sqlite.Stmt) error {
			list = append(list, record.Session{App: stmt.ColumnText(0), User: stmt.ColumnText(1), ID: stmt.ColumnText(2)})
			return nil
		})
	})
	return list, err
}
