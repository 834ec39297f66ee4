// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/offload"
	"github.com/adk-contextgraph/contextgraph/record"
)

// behind is a store that takes no part before rows are stored.
type behind struct{ rows <-chan struct{} }

func (s behind) Create(ctx context.Context, _, _ string, _ []byte) error {
	select {
	case <-s.rows:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (behind) URI(name string) string { return "test:" + name }
func (behind) Close() error           { return nil }

// A store of parts that hangs keeps no row from the disk.
func TestFlushBringsRowsToDiskBesideAStoreThatHangs(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(t), CommitInterval: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	rows := make(chan struct{}, 1)
	defer j.Outbox("test").Changed(rows)()
	parts := offload.New(offload.Config{Store: behind{rows}, QueueBytes: 1 << 20})
	in := &Instance{store: j, parts: parts, closed: make(chan struct{})}
	defer func() {
		if err := in.shut(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if _, ok := parts.Put("2026-07-31/t/p", "text/plain", []byte("part")); !ok {
		t.Fatal("the part was refused")
	}
	if !j.Append(record.Event{EventID: "e", EventType: record.StateDelta, Status: record.StatusOK}) {
		t.Fatal("the row was refused")
	}
	if err := in.Flush(t.Context()); err != nil {
		t.Errorf("Flush: %v", err)
	}
	if s := j.Stats(); s.Stored != 1 {
		t.Errorf("%d rows on disk, want 1", s.Stored)
	}
}
