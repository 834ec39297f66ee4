// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

// shelf is an artifact store in memory. It takes nothing when it is full.
type shelf struct {
	full  bool
	root  string
	parts map[string][]byte // by URI
	types map[string]string
}

func (s *shelf) Put(name, contentType string, data []byte) (string, bool) {
	if s.full {
		return "", false
	}
	if s.parts == nil {
		s.parts, s.types = make(map[string][]byte), make(map[string]string)
	}
	uri := s.root + name
	s.parts[uri], s.types[uri] = slices.Clone(data), contentType
	return uri, true
}

// stream streams the events and returns the columns that the table got, and the words of dead letters, by event id.
func stream(t *testing.T, cfg config.BigQuery, parts warehouse.Parts, events ...record.Event) (rows map[string]map[string]any, dead map[string]string) {
	t.Helper()
	server := newServer(t, writefake.Options{})
	j := newJournal(t, 0, 0)
	for _, e := range events {
		j.Append(e)
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg.Project, cfg.Dataset, cfg.Init, cfg.Graph.Sync = "my-project", "agents", new(false), new(false)
	c, err := bigquery.With(bigquery.DatasetOptions{
		BatchAge: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Client: []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()}, Write: server.ClientOptions(),
	})(t.Context(), cfg, warehouse.Host{Journal: j, Sessions: graphsync.NewSessions(j, nil), Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	rows, dead = make(map[string]map[string]any), make(map[string]string)
	for _, r := range server.Rows() {
		rows[r.EventID] = r.Fields()
	}
	names, err := warehouse.NamesOf(cfg)
	if err != nil {
		t.Fatal(err)
	}
	letters, err := j.Outbox(names.Destination()).DeadLetters(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		dead[l.EventID] = l.Code + ": " + l.Reason
	}
	kept, err := store.Events(t.Context(), j, events[0].Session())
	if err != nil || len(kept) == 0 || string(kept[0].Content) != string(events[0].Content) || string(kept[0].Attributes) != string(events[0].Attributes) {
		t.Errorf("the journal does not keep its rows: %v", err)
	}
	return rows, dead
}

// Columns that are denied do not leave the journal, and all others do.
func TestDeniedColumnsAreNotStreamed(t *testing.T) {
	t.Parallel()
	e := newEvent(1, 10)
	e.ContentParts, e.LatencyMS, e.ErrorMessage = []byte(`[{"mime_type":"text/plain","text":"hi","part_index":0}]`), []byte(`{"total_ms":5}`), "oops"
	whole, _ := stream(t, config.BigQuery{}, warehouse.Parts{}, e)
	want := whole[e.EventID]
	for _, denied := range [][]config.PayloadColumn{
		{config.PayloadContent}, {config.PayloadContentParts}, {config.PayloadAttributes}, {config.PayloadLatency},
		{config.PayloadContent, config.PayloadContentParts, config.PayloadAttributes, config.PayloadLatency},
	} {
		rows, dead := stream(t, config.BigQuery{PayloadColumnDenylist: denied}, warehouse.Parts{}, e)
		left := maps.Clone(want)
		for _, c := range denied {
			if left[string(c)] == nil {
				t.Errorf("the whole row has no %s", c)
			}
			delete(left, string(c))
		}
		if diff := gocmp.Diff(left, rows[e.EventID]); diff != "" || len(dead) > 0 {
			t.Errorf("without %v (-want +got):\n%s%v", denied, diff, dead)
		}
	}
	// Dead letters are sent again without them, too.
	server := newServer(t, writefake.Options{})
	j := newJournal(t, 2, 10)
	d := newDataset(t, server, func(c *config.BigQuery) { c.PayloadColumnDenylist = []config.PayloadColumn{config.PayloadContent} })
	refusedBefore(t, j, d)
	if r, err := d.Resend(t.Context(), j, bigquery.ResendOptions{}); err != nil || r.Acknowledged != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, r := range server.Rows() {
		if f := r.Fields(); f["content"] != nil || f["attributes"] == nil {
			t.Errorf("sent again: %v", f)
		}
	}
}

// large returns a row that no request can hold. Of its attributes the small ones say whose it is.
func large(n int) record.Event {
	e := newEvent(n, replicate.MaxRequestBytes)
	e.Attributes = []byte(`{"adk":{"app_name":"app","args":"` + strings.Repeat("y", 100_000) + `","call_id":"call-1"},"a":1,"custom_tags":{"team":"ads"},"state":"` + strings.Repeat("z", 100_000) + `"}`)
	e.ContentParts = []byte(`[{"mime_type":"text/plain","text":"hi","part_index":0}]`)
	return e
}

// A row that no request can hold goes without its payload, which is in the artifact store.
func TestLargeRowsKeepTheirPayloadInTheStore(t *testing.T) {
	t.Parallel()
	for root, mode := range map[string]string{"file:///parts/": "EXTERNAL_URI", "gs://bucket/p/": "GCS_REFERENCE"} {
		store := &shelf{root: root}
		e := large(1)
		rows, dead := stream(t, config.BigQuery{}, warehouse.Parts{Store: store, Connection: "us.c"}, e, newEvent(4, 100))
		if len(rows) != 2 || len(dead) != 0 || len(store.parts) != 1 {
			t.Fatalf("%d rows, dead %v, %d parts", len(rows), dead, len(store.parts))
		}
		got := rows[e.EventID]
		uri := slices.Collect(maps.Keys(store.parts))[0]
		part := map[string]any{
			"mime_type": "application/json", "uri": uri, "text": "[ROW OFFLOADED]", "part_index": int64(0), "storage_mode": mode,
			"part_attributes": `{"columns":["content","content_parts","attributes"]}`,
		}
		if mode == "GCS_REFERENCE" {
			part["object_ref"] = map[string]any{"uri": uri, "authorizer": "us.c", "details": `{"gcs_metadata":{"content_type":"application/json"}}`}
		}
		want := map[string]any{"attributes": `{"adk":{"run_id":"run","run_seq":1,"app_name":"app","call_id":"call-1"},"a":1,"custom_tags":{"team":"ads"}}`, "content_parts": []any{part}, "is_truncated": true}
		for column := range want {
			if diff := gocmp.Diff(want[column], got[column]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", column, diff)
			}
		}
		if got["content"] != nil || got["event_type"] != e.EventType || got["session_id"] != e.SessionID {
			t.Errorf("content %v of %v in %v", got["content"], got["event_type"], got["session_id"])
		}
		var kept struct {
			Content      json.RawMessage `json:"content"`
			ContentParts json.RawMessage `json:"content_parts"`
			Attributes   json.RawMessage `json:"attributes"`
		}
		if err := json.Unmarshal(store.parts[uri], &kept); err != nil || string(kept.Content) != string(e.Content) ||
			string(kept.ContentParts) != string(e.ContentParts) || string(kept.Attributes) != string(e.Attributes) || store.types[uri] != "application/json" {
			t.Errorf("the store does not have the payload: %v", err)
		}
		if !strings.HasPrefix(uri, root+"2023-11-14/"+e.TraceID+"/"+e.EventID+"_") {
			t.Errorf("named %s", uri)
		}
	}
}

// Read again, as after a restart, a large row leaves nothing behind in the store. Another payload does not
// take its place.
func TestLargeRowsReadAgain(t *testing.T) {
	t.Parallel()
	store, e := &shelf{root: "gs://b/"}, large(1)
	again := e
	again.Content = []byte(`"` + strings.Repeat("b", replicate.MaxRequestBytes) + `"`)
	for _, read := range []struct {
		row   record.Event
		parts int
	}{{e, 1}, {e, 1}, {again, 2}} {
		if stream(t, config.BigQuery{}, warehouse.Parts{Store: store}, read.row); len(store.parts) != read.parts {
			t.Errorf("%d parts, want %d: %v", len(store.parts), read.parts, slices.Sorted(maps.Keys(store.parts)))
		}
	}
}

// A payload that nothing takes makes the row a dead letter, which says why. The rows behind it go on.
func TestLargeRowsWithoutAStore(t *testing.T) {
	t.Parallel()
	denied := config.BigQuery{PayloadColumnDenylist: []config.PayloadColumn{config.PayloadContentParts}}
	for name, tt := range map[string]struct {
		cfg   config.BigQuery
		parts warehouse.Parts
		words string
	}{
		"none":          {config.BigQuery{}, warehouse.Parts{}, "with an artifact store (record.artifacts.store)"},
		"full":          {config.BigQuery{}, warehouse.Parts{Store: &shelf{full: true}}, "did not take its payload"},
		"no place":      {denied, warehouse.Parts{Store: &shelf{}}, "bigquery.payload_column_denylist"},
		"no valid JSON": {config.BigQuery{}, warehouse.Parts{Store: &shelf{}}, "did not take its payload"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := large(1)
			if name == "no valid JSON" {
				e.Content = e.Content[:len(e.Content)-1]
			}
			rows, dead := stream(t, tt.cfg, tt.parts, e, newEvent(4, 100))
			if len(rows) != 1 || rows[e.EventID] != nil || len(dead) != 1 || !strings.Contains(dead[e.EventID], "too large: the row has 9") || !strings.Contains(dead[e.EventID], tt.words) {
				t.Errorf("%d rows, dead %q, want %q", len(rows), dead, tt.words)
			}
		})
	}
	// A store that is there later takes it when the dead letter is sent again.
	server, store := newServer(t, writefake.Options{}), &shelf{root: "gs://b/"}
	j := newJournal(t, 0, 0)
	j.Append(large(1))
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := newDataset(t, server, nil)
	o := refusedBefore(t, j, d)
	r, err := d.Resend(t.Context(), j, bigquery.ResendOptions{Parts: warehouse.Parts{Store: store}})
	if err != nil || r.Acknowledged != 1 || r.Refused != 0 || len(left(t, o)) != 0 || server.Distinct() != 1 || len(store.parts) != 1 {
		t.Errorf("%+v, %v, %d parts", r, err, len(store.parts))
	}
}
