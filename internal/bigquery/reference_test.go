// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	api "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
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
	// seen makes a graph of one step with a row for each text of entities.
	seen := func(t *testing.T, entities ...string) warehouse.SessionGraph {
		t.Helper()
		var rows []record.Event
		for i, e := range entities {
			rows = append(rows, record.Event{
				EventID: string(rune('a' + i)), EventType: record.ToolCompleted, AppName: "shop", UserID: "alice", SessionID: "s1", TraceID: "t", SpanID: "tool",
				Timestamp: 1_772_618_400_000_000 + int64(i), Content: []byte(`{"tool":"find","result":{}}`), Attributes: []byte(`{"entities":[` + e + `]}`),
			})
		}
		g, err := warehouse.GraphOfRows(named("s1"), rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	// appended appends a graph of one step and returns the entities that arrive.
	appended := func(t *testing.T, g warehouse.SessionGraph) (entities []any) {
		t.Helper()
		server := newServer(t, writefake.Options{})
		if _, err := writeGraph(t, newDataset(t, server, nil), g); err != nil {
			t.Fatal(err)
		}
		for _, row := range server.Rows() {
			step := row.Fields()["nodes"].([]any)[0].(map[string]any)
			list, _ := step["entities"].([]any)
			entities = append(entities, list...)
		}
		return entities
	}
	denied := func(t *testing.T) (*writefake.Server, *bigquery.Dataset) {
		t.Helper()
		server := newServer(t, writefake.Options{})
		server.Schedule(func(writefake.Request) writefake.Answer {
			return writefake.EndBefore(status.Error(codes.PermissionDenied, "Access Denied: no permission"))
		})
		return server, newDataset(t, server, nil)
	}

	t.Run("17_the_graph_is_made_once", func(t *testing.T) {
		s, server := newService(t)
		initialize(t, connect(t, server, nil), bigquery.InitOptions{})
		if s.graphs != 1 || !strings.Contains(s.graph, "PROPERTY GRAPH") {
			t.Errorf("made %d times: %q", s.graphs, s.graph)
		}
	})
	t.Run("18_a_graph_that_cannot_be_made_is_an_error", func(t *testing.T) {
		s, server := newService(t)
		s.jobError = &api.ErrorProto{Reason: "invalidQuery", Message: "Unrecognized name: node_key"}
		if _, err := connect(t, server, nil).Init(t.Context(), bigquery.InitOptions{}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("19_no_entities_are_stored_where_none_were_seen", func(t *testing.T) {
		if es := appended(t, seen(t, "")); len(es) != 0 {
			t.Errorf("appended %v", es)
		}
	})
	t.Run("20_an_entity_is_appended_with_its_graph", func(t *testing.T) {
		es := appended(t, seen(t, `{"type":"Product","value":"Reels"}`))
		if e := es[0].(map[string]any); len(es) != 1 || e["node_value"] != "Reels" || e["node_type"] != "Product" {
			t.Errorf("appended %v", es)
		}
	})
	t.Run("21_an_append_that_fails_is_an_error", func(t *testing.T) {
		server, d := denied(t)
		if _, err := writeGraph(t, d, oneGraph(t)); err == nil || len(server.Rows()) != 0 {
			t.Errorf("error %v, %d rows: an append that failed must change nothing", err, len(server.Rows()))
		}
	})
	t.Run("22_one_entity_is_appended_once", func(t *testing.T) {
		es := appended(t, seen(t, `{"type":"Product","value":"Reels","confidence":0.5}`, `{"type":"Product","value":"Reels","confidence":0.9}`))
		if e := es[0].(map[string]any); len(es) != 1 || e["confidence"] != 0.9 {
			t.Errorf("appended %v", es)
		}
	})
	t.Run("29_a_dataset_that_refuses_everything_is_an_error", func(t *testing.T) {
		_, d := denied(t)
		_, written := writeGraph(t, d, oneGraph(t))
		_, read := datasetOf(t, refusing, config.BigQuery{}).KnownGraphs(t.Context(), []record.Session{named("s1")}, time.Now())
		for _, err := range []error{written, read} {
			if err == nil || !strings.Contains(err.Error(), "Access Denied") {
				t.Errorf("error %v", err)
			}
		}
	})
	t.Run("30_the_report_says_what_was_stored", func(t *testing.T) {
		r, err := writeGraph(t, newDataset(t, newServer(t, writefake.Options{}), nil), oneGraph(t))
		if err != nil || r.Entities != 1 || r.Nodes != 2 || r.Edges != 1 || r.Parts != 1 {
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
		// Links are a view of the entities.
		views, err := datasetOf(t, refusing, config.BigQuery{}).Names().Views()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range views {
			for name, want := range map[string]string{
				warehouse.CrossLinks: "biz_node_id AS link_id", warehouse.BizNodes: "seen.node_type, ':', seen.node_value) AS biz_node_id",
			} {
				if v.Name == name && !strings.Contains(v.Query, want) {
					t.Errorf("%s lacks %q:\n%s", name, want, v.Query)
				}
			}
		}
	})
	t.Run("44_the_document_is_in_the_appended_row", func(t *testing.T) {
		es := appended(t, seen(t, `{"type":"Campaign","value":"Summer","artifact_uri":"gs://plans/summer.json"}`))
		if e := es[0].(map[string]any); e["artifact_uri"] != "gs://plans/summer.json" {
			t.Errorf("appended %v", es)
		}
	})
	t.Run("45_a_refused_row_leaves_nothing_behind", func(t *testing.T) {
		server := newServer(t, writefake.Options{})
		server.Refuse(func(writefake.Row) string { return "no such field" })
		if _, err := writeGraph(t, newDataset(t, server, nil), oneGraph(t)); err == nil || !strings.Contains(err.Error(), "no such field") || len(server.Rows()) != 0 {
			t.Errorf("error %v, %d rows left", err, len(server.Rows()))
		}
	})
	t.Run("46_deleting_what_is_not_there_is_no_error", func(t *testing.T) {
		deleted := 0
		d := datasetOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodDelete:
				deleted++
				fail(w, http.StatusNotFound, "notFound", "Table not found")
			case strings.Contains(r.URL.Path, "/jobs"):
				reply(w, map[string]any{
					"jobReference": map[string]any{"projectId": "my-project", "jobId": "j"}, "status": map[string]any{"state": "DONE"},
					"configuration": map[string]any{"query": map[string]any{}}, "statistics": map[string]any{"query": map[string]any{}},
				})
			default: // a table that is made, and then has no rows
				reply(w, map[string]any{"location": "EU"})
			}
		}), config.BigQuery{Extract: config.Extraction{Model: "gemini-2.5-flash", Location: "EU"}})
		if _, err := d.Extract(t.Context(), bigquery.ExtractRequest{}); err != nil || deleted != 2 {
			t.Errorf("%d tables of the extraction were deleted, %v", deleted, err)
		}
	})
	t.Run("93_a_dataset_is_bound_to_its_project", func(t *testing.T) {
		if n := datasetOf(t, refusing, config.BigQuery{}).Names(); n.Project() != "my-project" || n.Dataset() != "agents" {
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
