// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// An import that is repeated stores nothing twice, also of more rows than one transaction has.
func TestImport(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(t), OnFull: config.Block}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	rows := make([]record.Event, 2500)
	for i := range rows {
		rows[i] = record.Event{
			Timestamp: int64(i + 1), EventID: fmt.Sprintf("%032x", i), EventType: record.UserMessageReceived, Status: record.StatusOK,
			AppName: "shop", UserID: "alice", SessionID: "s1", RunID: "r", RunSeq: int64(i + 1),
		}
	}
	for range 2 {
		if err := j.Import(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if s := j.Stats(); s.Stored != 2500 || s.Duplicates != 2500 {
		t.Errorf("%d rows stored, %d duplicates", s.Stored, s.Duplicates)
	}
}
