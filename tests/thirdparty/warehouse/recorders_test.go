// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A session that ran on two hosts: what the rows of both say stays when the journal of
// one of them, which has a part, is brought again. That journal only sets back where its
// own steps stand in the order of the session, and says again what it answered to the
// other host; the next sync from the dataset puts that right.
func TestSyncOfOneHostAfterThatOfAll(t *testing.T) {
	d := newSynced(t)
	rows := conversation()
	var journals []*journal.Journal
	for _, part := range [][]record.Event{rows[:10], rows[10:]} {
		j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: t.TempDir() + "/journal.db"}})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close(t.Context())
		for _, e := range part {
			e.Seq = 0
			j.Append(e)
		}
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		journals = append(journals, j)
	}
	bring := func(j *journal.Journal, minute int) warehouse.SessionGraph {
		t.Helper()
		g, _, err := graphsync.NewSyncer(j, nil).Sync(t.Context(), syncedSession)
		if err != nil {
			t.Fatal(err)
		}
		sg, err := warehouse.NewSessionGraph(syncedSession, g, options(j.ID(), minute))
		if err != nil {
			t.Fatal(err)
		}
		d.sync(sg)
		return sg
	}
	bring(journals[0], 1)
	second := bring(journals[1], 2)
	d.sync(graphOf(t, rows, options(warehouse.RecorderDataset, 3)))
	whole := d.graph("created_at", "updated_at", "recorder")
	without := []string{"created_at", "updated_at", "recorder", "position", "requests"}
	placed := d.table(warehouse.TechNodes, "node_key", without...)
	request, answer := graphsync.TechNodeKey(syncedSession, "trace-r1", "hitl"), graphsync.TechNodeKey(syncedSession, "trace-r2", "root2")
	across := warehouse.EdgeKey(request, graphsync.Resumes, answer)
	if _, there := whole["edges"][across]; !there {
		t.Fatal("the rows of both made no edge between the hosts")
	}

	answered := func() bool {
		row := d.table(warehouse.TechNodes, "node_key")[request]
		return strings.Contains(row, `"asked_at":"2026-03-04T10:00:10`) && strings.Contains(row, `"answered_at":"2026-03-04T10:00:11`)
	}
	if !answered() {
		t.Error("the request of one host lacks the answer of the other")
	}

	bring(journals[0], 4)
	if !answered() {
		t.Error("the journal that has the request alone took the answer back")
	}
	if diff := cmp.Diff(whole, d.graph("created_at", "updated_at", "recorder")); diff != "" {
		t.Errorf("the host that began changed what both said:\n%s", diff)
	}

	bring(journals[1], 5)
	after := d.graph("created_at", "updated_at", "recorder")
	for table, all := range whole {
		if table == "nodes" {
			continue
		}
		for key, row := range all {
			if after[table][key] != row {
				t.Errorf("%s %s became %q", table, key, after[table][key])
			}
		}
	}
	if diff := cmp.Diff(placed, d.table(warehouse.TechNodes, "node_key", without...)); diff != "" {
		t.Errorf("more of the steps changed than their order:\n%s", diff)
	}
	own := make(map[string]bool)
	for _, n := range second.Nodes {
		own[n.NodeKey] = true
	}
	for key, row := range whole["nodes"] {
		if !own[key] && after["nodes"][key] != row {
			t.Errorf("a step of the other host became %s", after["nodes"][key])
		}
	}

	d.sync(graphOf(t, rows, options(warehouse.RecorderDataset, 6)))
	if diff := cmp.Diff(whole, d.graph("created_at", "updated_at", "recorder")); diff != "" {
		t.Errorf("after the next sync from the dataset:\n%s", diff)
	}
}
