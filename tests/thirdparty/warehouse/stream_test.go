// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// connect makes the dataset of the server, then streams a journal to it until the test
// ends. The two happen at once outside of tests; the emulator loses its way when views
// are made while rows arrive.
func connect(t *testing.T, server *emulator.Server, j *journal.Journal, change func(*config.BigQuery)) warehouse.Connection {
	t.Helper()
	cfg := server.Config()
	if change != nil {
		change(&cfg)
	}
	options := bigquery.DatasetOptions{Client: server.RESTOptions(), Write: server.WriteOptions(), BatchAge: 20 * time.Millisecond,
		AckTimeout: 10 * time.Minute, // a slow machine is no stream that answers nothing
	}
	d, err := bigquery.NewDataset(t.Context(), cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Init(t.Context(), bigquery.InitOptions{Quick: true}); err != nil {
		t.Fatal(err)
	}
	cfg.Init = new(false)
	c, err := bigquery.With(options)(t.Context(), cfg.WithDefaults(), warehouse.Host{Journal: j, Sessions: graphsync.NewSessions(j, nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func openJournal(t *testing.T) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: filepath.Join(t.TempDir(), "journal.db")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close(context.Background()) })
	return j
}

// step is row n of a journal: ten rows a run, two runs a session.
func step(n int) record.Event {
	run := n / 10
	return record.Event{
		Timestamp: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMicro() + int64(n), EventID: fmt.Sprintf("%032x", n),
		EventType: record.ToolCompleted, Agent: "planner", SessionID: fmt.Sprint("s", run/2), UserID: "alice", AppName: "shop",
		InvocationID: fmt.Sprint("i", run), TraceID: fmt.Sprintf("%032x", run), SpanID: fmt.Sprintf("%016x", n), Status: record.StatusOK,
		Content:    fmt.Appendf(nil, `{"tool":"search","result":{"n":%d,"text":"käse, 東京"},"tool_origin":"LOCAL"}`, n),
		Attributes: []byte(`{"adk":{"schema_version":"1","app_name":"shop"}}`), LatencyMS: []byte(`{"total_ms":12}`),
		RunID: fmt.Sprintf("run%d", run), RunSeq: int64(n%10) + 1,
	}
}

// A journal gets to the dataset whole, through the real clients.
func TestStreamOfAJournal(t *testing.T) {
	rows := testsize.Rounds(t, 2_000, 100_000)
	server, j := emulator.Start(t), openJournal(t)
	c := connect(t, server, j, func(c *config.BigQuery) { c.Graph.Sync = new(false) })
	for n := range rows {
		if !j.Append(step(n)) {
			t.Fatalf("row %d was refused", n)
		}
		if n%10_000 == 0 {
			if err := j.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatalf("%v: %+v", err, c.Status())
	}
	if s := c.Status(); s.Acknowledged != uint64(rows) || s.DeadLetters != 0 || s.LastError != nil {
		t.Errorf("%+v", s)
	}
	got := table(t, server, `SELECT COUNT(*), COUNT(DISTINCT event_id), COUNT(DISTINCT session_id),
  SUM(CAST(JSON_VALUE(content, '$.result.n') AS INT64)), COUNTIF(JSON_VALUE(content, '$.result.text') = 'käse, 東京'),
  SUM(CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64)), COUNT(DISTINCT JSON_VALUE(attributes, '$.adk.run_id')) FROM agents.agent_events`)
	want := [][]bq.Value{{int64(rows), int64(rows), int64(rows / 20), int64(rows * (rows - 1) / 2), int64(rows), int64(rows / 10 * 55), int64(rows / 10)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func table(t *testing.T, s *emulator.Server, query string) (out [][]bq.Value) {
	t.Helper()
	client, err := bq.NewClient(t.Context(), emulator.Project, s.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	rows, err := client.Query(query).Read(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for {
		var row []bq.Value
		switch err := rows.Next(&row); {
		case errors.Is(err, iterator.Done):
			return out
		case err != nil:
			t.Fatalf("%s: %v", query, err)
		}
		out = append(out, row)
	}
}
