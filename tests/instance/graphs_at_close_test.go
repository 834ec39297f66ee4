// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package instance_test

import (
	"fmt"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// A program that ends right after it asked leaves the graphs of what it asked for.
func TestGraphsArePublishedByClose(t *testing.T) {
	h := cgtest.New(t)
	const sessions = 4 // the follower pauses after the first
	for i := range sessions {
		h.Ask(fmt.Sprint("s", i))
	}
	if err := h.CG.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(h.Path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got := make(map[string]int64)
	err = sqlitex.ExecuteTransient(conn, `SELECT session_id, count(*) FROM extracted_biz_nodes GROUP BY session_id`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			got[stmt.ColumnText(0)] = stmt.ColumnInt64(1)
			return nil
		},
	})
	if err != nil || len(got) != sessions {
		t.Errorf("entities by session %v, error %v, want some of each of the %d", got, err, sessions)
	}
}
