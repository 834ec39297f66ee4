// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A session that cannot be extracted from keeps no other from it, and is not tried again
// before it has a new row.
func TestFollowerGoesOnBehindAFailure(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	row := func(session, content, child string) {
		t.Helper()
		e := record.Event{
			EventID: fmt.Sprint(session, content), EventType: record.ToolCompleted, Status: record.StatusOK, Timestamp: 1,
			AppName: "a", UserID: "u", SessionID: session, RunID: "r", RunSeq: 1, Content: []byte(content),
		}
		if child != "" {
			e.Attributes = fmt.Appendf(nil, `{"adk":{"child_session":{"app_name":"a","user_id":"u","session_id":%q}}}`, child)
		}
		if !j.Append(e) {
			t.Fatal("the row was refused")
		}
	}
	// Two agents cannot run inside of each other, so this record is a forged one.
	row("good", `{"tool":"t","result":{}}`, "")
	row("bad", `{"tool":"t","result":{}}`, "worse")
	row("worse", `{"tool":"t","result":{}}`, "bad")
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &Follower{journal: j, of: graphsync.NewEvidence(j.Evidence(), nil)}
	if err := f.extract(t.Context()); err == nil {
		t.Error("sessions that name each other are extracted from without an error")
	}
	var p graphsync.Progress
	err = j.Evidence().View(t.Context(), record.Session{App: "a", User: "u", ID: "good"}, func(r graphsync.EvidenceReader) (err error) {
		p, err = r.Progress()
		return err
	})
	if err != nil || p.Rows != 1 {
		t.Errorf("%d rows of the other session were extracted from, %v, want one", p.Rows, err)
	}
	if err := f.extract(t.Context()); err != nil {
		t.Errorf("the next round tries again what failed: %v", err)
	}
}
