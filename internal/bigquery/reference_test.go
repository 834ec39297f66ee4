// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	api "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestReference holds what the client does, and what it does with errors, against what
// the tests of the Python implementation say of it, by the numbers of
// docs/internal/reference-behaviours.md.
func TestReference(t *testing.T) {
	// datasetOf returns a Dataset of an API.
	datasetOf := func(t *testing.T, h http.Handler, cfg config.BigQuery) *bigquery.Dataset {
		t.Helper()
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		cfg.Project, cfg.Dataset = "my-project", "agents"
		d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
			Client: []option.ClientOption{option.WithEndpoint(server.URL + "/bigquery/v2/"), option.WithHTTPClient(server.Client())},
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	refusing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusForbidden, "accessDenied", "Access Denied: no permission")
	})
	// staged syncs a graph and returns the rows that were staged when the merge began, by
	// the table they are for.
	staged := func(t *testing.T, g warehouse.SessionGraph) (*fakeAPI, map[string]string) {
		t.Helper()
		f := newFakeAPI(t)
		var tables map[string]string
		f.failQuery = func(int) map[string]any { tables = maps.Clone(f.tables); return nil }
		if _, err := f.dataset().SyncSession(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		byName := make(map[string]string)
		for name, rows := range tables {
			_, rest, _ := strings.Cut(name, "_") // without staging_ and the random word
			_, rest, _ = strings.Cut(rest, "_")
			byName[rest] = rows
		}
		return f, byName
	}
	row := func(t *testing.T, line string) map[string]any {
		t.Helper()
		var out map[string]any
		if err := json.Unmarshal([]byte(line), &out); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		return out
	}
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	// seen makes a graph of one step with a row for each text of entities.
	seen := func(t *testing.T, entities ...string) warehouse.SessionGraph {
		t.Helper()
		var rows []record.Event
		for i, e := range entities {
			rows = append(rows, record.Event{
				EventID: string(rune('a' + i)), EventType: record.ToolCompleted, AppName: "shop", UserID: "alice", SessionID: "s1", TraceID: "t", SpanID: "tool",
				Timestamp: at.UnixMicro() + int64(i), Content: []byte(`{"tool":"find","result":{}}`), Attributes: []byte(`{"entities":[` + e + `]}`),
			})
		}
		g, err := warehouse.GraphOfRows(named("s1"), rows, nil, warehouse.GraphOptions{Recorder: "j1", ReadAt: at.Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}

	t.Run("17_the_graph_is_made_once", func(t *testing.T) {
		s, server := newService(t)
		initialize(t, connect(t, server, nil), bigquery.InitOptions{})
		writes, _ := s.sent()
		if jobs := strings.Count(strings.Join(writes, "\n"), "POST jobs"); jobs != 1 || !strings.Contains(s.graph, "PROPERTY GRAPH") {
			t.Errorf("%d jobs, graph %q", jobs, s.graph)
		}
	})
	t.Run("18_a_graph_that_cannot_be_made_is_an_error", func(t *testing.T) {
		s, server := newService(t)
		s.jobError = &api.ErrorProto{Reason: "invalidQuery", Message: "Unrecognized name: node_key"}
		if _, err := connect(t, server, nil).Init(t.Context(), bigquery.InitOptions{}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("19_no_entities_are_stored_without_a_load_job", func(t *testing.T) {
		g := seen(t, "")
		f, tables := staged(t, g)
		if tables[warehouse.BizNodes] != "" || tables[warehouse.CrossLinks] != "" || f.loads != 1 { // the step itself
			t.Errorf("%d load jobs, staged %v", f.loads, tables)
		}
	})
	t.Run("20_an_entity_is_stored_by_a_load_job", func(t *testing.T) {
		// fakeAPI knows no streaming inserts: one would fail.
		f, tables := staged(t, seen(t, `{"type":"Product","value":"Reels"}`))
		if e := row(t, tables[warehouse.BizNodes]); e["node_value"] != "Reels" || e["node_type"] != "Product" || f.loads != 3 {
			t.Errorf("%d load jobs, staged %v", f.loads, e)
		}
	})
	t.Run("21_a_load_job_that_fails_is_an_error", func(t *testing.T) {
		f := newFakeAPI(t)
		f.failLoad = func(int) map[string]any { return reason("invalid", "no such field") }
		if _, err := f.dataset().SyncSession(t.Context(), oneGraph(t)); err == nil || len(f.queries) != 0 {
			t.Errorf("error %v, %d merges: a failed load must change nothing", err, len(f.queries))
		}
	})
	t.Run("22_one_entity_is_loaded_once", func(t *testing.T) {
		_, tables := staged(t, seen(t, `{"type":"Product","value":"Reels","confidence":0.5}`, `{"type":"Product","value":"Reels","confidence":0.9}`))
		if lines := strings.Split(strings.TrimSpace(tables[warehouse.BizNodes]), "\n"); len(lines) != 1 || row(t, lines[0])["confidence"] != 0.9 {
			t.Errorf("loaded %v", lines)
		}
	})
	t.Run("29_a_dataset_that_refuses_everything_is_an_error", func(t *testing.T) {
		if _, err := datasetOf(t, refusing, config.BigQuery{}).SyncSession(t.Context(), oneGraph(t)); err == nil || !strings.Contains(err.Error(), "Access Denied") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("30_the_report_says_what_was_stored", func(t *testing.T) {
		r, err := newFakeAPI(t).dataset().SyncSession(t.Context(), oneGraph(t))
		if err != nil || r.Entities != 1 || r.Links != 1 || r.Nodes != 2 || r.Edges != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	scope := ask.Scope{Session: named("s1")}
	t.Run("31_an_explanation_that_failed_is_an_error", func(t *testing.T) {
		// The reference returns an empty answer.
		d := datasetOf(t, refusing, config.BigQuery{})
		if _, err := d.ExplainDecision(t.Context(), ask.ReasoningQuestion{Scope: scope}); err == nil {
			t.Error("no error of ExplainDecision")
		}
		if _, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: scope}); err == nil {
			t.Error("no error of ReasoningChain")
		}
	})
	t.Run("32_a_causal_chain_that_failed_is_an_error", func(t *testing.T) {
		// The reference returns an empty answer.
		if _, err := datasetOf(t, refusing, config.BigQuery{}).CausalChain(t.Context(), ask.CausalQuestion{Scope: scope}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("37_a_trace_that_failed_is_an_error", func(t *testing.T) {
		// The reference returns an empty answer.
		if _, err := datasetOf(t, refusing, config.BigQuery{}).Trace(t.Context(), scope); err == nil {
			t.Error("no error")
		}
	})
	t.Run("42_the_id_of_a_link_is_that_of_the_entity", func(t *testing.T) {
		_, tables := staged(t, seen(t, `{"type":"Product","value":"Reels"}`))
		entity, link := row(t, tables[warehouse.BizNodes]), row(t, tables[warehouse.CrossLinks])
		if link["link_id"] != entity["biz_node_id"] || link["biz_node_id"] != entity["biz_node_id"] || link["link_type"] != "EVALUATED" || entity["biz_node_id"] != "tool:Product:Reels" {
			t.Errorf("entity %v, link %v", entity, link)
		}
	})
	t.Run("44_the_document_is_in_the_loaded_row", func(t *testing.T) {
		_, tables := staged(t, seen(t, `{"type":"Campaign","value":"Summer","artifact_uri":"gs://plans/summer.json"}`))
		if e := row(t, tables[warehouse.BizNodes]); e["artifact_uri"] != "gs://plans/summer.json" {
			t.Errorf("loaded %v", e)
		}
	})
	t.Run("45_a_refused_merge_is_an_error", func(t *testing.T) {
		f := newFakeAPI(t)
		f.failQuery = func(int) map[string]any { return reason("accessDenied", "Permission denied") }
		if _, err := f.dataset().SyncSession(t.Context(), oneGraph(t)); err == nil || len(f.tables) != 0 {
			t.Errorf("error %v, tables left %v", err, f.tables)
		}
	})
	t.Run("46_deleting_what_is_not_there_is_no_error", func(t *testing.T) {
		f := newFakeAPI(t)
		d := datasetOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				fail(w, http.StatusNotFound, "notFound", "Table not found")
				return
			}
			f.ServeHTTP(w, r)
		}), config.BigQuery{})
		if _, err := d.SyncSession(t.Context(), oneGraph(t)); err != nil {
			t.Error(err)
		}
	})
	t.Run("93_a_dataset_is_bound_to_its_project", func(t *testing.T) {
		if n := newFakeAPI(t).dataset().Names(); n.Project() != "my-project" || n.Dataset() != "agents" {
			t.Errorf("%s.%s", n.Project(), n.Dataset())
		}
	})
	t.Run("94_a_dataset_keeps_its_configuration", func(t *testing.T) {
		d := datasetOf(t, refusing, config.BigQuery{Table: "rows", Graph: config.Graph{Name: "my_graph"}})
		if n := d.Names(); n.Events() != "rows" || n.Graph() != "my_graph" {
			t.Errorf("table %s, graph %s", n.Events(), n.Graph())
		}
	})
}
