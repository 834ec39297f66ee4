// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journaltest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each journal is whole, empty, writable and has an id of its own.
func TestPath(t *testing.T) {
	ids := make(map[string]bool)
	for range 3 {
		path := journaltest.Path(t)
		h, err := journal.Examine(t.Context(), path, true)
		if err != nil || len(h.Damage) > 0 || h.Rows != 0 {
			t.Errorf("%+v, %v, want a sound file without rows", h, err)
		}
		j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
		if err != nil {
			t.Fatal(err)
		}
		ids[j.ID()] = true
		j.Append(record.Event{EventID: "e", EventType: record.UserMessageReceived, Status: record.StatusOK, AppName: "a", UserID: "u", SessionID: "s", RunID: "r", RunSeq: 1})
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := j.Stats().Stored; n != 1 {
			t.Errorf("%d rows stored, want 1", n)
		}
	}
	if len(ids) != 3 {
		t.Errorf("ids %v, want 3", ids)
	}
}
